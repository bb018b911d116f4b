import { readTree } from '../../platform/markup/html-tree.ts';
import { resumable, type Resumable } from '../../platform/markup/in-steps.ts';
import { cleanArticle } from './clean-article.ts';
import { findArticle, type ChosenPart, type Rules } from './find-article.ts';
import { measurePage } from './measure-page.ts';
import { refusalOf, type ExtractionRefusal, type PostOfPage } from './refuse-article.ts';
import { writeArticle } from './write-article.ts';

/** `contentHtml`: markup that is not sanitised yet; relative addresses are relative to the page. */
export type Extraction = { article: { contentHtml: string } } | { refused: ExtractionRefusal };

/** Attempts at finding an article, each with weaker rules; an article of `enough` characters ends the attempts. */
const ATTEMPTS: (Rules & { enough: number })[] = [
  { dropsClutter: true, cleans: true, enough: 500 },
  { dropsClutter: false, cleans: true, enough: 200 },
  { dropsClutter: false, cleans: false, enough: 0 },
];

/** Finds the article of a page, or says why the post's teaser should stay. */
export function extractArticle(html: string, post: PostOfPage): Resumable<Extraction> {
  return resumable(extract(html, post));
}

function* extract(html: string, post: PostOfPage): Generator<void, Extraction> {
  const tree = yield* readTree(html);
  if (tree === null) return { refused: 'too-large' };
  const page = yield* measurePage(tree);
  let best: { size: number; choice: ChosenPart } | undefined;
  for (const rules of ATTEMPTS) {
    const choice = yield* findArticle(page, rules);
    const size = yield* cleanArticle(page, choice, rules, [tree.title, post.title]);
    if (best === undefined || size > best.size) best = { size, choice };
    if (best.size >= rules.enough) break;
  }
  if (best === undefined) return { refused: 'empty' };
  const refused = refusalOf(page, best.choice, post);
  if (refused !== undefined) return { refused };
  yield;
  return { article: { contentHtml: yield* writeArticle(page, best.choice, post.url) } };
}
