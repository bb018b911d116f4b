import { readTree } from '../../platform/markup/html-tree.ts';
import { readingOf, type Reading } from '../../platform/markup/in-steps.ts';
import { cleanArticle } from './clean-article.ts';
import { findArticle, type Rules } from './find-article.ts';
import { measurePage } from './measure-page.ts';
import { writeArticle } from './write-article.ts';

/** The article of a page as markup that is not sanitised yet; addresses may be relative to the page. */
export type Article = { contentHtml: string };

export type ExtractionRefusal = 'wall' | 'paywall' | 'front-page' | 'forum' | 'empty' | 'different' | 'too-large';

export type Extraction = { article: Article } | { refused: ExtractionRefusal };

/** The post for which a page is read. `url`: the address of the page after redirects. */
type PostOfPage = { url: string; title: string; teaser: string };

const ENOUGH = 500;
const ATTEMPTS: Rules[] = [
  { dropsClutter: true, usesWeights: true, cleans: true },
  { dropsClutter: false, usesWeights: true, cleans: true },
  { dropsClutter: false, usesWeights: false, cleans: true },
  { dropsClutter: false, usesWeights: false, cleans: false },
];

/** Finds the article of a page, or says why the post's teaser should stay. Works in steps (`inSteps`). */
export function extractArticle(html: string, post: PostOfPage): Reading<Extraction> {
  return readingOf(extract(html, post));
}

function* extract(html: string, post: PostOfPage): Generator<void, Extraction> {
  const tree = yield* readTree(html);
  if (tree === null) return { refused: 'too-large' };
  const page = yield* measurePage(tree);
  let best = { size: 0, contentHtml: '' };
  for (const rules of ATTEMPTS) {
    const choice = findArticle(page, rules);
    yield;
    const size = cleanArticle(page, choice, rules, [tree.title, post.title]);
    yield;
    if (size > best.size) best = { size, contentHtml: writeArticle(tree, choice) };
    yield;
    if (size >= ENOUGH) break;
  }
  return best.size === 0 ? { refused: 'empty' } : { article: { contentHtml: best.contentHtml } };
}
