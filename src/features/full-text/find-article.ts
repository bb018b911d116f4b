import type { Page } from './measure-page.ts';

/** The rules of an attempt; an attempt that finds too little text is followed by one with weaker rules. */
export type Rules = { dropsClutter: boolean; usesWeights: boolean; cleans: boolean };

/** The chosen subtrees, in document order, and the dropped nodes of the page. */
export type Choice = { roots: number[]; dropped: Uint8Array };

/** Points of an element for its name alone. */
const BASE_POINTS = new Map<string, number>([
  ...named(10, 'article main'),
  ...named(5, 'div section'),
  ...named(3, 'pre td blockquote'),
  ...named(-3, 'address ol ul dl dd dt li form details'),
  ...named(-5, 'h1 h2 h3 h4 h5 h6 th'),
]);
const NEVER = new Set([
  'script style template select nav dialog button canvas link meta base footer aside input textarea object applet',
].flatMap((line) => line.split(' ')));

const PARAGRAPHS = new Set(['p', 'li', 'dd', 'td', 'blockquote', 'figcaption']);

/** The least characters of a paragraph, and those of each run of text for which another point is given. */
const [MIN_PARAGRAPH, POINT, MAX_POINTS] = [25, 100, 3];
/** Shares of a paragraph's points for the blocks around, innermost first. */
const SHARES = [1, 1 / 2, 1 / 6, 1 / 9, 1 / 12];
const [TOP, NEAR_TOP, MIN_NEAR] = [5, 0.75, 3];

/** Chooses the part of the page that has most of the connected prose. */
export function findArticle(page: Page, rules: Rules): Choice {
  const dropped = dropClutter(page, rules);
  const scores = scoreBlocks(page, dropped, rules);
  const root = climb(page, scores, chooseBest(page, scores));
  return { roots: withSiblings(page, { scores, dropped, root }), dropped };
}

function dropClutter(page: Page, { dropsClutter }: Rules): Uint8Array {
  const { tree, count, hints, hidden, prose } = page;
  const mastheads = headersWithNavigation(tree);
  const dropped = new Uint8Array(count);
  const [most, nearlyAll] = [(prose[0] ?? 0) / 2, (prose[0] ?? 0) * 0.97];
  for (let node = 1; node < count; node += 1) {
    const hint = hints[node];
    const held = prose[node] ?? 0;
    const isDropped = (dropped[tree.parents[node] ?? 0] ?? 0) === 1 || NEVER.has(tree.names[node] ?? '')
      || (hidden[node] === 1 && held <= most) || (hint?.isComments === true && held < nearlyAll)
      || (dropsClutter && held <= most && (mastheads.has(node) || (hint?.isClutter === true && isApart(page, node))));
    dropped[node] = isDropped ? 1 : 0;
  }
  return dropped;
}

/** Headers of the whole site. */
function headersWithNavigation({ names, parents }: Page['tree']): Set<number> {
  const found = new Set<number>();
  names.forEach((name, node) => {
    if (name !== 'nav') return;
    let around = parents[node] ?? 0;
    while (around > 0 && names[around] !== 'header') around = parents[around] ?? 0;
    if (around > 0) found.add(around);
  });
  return found;
}

/** Whether an element is more than some words within a paragraph. */
export function isApart({ tree, blocks }: Page, node: number): boolean {
  const block = blocks[node] ?? 0;
  return block === node || !PARAGRAPHS.has(tree.names[block] ?? '');
}

function scoreBlocks(page: Page, dropped: Uint8Array, { usesWeights }: Rules): Float64Array {
  const { tree, count, sizes, commas, blocks, isOuter, linked, hints } = page;
  const [own, ownCommas, runs] = [new Float64Array(count), new Int32Array(count), new Int32Array(count)];
  let lastBreak = -1;
  for (let node = 1; node < count; node += 1) {
    if (dropped[node] === 1) continue;
    const block = blocks[node] ?? 0;
    if (tree.names[node] === 'br') {
      if (lastBreak === block) runs[block] = (runs[block] ?? 0) + 1;
      lastBreak = block;
    } else if ((sizes[node] ?? 0) > 1) {
      lastBreak = -1;
      own[block] = (own[block] ?? 0) + (sizes[node] ?? 0) * (1 - (linked[node] ?? 0));
      ownCommas[block] = (ownCommas[block] ?? 0) + (commas[node] ?? 0);
    }
  }
  const scores = new Float64Array(count).fill(NaN);
  for (let node = 1; node < count; node += 1) {
    const size = own[node] ?? 0;
    if (size < MIN_PARAGRAPH) continue;
    const parts = 1 + (runs[node] ?? 0);
    const points = parts + (ownCommas[node] ?? 0) + Math.min(size / POINT, MAX_POINTS * parts);
    const isHolder = isOuter[node] === 1 || parts > 1;
    award(isHolder ? node : blocks[tree.parents[node] ?? 0] ?? 0, points);
  }
  const { all, links } = sumTexts(page, dropped);
  for (let node = 0; node < count; node += 1) {
    const size = all[node] ?? 0;
    scores[node] = (scores[node] ?? NaN) * (size === 0 ? 1 : 1 - (links[node] ?? 0) / size);
  }
  return scores;

  function award(first: number, points: number): void {
    let block = first;
    for (const share of SHARES) {
      let score = scores[block] ?? NaN;
      if (Number.isNaN(score)) {
        score = (BASE_POINTS.get(tree.names[block] ?? '') ?? 0) + (usesWeights ? hints[block]?.weight ?? 0 : 0);
      }
      scores[block] = score + points * share;
      if (block === 0) return;
      block = blocks[tree.parents[block] ?? 0] ?? 0;
    }
  }
}

