import { BLOCK_ELEMENTS } from '../../platform/markup/implied-ends.ts';
import type { HtmlTree } from '../../platform/markup/html-tree.ts';
import { createHints, type Hint } from './page-hints.ts';

/** A page's tree with what extraction asks of each node; arrays are indexed by node. */
export type Page = {
  tree: HtmlTree;
  count: number;
  /** Characters of a text, white space collapsed; an ideograph counts as two. */
  sizes: Int32Array;
  commas: Int32Array;
  /** The node itself, if the node is a block, or else the nearest block around the node. */
  blocks: Int32Array;
  /** Whether a block has other blocks within. */
  isOuter: Uint8Array;
  /** Whether a block has visible text that is not within an inner block. */
  hasText: Uint8Array;
  /** How much of a text is part of a link: 1, or LOCAL_LINK for a link within the page. */
  linked: Float32Array;
  hints: Hint[];
  hidden: Uint8Array;
  /** For each subtree, the characters outside links in paragraphs of at least LONG. */
  prose: Int32Array;
};

const LOCAL_LINK = 0.3;
const LONG = 60;
const INVISIBLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;

/** Measures each node of a page, in parts. */
export function* measurePage(tree: HtmlTree): Generator<void, Page> {
  const count = tree.names.length;
  const page: Page = {
    tree, count,
    sizes: new Int32Array(count), commas: new Int32Array(count), blocks: new Int32Array(count),
    isOuter: new Uint8Array(count), hasText: new Uint8Array(count),    linked: new Float32Array(count), hints: [], hidden: new Uint8Array(count), prose: new Int32Array(count),
  };
  const hintOf = createHints();
  for (let node = 0; node < count; node += 1) {
    const parent = Math.max(0, tree.parents[node] ?? 0);
    const attributes = tree.attributes[node] ?? new Map<string, string>();
    const name = tree.names[node] ?? '';
    page.blocks[node] = node === 0 || BLOCK_ELEMENTS.has(name) ? node : page.blocks[parent] ?? 0;
    if (page.blocks[node] === node && node > 0) page.isOuter[page.blocks[parent] ?? 0] = 1;
    page.linked[node] = name === 'a' ? linkedShare(attributes.get('href')) : page.linked[parent] ?? 0;
    page.hints.push(hintOf(attributes));
    page.hidden[node] = isHidden(attributes) && tree.names[node + 1] !== 'math' ? 1 : 0;
    const text = tree.texts[node] ?? '';
    if (text !== '') measureText(page, node, text);
    if (node % 20_000 === 0) yield;
  }
  sumProse(page);
  yield;
  return page;
}

function linkedShare(href: string | undefined): number {
  if (href === undefined) return 0;
  return href.startsWith('#') ? LOCAL_LINK : 1;
}

function isHidden(attributes: ReadonlyMap<string, string>): boolean {
  if (attributes.size === 0) return false;
  return attributes.has('hidden') || attributes.get('aria-hidden') === 'true'
    || INVISIBLE.test(attributes.get('style')?.slice(0, 500) ?? '');
}

function measureText(page: Page, node: number, text: string): void {
  let [size, commas, isSpace] = [0, 0, true];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const wasSpace = isSpace;
    isSpace = code <= 32 || code === 0xa0;
    if (isSpace) size += wasSpace ? 0 : 1;
    else size += code >= 0x3040 && code <= 0x9fff ? 2 : 1;
    if (isComma(code)) commas += 1;
  }
  page.sizes[node] = size;
  if (size > 1) page.hasText[page.blocks[node] ?? 0] = 1;
  page.commas[node] = commas;
}

function isComma(code: number): boolean {
  return code === 0x2c || code === 0x60c || code === 0x3001 || code === 0xff0c || code === 0x3b;
}

function sumProse({ tree, count, sizes, blocks, linked, prose }: Page): void {
  const own = new Int32Array(count);
  for (let node = 0; node < count; node += 1) {
    const block = blocks[node] ?? 0;
    if (linked[node] === 0) own[block] = (own[block] ?? 0) + (sizes[node] ?? 0);
  }
  for (let node = count - 1; node >= 0; node -= 1) {
    if ((own[node] ?? 0) >= LONG) prose[node] = (prose[node] ?? 0) + (own[node] ?? 0);
    const parent = tree.parents[node] ?? -1;
    if (parent >= 0) prose[parent] = (prose[parent] ?? 0) + (prose[node] ?? 0);
  }
}
