import type { Db } from '../../platform/db/open-database.ts';
import { furthestBlocks } from './blocks.ts';
import { matchWithin, type SearchQuery } from './search-query.ts';

/** Row ids of the search index between which a search looks, both excluded; the search begins at `key`. */
export type KeyRange = { key: number; end: number };

/**
 * A part of a search: `match` is an FTS5 expression; undefined if no post of the stretch can match. `cost`: at most the
 * work of searching the stretch, compared with other stretches.
 */
export type Stretch = KeyRange & { match: string | undefined; cost: number };

type Asked = KeyRange & { match: string };

/** A stretch has about so many posts, in one index, with the rarest searched word. */
const STRETCH = 300;

/** How far a post's row id may be from its hint: `searchKey` does not know which row ids were taken. */
const BESIDE = 64;

/** Statements that look into a search index, from newer to older posts or back. */
export function prepareIndex(db: Db, index: string) {
  return { older: prepareLook(db, index, '<', '>', 'DESC'), newer: prepareLook(db, index, '>', '<', 'ASC') };
}

export type Index = ReturnType<typeof prepareIndex>;

function prepareLook(db: Db, index: string, onwards: '<' | '>', back: '<' | '>', order: 'ASC' | 'DESC') {
  // better-sqlite3 binds numbers as REAL, but FTS5 takes only integers as bounds of its row ids.
  const matches = `SELECT rowid AS place FROM ${index} WHERE ${index} MATCH @match
    AND rowid ${onwards} CAST(@key AS INTEGER) AND rowid ${back} CAST(@end AS INTEGER) ORDER BY rowid ${order}`;
  return {
    spread: db.prepare<[Asked], { n: number; low: number; high: number }>('spread of a word',
      `SELECT COUNT(*) AS n, MIN(place) AS low, MAX(place) AS high FROM (${matches} LIMIT ${STRETCH})`),
    first: db.prepare<[Asked], { place: number }>('first match', `${matches} LIMIT 1`),
  };
}

/**
 * Cuts a search into stretches, in order, none of which takes long: each is made of blocks in which the rarest searched
 * word is rare, so that SQLite need not compare long lists. `hints`: row ids (`searchKey`), in order, of the only
 * posts that the caller can use, if these are few: each stretch then begins at about the next of them.
 */
export function* stretchesOf(
  indexes: Index[], query: SearchQuery, range: KeyRange, isBack: boolean, hints?: number[],
): Generator<Stretch> {
  const looks = indexes.map((index) => index[isBack ? 'newer' : 'older']);
  const meets = (asked: Asked): boolean => looks.some(({ first }) => first.get(asked) !== undefined);
  const bounds = query.wanted.map((parts) => parts.map(({ bound }) => bound).join(' OR '))
    .sort((one, other) => one.length - other.length);
  const extra = extraCost(query);
  let rare: string[] = [];
  let { key } = range;
  while (isBack ? key < range.end : key > range.end) {
    const hint = hints?.find((place) => isBack ? place > key - BESIDE : place < key + BESIDE);
    if (hints !== undefined && hint === undefined) return;
    if (hint !== undefined) key = isBack ? Math.max(key, hint - BESIDE) : Math.min(key, hint + BESIDE);
    const spreads = (rare.length > 0 ? rare : bounds).map((bound) =>
      ({ bound, ...spreadOf(looks, { key, end: range.end, match: bound }, isBack) }));
    const rarest = spreads.find(({ beyond }) => beyond === undefined)
      ?? spreads.reduce((one, other) => (isBack === ((other.beyond ?? 0) > (one.beyond ?? 0)) ? other : one));
    if (rarest.beyond === undefined) rare = [rarest.bound];
    if (rarest.first === undefined) return;
    const blocks = furthestBlocks(rarest.first, rarest.beyond, isBack);
    const end = isBack ? Math.min(range.end, blocks.until) : Math.max(range.end, blocks.from - 1);
    const within = { key, end };
    const match = matchWithin(query, blocks, (words) => meets({ ...within, match: words }));
    yield { ...within, match, cost: (rarest.beyond === undefined ? 1 : 4) + extra };
    key = isBack ? end - 1 : end + 1;
  }
}

/** What asking for many words, for phrases, and checking each found post adds to the cost of a stretch. */
function extraCost({ wanted, unwanted, isChecked }: SearchQuery): number {
  const parts = [...wanted.flat(), ...unwanted];
  const words = parts.reduce((sum, { match }) => sum + (match.split('"').length - 1) / 2, 0);
  return words / 2 + 4 * parts.filter((part) => part.words !== null).length + (isChecked ? 4 : 0);
}

/** The first place of a word, and the place that ends the stretch, if the word stands in enough posts. */
function spreadOf(
  looks: Index['older'][], asked: Asked, isBack: boolean,
): { first: number | undefined; beyond: number | undefined } {
  const all = looks.flatMap(({ spread }) => spread.get(asked) ?? []).filter(({ n }) => n > 0);
  const full = all.filter(({ n }) => n === STRETCH);
  const nearest = (places: number[], isLow: boolean): number | undefined =>
    places.length === 0 ? undefined : isLow ? Math.min(...places) : Math.max(...places);
  return {
    first: nearest(all.map(({ low, high }) => isBack ? low : high), isBack),
    beyond: nearest(full.map(({ low, high }) => isBack ? high : low), isBack),
  };
}
