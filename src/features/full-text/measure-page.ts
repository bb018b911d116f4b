import type { HtmlTree } from '../../platform/markup/html-tree.ts';
import type { Attributes } from '../../platform/markup/html-tokenizer.ts';
import { BLOCK_ELEMENTS } from '../../platform/markup/implied-ends.ts';
import { isHidden } from '../../platform/markup/markup-rules.ts';

/** A page's tree with what extraction asks of each node; arrays are indexed by node. */
export type MeasuredPage = {
  tree: HtmlTree;
  count: number;
  sizes: Int32Array; // characters of a text, with white space collapsed; an ideograph counts as two
  linkedSizes: Int32Array; // the size of a text that is within a link; 0 for any other node
  blocks: Int32Array; // the node itself if it is a block, else the nearest block around it
  isOuter: Uint8Array; // 1: the node is a block element that contains other block elements
  isHidden: Uint8Array;
  hints: Hint[];
  own: Int32Array; // for each block element, the characters outside links, without inner block elements
  prose: Int32Array; // for each node, the characters outside links of the node's long blocks (`own` is at least LONG)
};

const LONG = 60; // characters
/** A page is measured in steps of about so many nodes or characters, each in a few milliseconds. */
export const [NODES_AT_ONCE, CHARACTERS_AT_ONCE] = [20_000, 400_000];
const INVISIBLE_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
const MAX_STYLE = 500;

export function* measurePage(tree: HtmlTree): Generator<void, MeasuredPage> {
  const count = tree.names.length;
  const page: MeasuredPage = {
    tree, count, hints: [],
    sizes: new Int32Array(count), linkedSizes: new Int32Array(count), blocks: new Int32Array(count),
    isOuter: new Uint8Array(count), isHidden: new Uint8Array(count), own: new Int32Array(count),
    prose: new Int32Array(count),
  };
  const hintOf = createHints();
  const isLinked = new Uint8Array(count);
  let read = 0;
  for (let node = 0; node < count; node += 1) {
    const [name = '', attributes, text = ''] = [tree.names[node], tree.attributes[node] ?? new Map(), tree.texts[node]];
    const parent = parentOf(page, node);
    const isBlock = node === 0 || BLOCK_ELEMENTS.has(name);
    page.blocks[node] = isBlock ? node : page.blocks[parent] ?? 0;
    if (isBlock && node > 0) page.isOuter[page.blocks[parent] ?? 0] = 1;
    isLinked[node] = name === 'a' ? Number(attributes.has('href')) : isLinked[parent] ?? 0;
    page.hints.push(hintOf(attributes));
    // A hidden formula (`math`) is kept: publishers show a picture of the formula in its place.
    if (attributes.size > 0 && tree.names[node + 1] !== 'math') page.isHidden[node] = Number(isInvisible(attributes));
    page.sizes[node] = sizeOf(text);
    if (isLinked[node] === 1) page.linkedSizes[node] = page.sizes[node] ?? 0;
    read += text.length + CHARACTERS_AT_ONCE / NODES_AT_ONCE;
    if (read > CHARACTERS_AT_ONCE) [read] = [0, yield];
  }
  page.sizes.forEach((size, node) => raise(page.own, page.blocks[node] ?? 0, size - (page.linkedSizes[node] ?? 0)));
  yield;
  return { ...page, prose: sumProse(page) };
}

/** The root of the page (node 0) is its own parent. */
export function parentOf({ tree }: MeasuredPage, node: number): number {
  return Math.max(0, tree.parents[node] ?? 0);
}

export function raise(array: Int32Array | Float64Array, index: number, by: number): void {
  array[index] = (array[index] ?? 0) + by;
}

function isInvisible(attributes: Attributes): boolean {
  return isHidden(attributes) || INVISIBLE_STYLE.test(attributes.get('style')?.slice(0, MAX_STYLE) ?? '');
}

