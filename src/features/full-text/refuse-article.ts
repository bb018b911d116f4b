import type { HtmlTree } from '../../platform/markup/html-tree.ts';
import type { ChosenPart } from './find-article.ts';
import type { MeasuredPage } from './measure-page.ts';
import { CONSENT, FORUM_SOFTWARE, ROBOT_CHECK, shareOf, SUBSCRIPTION, wordsOf } from './page-words.ts';

export type ExtractionRefusal = 'wall' | 'paywall' | 'front-page' | 'forum' | 'empty' | 'different' | 'too-large';

/** The post for which a page is read. `url`: the address of the page after redirects. */
export type PostOfPage = { url: string; title: string; teaser: string };

type Block = { isHeading: boolean; text: string; size: number; linked: number };

/**
 * Articles below MIN_ARTICLE characters are refused, and below CUT_ARTICLE if the page says that the article costs, or
 * asks whether its reader is a person.
 */
const [MIN_ARTICLE, CUT_ARTICLE] = [140, 1_500];
/** A word about consent speaks for this many characters of its block: articles cut by `br` are one block. */
const ABOUT_CONSENT = 250;
/** Reasons to refuse an article are looked for in this many of its characters. */
const MAX_READ = 100_000;
/**
 * Words with fewer letters say little about a text. An article must have the share IN_COMMON of its post's words, if
 * the post has at least three.
 */
const [MIN_WORD, IN_COMMON] = [5, 0.25];
/** The share of a post title's words that a heading, or the page's title, must have to be about the post. */
const LIKE_TITLE = 0.5;
/** The most nodes and characters of a heading, and the most headings that are compared with a title. */
const [HEADING_NODES, MAX_HEADING, MAX_HEADINGS] = [30, 300, 200];
const HEADING = /^h[1-4]$/;
const LOCKED = /"isAccessibleForFree"\s*:\s*"?false/i;
const FREE = /"isAccessibleForFree"\s*:\s*"?true/i;
const FORUM_TYPE = /\b(?:DiscussionForumPosting|QAPage)\b/;

/** Undefined if the chosen part of the page is an article of the post. */
export function refusalOf(page: MeasuredPage, choice: ChosenPart, post: PostOfPage): ExtractionRefusal | undefined {
  const { tree } = page;
  const blocks = blocksOf(page, choice);
  const size = sum(blocks, (block) => block.size);
  const text = blocks.map((block) => block.text).join('\n');
  const isShort = size < CUT_ARTICLE;
  if (isShort && (isLocked(tree) || SUBSCRIPTION.test(text))) return 'paywall';
  if (isShort && ROBOT_CHECK.test(tree.title)) return 'wall';
  if (asksForConsent(blocks, size, `${post.title} ${post.teaser}`)) return 'wall';
  if (size < MIN_ARTICLE) return 'empty';
  if (isForum(tree)) return 'forum';
  const hasTitle = isTitled(page, wordsOf(post.title));
  if (isListing(blocks, size, post.title !== '') && !hasTitle) return 'front-page';
  return isDifferent(`${tree.title} ${hasTitle ? post.title : ''}`, text, post) ? 'different' : undefined;
}

function blocksOf({ tree, blocks, sizes, linkedSizes }: MeasuredPage, { roots, dropped }: ChosenPart): Block[] {
  const found = new Map<number, Block>();
  let read = 0;
  for (const root of roots) {
    for (let node = root; node < (tree.ends[root] ?? 0) && read < MAX_READ; node += 1) {
      if (dropped[node] === 1) node = (tree.ends[node] ?? 0) - 1;
      else if ((sizes[node] ?? 0) > 0) addText(node);
    }
  }
  return [...found.values()];

  function addText(node: number): void {
    const key = blocks[node] ?? 0;
    const block = found.get(key) ?? { isHeading: HEADING.test(tree.names[key] ?? ''), text: '', size: 0, linked: 0 };
    found.set(key, block);
    block.text += tree.texts[node]?.slice(0, MAX_READ) ?? '';
    block.size += sizes[node] ?? 0;
    block.linked += linkedSizes[node] ?? 0;
    read += sizes[node] ?? 0;
  }
}

function isLocked(tree: HtmlTree): boolean {
  const says = (what: RegExp): boolean => tree.linkedData.some((data) => what.test(data));
  return !says(FREE) && (says(LOCKED) || tree.attributes.some((attributes) =>
    attributes.get('itemprop') === 'isAccessibleForFree' && /^false$/i.test(attributes.get('content') ?? '')));
}

function asksForConsent(blocks: Block[], size: number, about: string): boolean {
  const asking = sum(blocks, ({ text, size }) => Math.min(size, ABOUT_CONSENT * (text.split(CONSENT).length - 1)));
  return asking > size / 2 && !CONSENT.test(about);
}

function isForum(tree: HtmlTree): boolean {
  return tree.linkedData.some((data) => FORUM_TYPE.test(data)) || tree.attributes.some((attributes) =>
    FORUM_TYPE.test(attributes.get('itemtype') ?? '')
    || (attributes.get('name') === 'generator' && FORUM_SOFTWARE.test(attributes.get('content') ?? '')));
}

/** Whether a page only lists articles: most text is links, or, for a post with a title, headings are. */
function isListing(blocks: Block[], size: number, knowsTitle: boolean): boolean {
  const headings = blocks.filter((block) => block.isHeading);
  const linked = headings.filter((block) => block.linked > block.size / 2).length;
  const isHeadlines = knowsTitle && linked >= 4 && linked > headings.length / 2;
  return isHeadlines || sum(blocks, (block) => block.linked) > size / 2;
}

function isTitled({ tree, linkedSizes }: MeasuredPage, title: Set<string>): boolean {
  let headings = 0;
  return shareOf(title, wordsOf(tree.title)) >= LIKE_TITLE || tree.names.some((name, node) => {
    if (!HEADING.test(name) || (headings += 1) > MAX_HEADINGS) return false;
    const end = tree.ends[node] ?? 0;
    if (end - node > HEADING_NODES || linkedSizes.subarray(node, end).some(Boolean)) return false;
    const text = tree.texts.slice(node, end).join(' ').slice(0, MAX_HEADING);
    return shareOf(title, wordsOf(text)) >= LIKE_TITLE;
  });
}

function isDifferent(pageTitle: string, text: string, { title, teaser }: PostOfPage): boolean {
  const [ofTitle, ofTeaser] = [wordsOf(title, MIN_WORD), wordsOf(teaser, MIN_WORD)];
  const all = new Set([...ofTitle, ...ofTeaser]);
  if (all.size < 3) return false;
  const words = wordsOf(text, MIN_WORD);
  if (ofTeaser.size >= 8 && shareOf(ofTeaser, words) === 0) return true;
  return shareOf(all, new Set([...words, ...wordsOf(pageTitle, MIN_WORD)])) < IN_COMMON;
}

function sum(blocks: Block[], valueOf: (block: Block) => number): number {
  return blocks.reduce((total, block) => total + valueOf(block), 0);
}
