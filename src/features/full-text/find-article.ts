import { parentOf, raise, sumProse, sumSubtrees, type MeasuredPage } from './measure-page.ts';

/** Rules for finding an article; if an article is too short, the hub searches the page again with weaker rules. */
export type Rules = { dropsClutter: boolean; cleans: boolean };

/** For each subtree, the characters of text, links and prose; without dropped nodes (prose: without dropped blocks). */
type Texts = { sizes: Int32Array; links: Int32Array; prose: Int32Array };

/** `roots`: the subtrees that hold the article, in document order. `dropped`: 1 for each node left out. */
export type ChosenPart = { roots: number[]; dropped: Uint8Array; texts: Texts };

const NEVER = new Set(
  'script style template select nav dialog button canvas link meta base footer aside address object applet'.split(' '),
);
/** Blocks within which an element is part of a sentence. */
const PARAGRAPHS = new Set(['p', 'li', 'dd', 'td', 'blockquote', 'figcaption']);

/**
 * A block with at least MIN_PARAGRAPH characters outside links scores two points for each paragraph in it, and one for
 * each POINT of these characters. The first points of an `article` or `main` come on top of MARKED points.
 */
const [MIN_PARAGRAPH, POINT, MARKED] = [25, 100, 10];
/** Clutter other than comments and hidden parts stays if it holds more than this share of the page's prose. */
const MOST = 0.6;
/** The shares of a paragraph's points for the blocks around it, innermost first. */
const SHARES = [1, 1 / 2, 1 / 6, 1 / 9, 1 / 12];
/**
 * The article is first the block with the highest score. A block around it takes its place if it has no more prose and
 * at most SAME_TEXT times the text, or at least MORE_PROSE times the prose and hardly any links (FEW_LINKS).
 */
const [SAME_TEXT, MORE_PROSE, FEW_LINKS, LEVELS_UP] = [1.3, 1.3, 0.1, 6];
/**
 * A block beside the main block belongs to the article if its score has MIN_POINTS and the share BESIDE of the main
 * block's, or if it is a paragraph with more than LONG_PARAGRAPH characters of prose.
 */
const [BESIDE, MIN_POINTS, LONG_PARAGRAPH] = [0.2, 10, 80];

/** Chooses the part of the page with the most connected prose. */
export function* findArticle(page: MeasuredPage, rules: Rules): Generator<void, ChosenPart> {
  const dropped = dropClutter(page, rules);
  yield;
  const texts = {
    sizes: sumSubtrees(page, page.sizes, dropped), links: sumSubtrees(page, page.linkedSizes, dropped),
    prose: sumProse(page, dropped),
  };
  yield;
  const points = scoreBlocks(page, dropped).map((value, node) => value * (1 - densityAt(texts, node)));
  yield;
  const best = points.reduce((highest, value, node) => value > (points[highest] ?? 0) ? node : highest, 0);
  return { roots: withBlocksBeside(page, { points, dropped, texts }, widen(page, texts, best)), dropped, texts };
}

function densityAt({ sizes, links }: Texts, node: number): number {
  return (links[node] ?? 0) / Math.max(1, sizes[node] ?? 0);
}

/** Whether an element is more than some words within a paragraph. */
export function isApart({ tree, blocks }: MeasuredPage, node: number): boolean {
  return blocks[node] === node || !PARAGRAPHS.has(tree.names[blocks[node] ?? 0] ?? '');
}

function dropClutter(page: MeasuredPage, { dropsClutter, cleans }: Rules): Uint8Array {
  const { tree, count, hints, isHidden, prose } = page;
  const dropped = new Uint8Array(count);
  const all = prose[0] ?? 0;
  for (let node = 1; node < count; node += 1) {
    const [hint, held] = [hints[node], prose[node] ?? 0];
    const isClutter = (dropsClutter && hint?.isClutter === true && isApart(page, node))
      || (NEVER.has(tree.names[node] ?? '') && hint?.isNotes !== true);
    const isComments = hint?.isComments === true && held < all;
    const isDropped = dropped[parentOf(page, node)] === 1 || (isClutter && held <= all * MOST)
      || (cleans && (isComments || isHidden[node] === 1));
    dropped[node] = Number(isDropped);
  }
  return dropped;
}

function scoreBlocks(page: MeasuredPage, dropped: Uint8Array): Float64Array {
  const { tree, count, sizes, blocks, isOuter, own } = page;
  const parts = new Int32Array(count).fill(1);
  let lastBreak = -1; // the block of the last `br`, if no text follows the `br`: two `br` separate two paragraphs
  for (let node = 1; node < count; node += 1) {
    const block = blocks[node] ?? 0;
    if (tree.names[node] === 'br') {
      if (lastBreak === block) raise(parts, block, 1);
      lastBreak = block;
    } else if ((sizes[node] ?? 0) > 1) lastBreak = -1;
  }
  const points = new Float64Array(count);
  for (let node = 0; node < count; node += 1) {
    const [size, count] = [own[node] ?? 0, parts[node] ?? 1];
    if (size < MIN_PARAGRAPH || dropped[node] === 1) continue;
    let block = isOuter[node] === 1 || count > 1 ? node : blockAround(page, node);
    for (const share of SHARES) {
      if (points[block] === 0 && /^(?:article|main)$/.test(tree.names[block] ?? '')) points[block] = MARKED;
      raise(points, block, share * (2 * count + size / POINT));
      if (block === 0) break;
      block = blockAround(page, block);
    }
  }
  return points;
}

function blockAround(page: MeasuredPage, node: number): number {
  return page.blocks[parentOf(page, node)] ?? 0;
}

function widen(page: MeasuredPage, texts: Texts, best: number): number {
  const { sizes, prose } = texts;
  let chosen = best;
  let around = best;
  for (let level = 0; level < LEVELS_UP && around > 0; level += 1) {
    around = blockAround(page, around);
    const [before, after] = [prose[chosen] ?? 0, prose[around] ?? 0];
    const isSame = after === before && (sizes[around] ?? 0) <= (sizes[chosen] ?? 0) * SAME_TEXT;
    const isMore = after >= before * MORE_PROSE && densityAt(texts, around) < FEW_LINKS;
    if (around > 0 && (isSame || isMore)) chosen = around;
  }
  return chosen;
}

function withBlocksBeside(
  page: MeasuredPage, { points, dropped, texts }: Pick<ChosenPart, 'dropped' | 'texts'> & { points: Float64Array },
  root: number,
): number[] {
  if (root === 0) return [0];
  const { tree, isOuter } = page;
  const enough = Math.max(MIN_POINTS, (points[root] ?? 0) * BESIDE);
  const parent = parentOf(page, root);
  const roots: number[] = [];
  for (let node = parent + 1; node < (tree.ends[parent] ?? 0); node = tree.ends[node] ?? Infinity) {
    const isLong = isOuter[node] === 0 && (texts.prose[node] ?? 0) > LONG_PARAGRAPH;
    const isParagraph = isLong && (tree.names[node] === 'p' || tree.names[node] === 'div');
    const hasPoints = (points[node] ?? 0) >= enough;
    if (node === root || (dropped[node] === 0 && (isParagraph || hasPoints))) roots.push(node);
  }
  return roots;
}