function sizeOf(text: string): number {
  let [size, isSpace] = [0, true];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const wasSpace = isSpace;
    isSpace = code <= 32 || code === 0xa0;
    if (isSpace) size += wasSpace ? 0 : 1;
    else size += code >= 0x3040 && code <= 0x9fff ? 2 : 1;
  }
  return size;
}

/** Per subtree, the characters outside links of blocks with at least LONG of them; without dropped blocks. */
export function sumProse(page: MeasuredPage, dropped?: Uint8Array): Int32Array {
  return sumSubtrees(page, page.own.map((size) => size >= LONG ? size : 0), dropped);
}

/** For each subtree, the sum of its nodes' values; inner subtrees marked in `dropped` do not count. */
export function sumSubtrees(page: MeasuredPage, values: Int32Array, dropped?: Uint8Array): Int32Array {
  const sums = values.slice();
  for (let node = page.count - 1; node > 0; node -= 1) {
    if (dropped?.[node] !== 1) raise(sums, parentOf(page, node), sums[node] ?? 0);
  }
  return sums;
}

type Hint = {
  isComments: boolean;
  isClutter: boolean; // the element seems to hold comments, advertisements, navigation or the like
  isMedia: boolean; // the element seems to hold a picture, a film, a quoted message or a caption
  isNotes: boolean; // the element seems to hold footnotes or references
  isByline: boolean; // the element seems to hold the author or the date, which the post has already
};

// Words in class names and ids that mark clutter; `-ad-` matches only the whole word `ad`.
const CLUTTER = anyOf(
  'advert sponsor promo banner outbrain taboola dfp cookie consent gdpr newsletter subscri signup sign-up login',
  'popup modal overlay lightbox sidebar side-bar footer masthead breadcrumb navbar navigation menu pagination pager',
  'related recommend recirc most-read most-popular most-viewed trending popular more-stories more-news more-from',
  '-share sharing social follow-us toolbar skip-link skip-to author-bio author-box about-author feedback',
  '(?<!elementor-)widget(?!-blog) read-next up-next read-more see-also also-read',
  'postmetadata print-only screen-reader sr-only visually-hidden',
  '-ad- -ads- -nav- -aside- -tags- -tools- -rss- -poll- -rail- -utility- -meta-',
);
const COMMENTS = anyOf(
  '(?<!-has-|-no-|-with-)comment(?!s?-(?:open|closed|enabled|disabled|status|count)-) disqus livefyre respond replies',
  'kommentar komentar comentari commenti reactions reaktion reacties yorum',
);
const MEDIA = anyOf('embed tweet instagram youtube video image photo picture figure caption media gallery');
const NOTES = anyOf('footnote endnote reference reflist citation');
const BYLINE = anyOf(
  'byline dateline timestamp pubdate post-date entry-date entry-meta post-meta article-meta author-name -author-',
  'published posted-on updated-on modified -date- -time- -credit- writtenby written-by reporter',
);

const MAX_NAMES = 200;

function createHints(): (attributes: Attributes) => Hint {
  const known = new Map<string, Hint>();
  return (attributes) => {
    const [classes, id] = [attributes.get('class') ?? '', attributes.get('id') ?? ''];
    const names = classes === '' && id === '' ? '' : `${classes.slice(0, MAX_NAMES)} ${id.slice(0, MAX_NAMES)}`;
    const hint = known.get(names) ?? readHint(wordsOfNames(names));
    known.set(names, hint);
    return hint;
  };
}

function readHint(words: string): Hint {
  const [isComments, isMedia, isNotes] = [COMMENTS.test(words), MEDIA.test(words), NOTES.test(words)];
  const isClutter = isComments || (CLUTTER.test(words) && !isMedia && !isNotes);
  return { isComments, isClutter, isMedia, isNotes, isByline: BYLINE.test(words) };
}

/** Splits class names into words: `entryContent main_col` becomes `-entry-content-main-col-`. */
function wordsOfNames(names: string): string {
  return `-${names.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase().replace(/[^a-z0-9]+/g, '-')}-`;
}

function anyOf(...lines: string[]): RegExp {
  return new RegExp(lines.join(' ').replaceAll(' ', '|'));
}
