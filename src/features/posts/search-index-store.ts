import { SECOND } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { store } from '../hub/hub.ts';
import { ownersTerms } from './search-words.ts';

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

/** Number of search index pages that one merge step writes, in about 10 ms. */
const MERGED_PAGES = 100;

/**
 * Page numbers of SQLite's search index (fts5_index.c, "%_data table"): each segment of the index has its own range of
 * page numbers, which begins with the leaves. Pages of the index from the number OTHERS on list the index's deleted
 * rows.
 */
const SEGMENT = 2 ** 37;
const LEAVES = 2 ** 31;
const OTHERS = 2 ** 53;
const PAGE = 4096; // bytes

/** The full-text index of posts. Row ids grow with publishing times: descending row ids list the newest posts first. */
export const searchIndex = store(({ db }) => {
  const selectKey = db.prepare<[number], { id: number }>('search key', 'SELECT id FROM posts WHERE search_key = ?');
  const setKey = db.prepare<[number, number]>('set search key', 'UPDATE posts SET search_key = ? WHERE id = ?');
  const remove = db.prepare<[number]>('remove post from the search index', 'DELETE FROM posts_search WHERE rowid = ?');
  const insert = db.prepare<[number, string, string, string]>('index post',
    'INSERT INTO posts_search (rowid, title, body, source) VALUES (?, ?, ?, ?)');

  const merge = db.prepare<[number]>('merge the index',
    `INSERT INTO posts_search (posts_search, rank) VALUES ('merge', ?)`);

  const selectFrom = db.prepare<[number], { id: number }>('first search index page from a page number on',
    'SELECT id FROM posts_search_data WHERE id >= ? ORDER BY id LIMIT 1');
  const selectBelow = db.prepare<[number], { id: number }>('last search index page below a page number',
    'SELECT id FROM posts_search_data WHERE id < ? ORDER BY id DESC LIMIT 1');

  function freeKey(wanted: number, id: number): number {
    let key = wanted;
    for (let other = selectKey.get(key); other !== undefined && other.id !== id; other = selectKey.get(key)) key++;
    return key;
  }

  return {
    /** Size of the search index in bytes, estimated from the first and last page number of its (about 12) segments. */
    bytes(): number {
      let pages = 0;
      for (let from = SEGMENT; from < OTHERS;) {
        const first = selectFrom.get(from)?.id;
        if (first === undefined || first >= OTHERS) break;
        const start = first - first % SEGMENT;
        pages += (selectBelow.get(start + LEAVES)?.id ?? first) - first + 1;
        from = start + SEGMENT;
      }
      return pages * PAGE;
    },

    put({ id, sourceId, publishedAt, searchKey: known, searchTitle, searchText, ...post }: Indexable): void {
      if (known !== null) remove.run(known);
      const key = freeKey(searchKey(publishedAt, id), id);
      if (key !== known) setKey.run(key, id);
      const [title, text] = [searchTitle, searchText].map((terms) =>
        post.isPublic === 1 ? terms : ownersTerms(terms, post.ownerId));
      insert.run(key, title ?? '', text ?? '', String(sourceId));
    },

    forgetRemoved: createMerge(db, merge),
  };
});

/**
 * Returns a function that does one step of a merge of a search index, which drops the words of removed posts; `isFirst`
 * starts a new merge. The returned function returns true if the merge of the search index needs further steps (FTS5
 * manual, "The merge command").
 */
export function createMerge(db: Db, merge: { run(pages: number): unknown }): (isFirst: boolean) => boolean {
  const selectChanges = db.prepare<[], { n: number }>('changes so far', 'SELECT total_changes() AS n');
  return (isFirst) => {
    const before = selectChanges.get()?.n ?? 0;
    merge.run(isFirst ? -MERGED_PAGES : MERGED_PAGES);
    return (selectChanges.get()?.n ?? 0) - before >= 2;
  };
}

/**
 * Returns a post's row id in the search index: ordered by the second of publishing, then by the post's id. For
 * publishing times from 1901 to 2106 the row id is below 2^53, the largest exact integer; older times count as 1901.
 */
export function searchKey(publishedAt: number, id: number): number {
  const second = Math.max(Math.floor(publishedAt / SECOND), -(2 ** 31));
  return second * 2 ** 21 + (id % 2 ** 21);
}
