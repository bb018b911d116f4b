import { INVISIBLE, parentOf, raise, SILENT, type MeasuredPage } from './measure-page.ts';

/** The rules of an attempt; an attempt that finds too little text is followed by an attempt with weaker rules. */
export type Rules = { dropsClutter: boolean; cleans: boolean };

/** The chosen subtrees, in document order, and the dropped nodes of the page (1). */
export type ChosenPart = { roots: number[]; dropped: Uint8Array };

/** Points of each block for the prose within, and the share of links in the text of each subtree. */
type Scores = { points: Float64Array; density: Float64Array };

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
/** A block around MIN_NEAR of the TOP best blocks is chosen if each has NEAR of the best points. */
const [TOP, NEAR, MIN_NEAR] = [5, 0.75, 3];
/** A block around the best block is chosen instead if the block has no more prose and at most this much text. */
const MORE_TEXT = 1.3;
/** A block beside the chosen block is chosen too if the block has this share of the points. */
const [BESIDE, MIN_POINTS, LONG_PARAGRAPH] = [0.2, 10, 80];

/** Chooses the part of the page with the most connected prose, in parts. */
export function* findArticle(page: MeasuredPage, rules: Rules): Generator<void, ChosenPart> {
  const dropped = dropClutter(page, rules);
  yield;
  const points = scoreBlocks(page, dropped);
  yield;
  const { density, sizes } = linkDensity(page, dropped);
  points.forEach((value, node) => (points[node] = value * (1 - (density[node] ?? 0))));
  yield;
  const root = onlyChildUp(page, sizes, chooseBest(page, points));
  return { roots: withBlocksBeside(page, { points, density }, dropped, root), dropped };
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
  const { tree, count, sizes, linkedSizes, blocks, isOuter } = page;
  const [own, parts] = [new Int32Array(count), new Int32Array(count).fill(1)];
  let lastBreak = -1; // the block of the last `br`, if no text stands behind
  for (let node = 1; node < count; node += 1) {
    if (dropped[node] === 1) continue;
    const block = blocks[node] ?? 0;
    raise(own, block, (sizes[node] ?? 0) - (linkedSizes[node] ?? 0));
    if (tree.names[node] === 'br') {
      if (lastBreak === block) raise(parts, block, 1);
      lastBreak = block;
    } else if ((sizes[node] ?? 0) > 1) lastBreak = -1;
  }
  const points = new Float64Array(count).fill(NaN);
  for (let node = 0; node < count; node += 1) {
    const [size, count] = [own[node] ?? 0, parts[node] ?? 1];
    if (size < MIN_PARAGRAPH) continue;
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

/** The characters of each subtree, and the share of links in them. */
function linkDensity(page: MeasuredPage, dropped: Uint8Array) {
  const [sizes, links] = [page.sizes.slice(), page.linkedSizes.slice()];
  const density = new Float64Array(page.count);
  for (let node = page.count - 1; node >= 0; node -= 1) {
    if (dropped[node] === 1) continue;
    density[node] = (links[node] ?? 0) / Math.max(1, sizes[node] ?? 0);
    if (node === 0) break;
    raise(sizes, parentOf(page, node), sizes[node] ?? 0);
    raise(links, parentOf(page, node), links[node] ?? 0);
  }
  return { sizes, density };
}

/** The block with the most points, or the innermost block around several blocks with nearly as many. */
function chooseBest(page: MeasuredPage, points: Float64Array): number {
  const top: number[] = [];
  points.forEach((value, node) => {
    if (Number.isNaN(value) || (top.length === TOP && value <= (points[top[TOP - 1] ?? 0] ?? 0))) return;
    top.push(node);
    top.sort((a, b) => (points[b] ?? 0) - (points[a] ?? 0));
    top.length = Math.min(top.length, TOP);
  });
  const best = top[0] ?? 0;
  const near = top.filter((node) => (points[node] ?? 0) >= (points[best] ?? 0) * NEAR);
  for (let around = blockAround(page, best); around > 0; around = blockAround(page, around)) {
    const within = near.filter((node) => node > around && node < (page.tree.ends[around] ?? 0));
    if (within.length >= MIN_NEAR) return around;
  }
  return best;
}

/** Goes up to the outermost block that has hardly more text. */
function onlyChildUp(page: MeasuredPage, sizes: Int32Array, best: number): number {
  const around = blockAround(page, best);
  const isSame = page.prose[around] === page.prose[best] && (sizes[around] ?? 0) <= (sizes[best] ?? 0) * MORE_TEXT;
  return around > 0 && isSame ? onlyChildUp(page, sizes, around) : best;
}

/** The chosen block, and blocks beside the chosen block that have points enough or are paragraphs. */
function withBlocksBeside(
  page: MeasuredPage, { points, density }: Scores, dropped: Uint8Array, root: number,
): number[] {
  if (root === 0) return [0];
  const { tree, isOuter, prose } = page;
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
