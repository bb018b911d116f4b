// Protects the quality of extraction on real pages, whose articles people have marked.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import test from 'node:test';
import { extractArticle } from '../../../src/features/full-text/extract-article.ts';
import { atOnce } from '../../../src/platform/markup/in-steps.ts';
import { ANNOTATED_PAGES, meanScore, readAnnotatedPages, scoreArticle } from '../../bench/article-scores.ts';

const skip = existsSync(ANNOTATED_PAGES) ? false : 'the corpus of annotated pages is not beside this checkout';

test('nearly all words of the annotated articles are found, and few other words', { skip }, () => {
  const refused: string[] = [];
  const scores = readAnnotatedPages().map(({ name, html, expected, url }) => {
    const result = atOnce(extractArticle(html, { url, title: '', teaser: '' }));
    if ('refused' in result) refused.push(`${name} ${result.refused}`);
    return scoreArticle(expected, 'article' in result ? result.article.contentHtml : '');
  });
  const { f1, recall } = meanScore(scores);

  assert.deepEqual(refused, []);
  assert.ok(f1 >= 0.955, `F1 is ${f1.toFixed(4)}`);
  assert.ok(recall >= 0.97, `recall is ${recall.toFixed(4)}`);
});
