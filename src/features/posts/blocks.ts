/**
 * Blocks: every row id of a search index lies in one block of each size. The index has a post's blocks as words, so
 * that a search that asks for one of them reads no list of matches beyond it. (SQLite looks at the bounds of row ids
 * only after it has found a post with all words, which may be far away.)
 */
type Block = { from: number; until: number; word: string };

/** Neighbouring blocks of one size. */
export type Blocks = { from: number; until: number; words: string[] };

/** Sizes as powers of two of row ids: from 388 days, 24 days, 36 hours, down to 2 seconds and 4,096 posts. */
const SMALLEST = 12;
const SIZES = [46, 42, 38, 34, 30, 26, 22, SMALLEST];

/** Maximum number of blocks that one search asks for: each costs about 0.1 ms. */
const TOGETHER = 16;

/**
 * Begins each word that stands for a fact. `folded` removes the mark from any text. Three of them, because the index of
 * beginnings has the first three characters of every word.
 */
const FACT = '\ue002'.repeat(3);

/** The lowest row id (`searchKey`). */
const LOWEST = -(2 ** 52);

/** The word of every post. */
export const EVERY_POST = `${FACT}e`;

/** The word of all posts of a source. */
export function sourceWord(sourceId: number): string {
  return `${FACT}s${sourceId}`;
}

/** The word of all private posts of an owner. */
export function privateWord(ownerId: number): string {
  return `${FACT}p${ownerId}`;
}

/** The words of a post's facts, as the search index has them. */
export function factsOf(key: number, { sourceId, isPublic, ownerId }: {
  sourceId: number; isPublic: number; ownerId: number;
}): string {
  const blocks = SIZES.map((size) => blockAt(key, size).word);
  return [EVERY_POST, sourceWord(sourceId), ...isPublic === 1 ? [] : [privateWord(ownerId)], ...blocks].join(' ');
}

/**
 * The blocks of one size, as one, that reach furthest from a row id in the direction of the search, but not to the row
 * id `beyond`; the smallest block if each reaches `beyond`.
 */
export function furthestBlocks(key: number, beyond: number | undefined, isBack: boolean): Blocks {
  const runs = SIZES.flatMap((size) => freeRun(key, size, beyond, isBack) ?? []);
  const furthest = runs.toSorted((a, b) => isBack ? b.until - a.until : a.from - b.from)[0];
  return furthest ?? joined([blockAt(key, SMALLEST)]);
}

function freeRun(key: number, size: number, beyond: number | undefined, isBack: boolean): Blocks | undefined {
  const run: Block[] = [];
  for (let at = key; run.length < TOGETHER;) {
    const block = blockAt(at, size);
    if (beyond !== undefined && beyond >= block.from && beyond < block.until) break;
    run.push(block);
    at = isBack ? block.until : block.from - 1;
  }
  return run.length === 0 ? undefined : joined(run);
}

function joined(blocks: Block[]): Blocks {
  const bounds = blocks.flatMap(({ from, until }) => [from, until]);
  return { from: Math.min(...bounds), until: Math.max(...bounds), words: blocks.map(({ word }) => word) };
}

function blockAt(key: number, size: number): Block {
  const width = 2 ** size;
  const number = Math.floor((key - LOWEST) / width);
  const from = LOWEST + number * width;
  return { from, until: from + width, word: `${FACT}${size.toString(36)}b${number.toString(36)}` };
}