/** Characters of each subtree, and those in links. */
function sumTexts({ tree, count, sizes, linked }: Page, dropped: Uint8Array) {
  const [all, links] = [new Float64Array(count), new Float64Array(count)];
  for (let node = count - 1; node > 0; node -= 1) {
    if (dropped[node] === 1) continue;
    const size = sizes[node] ?? 0;
    const parent = tree.parents[node] ?? 0;
    all[node] = (all[node] ?? 0) + size;
    links[node] = (links[node] ?? 0) + size * (linked[node] ?? 0);
    all[parent] = (all[parent] ?? 0) + (all[node] ?? 0);
    links[parent] = (links[parent] ?? 0) + (links[node] ?? 0);
  }
  return { all, links };
}

/** The block with the best score, or the block around at least three blocks that are nearly as good. */
function chooseBest({ tree, blocks }: Page, scores: Float64Array): number {
  const top: number[] = [];
  scores.forEach((score, node) => {
    if (Number.isNaN(score) || (top.length === TOP && score <= (scores[top[TOP - 1] ?? 0] ?? 0))) return;
    top.push(node);
    top.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
    top.length = Math.min(top.length, TOP);
  });
  const best = top[0] ?? 0;
  const near = top.filter((node) => (scores[node] ?? 0) >= (scores[best] ?? 0) * NEAR_TOP);
  for (let around = best; around > 0; ) {
    around = blocks[tree.parents[around] ?? 0] ?? 0;
    const end = tree.ends[around] ?? 0;
    if (around > 0 && near.filter((node) => node > around && node < end).length >= MIN_NEAR) return around;
  }
  return best;
}

/** Goes up while the score of the block around rises, and from an only child to its parent. */
function climb({ tree, blocks, prose }: Page, scores: Float64Array, best: number): number {
  let root = best;
  let last = scores[best] ?? 0;
  const least = last / 3;
  for (let around = parentOf(best); around > 0; around = parentOf(around)) {
    const score = scores[around] ?? NaN;
    if (Number.isNaN(score)) continue;
    if (score < least) break;
    if (score > last) {
      root = around;
      break;
    }
    last = score;
  }
  for (let around = parentOf(root); around > 0 && prose[around] === prose[root]; around = parentOf(around)) {
    root = around;
  }
  return root;

  function parentOf(node: number): number {
    return blocks[tree.parents[node] ?? 0] ?? 0;
  }
}

/** The chosen block, and the blocks beside that are nearly as good, or paragraphs. */
function withSiblings(
  page: Page, { scores, dropped, root }: { scores: Float64Array; dropped: Uint8Array; root: number },
): number[] {
  if (root === 0) return [0];
  const { tree } = page;
  const { all, links } = sumTexts(page, dropped);
  const best = scores[root] ?? 0;
  const threshold = Math.max(10, best / 5);
  const classes = tree.attributes[root]?.get('class') ?? '';
  const parent = tree.parents[root] ?? 0;
  const roots: number[] = [];
  for (let node = parent + 1; node < (tree.ends[parent] ?? 0); node = tree.ends[node] ?? Infinity) {
    if (node === root || (dropped[node] === 0 && joins(node))) roots.push(node);
  }
  return roots;

  function joins(node: number): boolean {
    const bonus = classes !== '' && tree.attributes[node]?.get('class') === classes ? best / 5 : 0;
    if ((scores[node] ?? 0) + bonus >= threshold) return true;
    if (page.isOuter[node] === 1 || (tree.names[node] !== 'p' && tree.names[node] !== 'div')) return false;
    const size = all[node] ?? 0;
    const density = size === 0 ? 0 : (links[node] ?? 0) / size;
    return size > 80 ? density < 0.25 : size > 0 && density === 0;
  }
}

function named(points: number, names: string): [string, number][] {
  return names.split(' ').map((name) => [name, points]);
}
