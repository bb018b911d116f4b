import { readTree } from '../../platform/markup/html-tree.ts';
import { readingOf, type Reading } from '../../platform/markup/in-steps.ts';
import { cleanArticle } from './clean-article.ts';
import { findArticle, type Choice, type Rules } from './find-article.ts';
import { measurePage } from './measure-page.ts';
import { refusalOf, type ExtractionRefusal, type PostOfPage } from './refuse-article.ts';

export type { ExtractionRefusal, PostOfPage };
import { writeArticle } from './write-article.ts';

/** The article of a page as markup that is not sanitised yet; addresses may be relative to the page. */
export type Article = { contentHtml: string };

export type Extraction = { article: Article } | { refused: ExtractionRefusal };

/** An attempt that finds fewer characters is followed by an attempt with weaker rules. */
const ENOUGH = 500;
/** An attempt with at least this many characters counts unless a later attempt finds twice as many. */
const FAIR = 200;
const ATTEMPTS: Rules[] = [
  { dropsClutter: true, usesWeights: true, cleans: true },
  { dropsClutter: false, usesWeights: true, cleans: true },
  { dropsClutter: false, usesWeights: false, cleans: true },
  { dropsClutter: false, usesWeights: false, cleans: false },
];

/** Finds the article of a page, or says why the post's teaser should stay. Works in steps, as `inSteps` needs. */
export function extractArticle(html: string, post: PostOfPage): Reading<Extraction> {
  return readingOf(extract(html, post));
}

function* extract(html: string, post: PostOfPage): Generator<void, Extraction> {
  const tree = yield* readTree(html);
  if (tree === null) return { refused: 'too-large' };
  const page = yield* measurePage(tree);
  let best: { size: number; choice: Choice } | undefined;
  for (const rules of ATTEMPTS) {
    const choice = findArticle(page, rules);
    yield;
    const size = cleanArticle(page, choice, rules, [tree.title, post.title]);
    yield;
    if (best === undefined || size > best.size * (best.size < FAIR ? 1 : 2)) best = { size, choice };
    if (size >= ENOUGH) break;
  }
  if (best === undefined) return { refused: 'empty' };
  const refused = refusalOf(page, best.choice, post);
  yield;
  return refused ? { refused } : { article: { contentHtml: writeArticle(page, best.choice, post.url) } };
}
