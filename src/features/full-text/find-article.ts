import { INVISIBLE, LONG, parentOf, raise, SILENT, type MeasuredPage } from './measure-page.ts';

/** The rules of an attempt; an attempt that finds too little text is followed by an attempt with weaker rules. */
export type Rules = { dropsClutter: boolean; cleans: boolean };

/** The chosen subtrees, in document order, and the dropped nodes of the page (1). */
export type ChosenPart = { roots: number[]; dropped: Uint8Array };

/** For each subtree that was not dropped: characters, the share of links in them, and characters of long paragraphs. */
type Texts = { sizes: Int32Array; density: Float64Array; prose: Int32Array };

const BASE_POINTS = new Map<string, number>([
  ...named(10, 'article main'), ...named(5, 'div section'), ...named(3, 'pre td blockquote'),
  ...named(-3, 'address ol ul dl dd dt li form details'), ...named(-5, 'h1 h2 h3 h4 h5 h6 th'),
]);
const NEVER = new Set(
  'script style template select nav dialog button canvas link meta base footer aside object applet'.split(' '),
);
/** Blocks within which an element is part of a sentence. */
const PARAGRAPHS = new Set(['p', 'li', 'dd', 'td', 'blockquote', 'figcaption']);

/** The least characters of a paragraph, the characters for another point, and the most of these points. */
const [MIN_PARAGRAPH, POINT, MAX_POINTS] = [25, 100, 3];
/** Shares of the page's prose: clutter that holds MOST of the prose, and comments with NEARLY_ALL, stay. */
const [MOST, NEARLY_ALL] = [0.6, 0.97];
/** The shares of a paragraph's points for the blocks around the paragraph, innermost first. */
const SHARES = [1, 1 / 2, 1 / 6, 1 / 9, 1 / 12];
/**
 * A block around the best block is chosen instead if the block has no more prose and at most SAME_TEXT as much text, or
 * at least MORE_PROSE as much prose with hardly any links (FEW_LINKS).
 */
const [SAME_TEXT, MORE_PROSE, FEW_LINKS, LEVELS_UP] = [1.3, 1.3, 0.1, 6];
/** A block beside the chosen block is chosen too if the block has this share of the points. */
const [BESIDE, MIN_POINTS, LONG_PARAGRAPH] = [0.2, 10, 80];

/** Chooses the part of the page with the most connected prose, in parts. */
export function* findArticle(page: MeasuredPage, rules: Rules): Generator<void, ChosenPart> {
  const dropped = dropClutter(page, rules);
  yield;
  const texts = sumTexts(page, dropped);
  yield;
  const points = scoreBlocks(page, dropped);
  yield;
  let best = 0;
  points.forEach((value, node) => {
    points[node] = value * (1 - (texts.density[node] ?? 0));
    if ((points[node] ?? NaN) > (points[best] || -Infinity)) best = node;
  });
  return { roots: withBlocksBeside(page, { points, dropped, ...texts }, widen(page, texts, best)), dropped };
}

/** Whether an element is more than some words within a paragraph. */
export function isApart({ tree, blocks }: MeasuredPage, node: number): boolean {
  return blocks[node] === node || !PARAGRAPHS.has(tree.names[blocks[node] ?? 0] ?? '');
}

/** Drops invisible elements, and comments and clutter unless they hold most of the page's prose. */
function dropClutter(page: MeasuredPage, { dropsClutter, cleans }: Rules): Uint8Array {
  const { tree, count, hints, hiding, prose } = page;
  const dropped = new Uint8Array(count);
  const all = prose[0] ?? 0;
  for (let node = 1; node < count; node += 1) {
    const [hint, held] = [hints[node], prose[node] ?? 0];
    const isClutter = (dropsClutter && hint?.isClutter === true && isApart(page, node))
      || hiding[node] === SILENT || (NEVER.has(tree.names[node] ?? '') && hint?.isNotes !== true);
    const isComments = hint?.isComments === true && held < all * NEARLY_ALL;
    const isDropped = dropped[parentOf(page, node)] === 1 || (isClutter && held <= all * MOST)
      || (cleans && (isComments || hiding[node] === INVISIBLE));
    dropped[node] = Number(isDropped);
  }
  return dropped;
}

