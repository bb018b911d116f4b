import { SECOND } from '../../platform/clock.ts';
import type { Db, Statement } from '../../platform/db/open-database.ts';
import { counts, store, type StoreHub } from '../hub/hub.ts';
import { factsOf } from './blocks.ts';
import { ownersTerms } from './search-words.ts';

export const POSTS_WORDS = 'posts_words';
export const FULL_TEXTS_WORDS = 'full_texts_words';

/** A stored post to be indexed for search; `searchKey` is null until the post has been indexed once. */
export type Indexable = {
  id: number;
  sourceId: number;
  publishedAt: number;
  searchKey: number | null;
  isPublic: number;
  ownerId: number;
  searchTitle: string; // made by `searchTerms`
  searchText: string;
};

export type Unindexed = {
  id: number; sourceId: number; title: string; author: string | null; contentHash: string; searchKey: number;
  contentBytes: number;
};

/** Number of search index pages that one merge step writes, in about 10 ms. */
const MERGED_PAGES = 100;

/**
 * Page numbers of SQLite's search index (fts5_index.c, "%_data table"): each segment has its own range, which begins
 * with its leaves. Pages from OTHERS on list deleted rows.
 */
const SEGMENT = 2 ** 37;
const LEAVES = 2 ** 31;
const OTHERS = 2 ** 53;
const PAGE = 4096; // bytes

/** The full-text index of posts. Row ids grow with publishing times: descending row ids list the newest posts first. */
export const searchIndex = store((hub) => {
  const { db } = hub;
  const selectKey = db.prepare<[number], { id: number }>('search key', 'SELECT id FROM posts WHERE search_key = ?');
  const setKey = db.prepare<[number, number]>('set search key', 'UPDATE posts SET search_key = ? WHERE id = ?');
  const remove = db.prepare<[number]>('remove post from the search index', 'DELETE FROM posts_words WHERE rowid = ?');
  const index = prepareIndexing(db, POSTS_WORDS);

  const selectUnindexed = db.prepare<[number, number], Unindexed>('posts that are not indexed anew', `
    SELECT id, source_id AS sourceId, title, author, content_hash AS contentHash, search_key AS searchKey,
           octet_length(content_html) AS contentBytes
      FROM posts WHERE search_key < ? ORDER BY search_key DESC LIMIT ?`);
  type Stored = Omit<Indexable, 'sourceId' | 'searchTitle' | 'searchText'>;
  const selectStored = db.prepare<[number, string], Stored>('stored post', `
    SELECT id, published_at AS publishedAt, search_key AS searchKey, is_public AS isPublic, owner_id AS ownerId
      FROM posts WHERE id = ? AND content_hash = ?`);

  function freeKey(wanted: number, id: number): number {
    let key = wanted;
    for (let other = selectKey.get(key); other !== undefined && other.id !== id; other = selectKey.get(key)) key++;
    return key;
  }

  function put(post: Indexable): void {
    const { id, searchKey: known } = post;
    if (known !== null) remove.run(known);
    const key = freeKey(searchKey(post.publishedAt, id), id);
    if (key !== known) setKey.run(key, id);
    index.insert(key, post);
  }

  return {
    /** The newest posts that are not in the index since it was made anew. */
    unindexed: (limit: number): Unindexed[] => selectUnindexed.all(indexedFrom(hub), limit),
    /** Indexes a post; returns false if it has changed since it was read. In the caller's transaction. */
    putAnew({ id, sourceId, contentHash }: Unindexed, terms: { searchTitle: string; searchText: string }): boolean {
      const row = selectStored.get(id, contentHash);
      if (row) put({ ...row, ...terms, sourceId });
      return row !== undefined;
    },
    put,
    forgetRemoved: index.forgetRemoved,
  };
});

/** The table of the search index; before 0040_posts_words.sql, another table was the index. */
export function indexOfPosts(db: Db): string {
  const select = db.prepare<[], object>('index of posts', `SELECT 1 FROM sqlite_schema WHERE name = 'posts_words'`);
  return select.get() === undefined ? 'posts_search' : POSTS_WORDS;
}

/** Size of the search index in bytes, estimated from the first and last page number of its (about 12) segments. */
export function indexBytes(db: Db): number {
  const table = `${indexOfPosts(db)}_data`;
  const selectFrom = db.prepare<[number], { id: number }>('first search index page from a page number on',
    `SELECT id FROM ${table} WHERE id >= ? ORDER BY id LIMIT 1`);
  const selectBelow = db.prepare<[number], { id: number }>('last search index page below a page number',
    `SELECT id FROM ${table} WHERE id < ? ORDER BY id DESC LIMIT 1`);
  let pages = 0;
  for (let from = SEGMENT; from < OTHERS;) {
    const first = selectFrom.get(from)?.id;
    if (first === undefined || first >= OTHERS) break;
    const start = first - first % SEGMENT;
    pages += (selectBelow.get(start + LEAVES)?.id ?? first) - first + 1;
    from = start + SEGMENT;
  }
  return pages * PAGE;
}

