import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { plainText } from '../../src/platform/markup/plain-text.ts';

/** A page whose article people have marked. */
export type AnnotatedPage = { name: string; html: string; expected: string; url: string };

/** Pages of the article-extraction benchmark beside the project. */
export const ANNOTATED_PAGES = join(import.meta.dirname, '../../../shared/corpora/articles/annotated');

export function readAnnotatedPages(): AnnotatedPage[] {
  return readdirSync(ANNOTATED_PAGES).sort().map((name) => {
    const read = (file: string): Buffer => readFileSync(join(ANNOTATED_PAGES, name, file));
    const html = gunzipSync(read('source.html.gz')).toString('utf8');
    return { name, html, expected: read('expected.html').toString('utf8'), url: read('url').toString('utf8').trim() };
  });
}

/** Shares of words: how many of the found words are right, how many of the right words were found, and their F1. */
export type ArticleScore = { precision: number; recall: number; f1: number };

/** Compares the words of two articles, as often as each word stands there; each ideograph is a word. */
export function scoreArticle(expected: string, found: string): ArticleScore {
  const [wanted, got] = [wordsIn(expected), wordsIn(found)];
  const left = new Map<string, number>();
  for (const word of wanted) left.set(word, (left.get(word) ?? 0) + 1);
  let hits = 0;
  for (const word of got) {
    const times = left.get(word) ?? 0;
    if (times > 0) hits += 1;
    left.set(word, times - 1);
  }
  const [precision, recall] = [hits / Math.max(1, got.length), hits / Math.max(1, wanted.length)];
  return { precision, recall, f1: hits === 0 ? 0 : (2 * precision * recall) / (precision + recall) };
}

export function meanScore(scores: ArticleScore[]): ArticleScore {
  const mean = (part: keyof ArticleScore): number => scores.reduce((sum, score) => sum + score[part], 0) / scores.length;
  return { precision: mean('precision'), recall: mean('recall'), f1: mean('f1') };
}

const IDEOGRAPH = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}';
const WORD = new RegExp(`[${IDEOGRAPH}]|(?:(?![${IDEOGRAPH}])[\\p{L}\\p{N}])+`, 'gu');

function wordsIn(html: string): string[] {
  return plainText(html).normalize('NFKC').toLowerCase().match(WORD) ?? [];
}