/** Gives points for each paragraph to the blocks around the paragraph; NaN for blocks without points. */
function scoreBlocks(page: MeasuredPage, dropped: Uint8Array): Float64Array {
  const { tree, count, sizes, blocks, isOuter, own } = page;
  const parts = new Int32Array(count).fill(1);
  let lastBreak = -1; // the block of the last `br`, if no text stands behind
  for (let node = 1; node < count; node += 1) {
    const block = blocks[node] ?? 0;
    if (tree.names[node] === 'br') {
      if (lastBreak === block) raise(parts, block, 1);
      lastBreak = block;
    } else if ((sizes[node] ?? 0) > 1) lastBreak = -1;
  }
  const points = new Float64Array(count).fill(NaN);
  for (let node = 0; node < count; node += 1) {
    const [size, count] = [own[node] ?? 0, parts[node] ?? 1];
    if (size < MIN_PARAGRAPH || dropped[node] === 1) continue;
    let block = isOuter[node] === 1 || count > 1 ? node : blockAround(page, node);
    for (const share of SHARES) {
      if (Number.isNaN(points[block])) points[block] = basePoints(page, block);
      raise(points, block, share * (2 * count + Math.min(size / POINT, MAX_POINTS * count)));
      if (block === 0) break;
      block = blockAround(page, block);
    }
  }
  return points;
}

function basePoints({ tree, hints }: MeasuredPage, block: number): number {
  return (BASE_POINTS.get(tree.names[block] ?? '') ?? 0) + (hints[block]?.weight ?? 0);
}

function blockAround(page: MeasuredPage, node: number): number {
  return page.blocks[parentOf(page, node)] ?? 0;
}

function sumTexts(page: MeasuredPage, dropped: Uint8Array): Texts {
  const [sizes, links, prose] = [page.sizes.slice(), page.linkedSizes.slice(), new Int32Array(page.count)];
  const density = new Float64Array(page.count);
  for (let node = page.count - 1; node >= 0; node -= 1) {
    if (dropped[node] === 1) continue;
    density[node] = (links[node] ?? 0) / Math.max(1, sizes[node] ?? 0);
    if ((page.own[node] ?? 0) >= LONG) raise(prose, node, page.own[node] ?? 0);
    if (node === 0) break;
    for (const sum of [sizes, links, prose]) raise(sum, parentOf(page, node), sum[node] ?? 0);
  }
  return { sizes, density, prose };
}

/** Goes up to a block around that has hardly more text, or more prose and hardly any links. */
function widen(page: MeasuredPage, { sizes, density, prose }: Texts, best: number): number {
  let chosen = best;
  let around = best;
  for (let level = 0; level < LEVELS_UP && around > 0; level += 1) {
    around = blockAround(page, around);
    const [before, after] = [prose[chosen] ?? 0, prose[around] ?? 0];
    const isSame = after === before && (sizes[around] ?? 0) <= (sizes[chosen] ?? 0) * SAME_TEXT;
    const isMore = after >= before * MORE_PROSE && (density[around] ?? 0) < FEW_LINKS;
    if (around > 0 && (isSame || isMore)) chosen = around;
  }
  return chosen;
}

/** The chosen block, and blocks beside the chosen block that have points enough or are paragraphs. */
function withBlocksBeside(
  page: MeasuredPage, { points, dropped, density, prose }: Texts & { points: Float64Array; dropped: Uint8Array },
  root: number,
): number[] {
  if (root === 0) return [0];
  const { tree, isOuter } = page;
  const enough = Math.max(MIN_POINTS, (points[root] ?? 0) * BESIDE);
  const parent = parentOf(page, root);
  const classes = tree.attributes[root]?.get('class') ?? '';
  const roots: number[] = [];
  for (let node = parent + 1; node < (tree.ends[parent] ?? 0); node = tree.ends[node] ?? Infinity) {
    const isLong = (prose[node] ?? 0) > LONG_PARAGRAPH && (density[node] ?? 0) < 0.25;
    const isParagraph = isLong && isOuter[node] === 0 && (tree.names[node] === 'p' || tree.names[node] === 'div');
    const isAlike = classes !== '' && tree.attributes[node]?.get('class') === classes;
    const hasPoints = (points[node] ?? 0) >= (isAlike ? 0 : enough);
    if (node === root || (dropped[node] === 0 && (isParagraph || hasPoints))) roots.push(node);
  }
  return roots;
}

function named(points: number, names: string): [string, number][] {
  return names.split(' ').map((name) => [name, points]);
}