/** What writes into a search index. */
export function prepareIndexing(db: Db, index: string) {
  const insert = db.prepare<[number, string, string, string]>('index post',
    `INSERT INTO ${index} (rowid, title, body, facts) VALUES (?, ?, ?, ?)`);
  const merge = db.prepare<[number]>('merge the index', `INSERT INTO ${index} (${index}, rank) VALUES ('merge', ?)`);
  return {
    insert(key: number, { searchTitle, searchText, ...post }: Omit<Indexable, 'id' | 'publishedAt' | 'searchKey'>) {
      const words = (terms: string): string => post.isPublic === 1 ? terms : ownersTerms(terms, post.ownerId);
      insert.run(key, words(searchTitle), words(searchText), factsOf(key, post));
    },
    forgetRemoved: createMerge(db, merge),
  };
}

/** The structure of an FTS5 index without segments (fts5_index.c, "Structure record"). */
const NO_SEGMENTS = '00000000ff000001000000';

/**
 * Removes up to `limit` rows of each table of a full-text index that nothing reads any more, in the caller's
 * transaction; returns their number, fewer than `limit` at the end. Dropping the table would take seconds. The list of
 * posts goes first, and then the list of segments, so that the index is sound whenever somebody looks.
 */
export function emptyIndex(db: Db, index: string, limit: number): number {
  const run = (sql: Statement<[number], never>): number => sql.run(limit).changes;
  return db.whileUnsafe(() => {
    const posts = run(db.prepare('empty index, posts',
      `DELETE FROM ${index}_docsize WHERE id IN (SELECT id FROM ${index}_docsize LIMIT ?)`));
    if (posts === limit) return posts;
    db.prepare<[string]>('empty index, segments',
      `UPDATE ${index}_data SET block = unhex(?) WHERE id = 10`).run(NO_SEGMENTS);
    const pages = run(db.prepare('empty index, pages',
      `DELETE FROM ${index}_data WHERE id IN (SELECT id FROM ${index}_data WHERE id > 10 LIMIT ?)`));
    return posts + pages + run(db.prepare('empty index, list of pages',
      `DELETE FROM ${index}_idx WHERE (segid, term) IN (SELECT segid, term FROM ${index}_idx LIMIT ?)`));
  });
}

/**
 * Returns a function that does one step of a merge, which drops the words of removed posts; `isFirst` starts a new
 * merge. The function returns true if further steps are needed (FTS5 manual, "The merge command").
 */
function createMerge(db: Db, merge: { run(pages: number): unknown }): (isFirst: boolean) => boolean {
  const selectChanges = db.prepare<[], { n: number }>('changes so far', 'SELECT total_changes() AS n');
  return (isFirst) => {
    const before = selectChanges.get()?.n ?? 0;
    merge.run(isFirst ? -MERGED_PAGES : MERGED_PAGES);
    return (selectChanges.get()?.n ?? 0) - before >= 2;
  };
}

const UNINDEXED_BELOW = 'posts_unindexed_below';
const WORDS_EDITION = 'posts_words_edition';

/** To be raised with each change of `folded` (search-words.ts), after which hubs index their posts anew. */
const EDITION = 1;

/** Added to a kept search key, so that 0 stands for no key (0040_posts_words.sql). */
const SHIFT = 2 ** 52;

/** The search key from which on posts are indexed, while the worker indexes old posts; else a key below all. */
export function indexedFrom(hub: StoreHub): number {
  const kept = counts(hub).value(UNINDEXED_BELOW);
  return kept === 0 ? -Number.MAX_SAFE_INTEGER : kept - SHIFT;
}

/** Notes, in the caller's transaction, that posts from a search key on are indexed; null: all posts. */
export function noteIndexed(hub: StoreHub, key: number | null): void {
  counts(hub).add(UNINDEXED_BELOW, '', (key === null ? 0 : key + SHIFT) - counts(hub).value(UNINDEXED_BELOW));
}

/** Notes that posts indexed in an earlier edition's form of words are to be indexed anew. */
export function noteEdition(hub: StoreHub): void {
  const kept = counts(hub).value(WORDS_EDITION);
  if (kept === EDITION) return;
  const selectNewest = hub.db.prepare<[], { key: number | null }>(
    'newest post', 'SELECT MAX(search_key) AS key FROM posts');
  hub.db.write('posts are to be indexed anew', () => {
    const newest = selectNewest.get()?.key ?? null;
    if (newest !== null) noteIndexed(hub, newest + 1);
    counts(hub).add(WORDS_EDITION, '', EDITION - kept);
  });
}

/** The second of publishing (unix ms) of the posts with a search key. */
export function timeOfKey(key: number): number {
  return Math.floor(key / 2 ** 21) * SECOND;
}

/** The place in lists at which a search that has looked at the posts from a search key on continues. */
export function positionAt(key: number): { publishedAt: number; id: number } {
  return { publishedAt: timeOfKey(key), id: key - Math.floor(key / 2 ** 21) * 2 ** 21 };
}

/**
 * The search index's row id for a post; if another post has it, `freeKey` takes the next free one. Ordered by the
 * second of publishing, then by the id modulo 2^21. Before 1901 counts as 1901; from 2106 on it is no exact integer.
 */
export function searchKey(publishedAt: number, id: number): number {
  const second = Math.max(Math.floor(publishedAt / SECOND), -(2 ** 31));
  return second * 2 ** 21 + (id % 2 ** 21);
}
