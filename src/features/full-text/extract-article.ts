import { readTree } from '../../platform/markup/html-tree.ts';
import { readingInParts, type Reading } from '../../platform/markup/in-steps.ts';
import { cleanArticle } from './clean-article.ts';
import { findArticle, type Choice, type Rules } from './find-article.ts';
import { measurePage } from './measure-page.ts';
import { refusalOf, type ExtractionRefusal, type PostOfPage } from './refuse-article.ts';
import { writeArticle } from './write-article.ts';

/** The article of a page as markup that is not sanitised yet; relative addresses are relative to the page. */
export type Article = { contentHtml: string };

export type Extraction = { article: Article } | { refused: ExtractionRefusal };

export type { ExtractionRefusal, PostOfPage };

/** An attempt that finds fewer characters is followed by an attempt with weaker rules. */
const ENOUGH = 500;
/** Text of at least this length counts unless an attempt with weaker rules finds twice as much. */
const FAIR = 200;
const ATTEMPTS: Rules[] = [
  { dropsClutter: true, cleans: true }, { dropsClutter: false, cleans: true }, { dropsClutter: false, cleans: false },
];

/** Finds the article of a page, or says why the post's teaser should stay. Works in steps, for `inSteps`. */
export function extractArticle(html: string, post: PostOfPage): Reading<Extraction> {
  return readingInParts(extract(html, post));
}

function* extract(html: string, post: PostOfPage): Generator<void, Extraction> {
  const tree = yield* readTree(html);
  if (tree === null) return { refused: 'too-large' };
  const page = yield* measurePage(tree);
  let best: { size: number; choice: Choice } | undefined;
  for (const rules of ATTEMPTS) {
    const choice = yield* findArticle(page, rules);
    const size = yield* cleanArticle(page, choice, rules, [tree.title, post.title]);
    if (best === undefined || size > best.size * (best.size < FAIR ? 1 : 2)) best = { size, choice };
    if (size >= ENOUGH) break;
  }
  if (best === undefined) return { refused: 'empty' };
  const refused = refusalOf(page, best.choice, post);
  if (refused !== undefined) return { refused };
  yield;
  return { article: { contentHtml: yield* writeArticle(page, best.choice, post.url) } };
}
