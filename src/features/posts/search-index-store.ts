import { SECOND } from '../../platform/clock.ts';
import { store, type StoreHub } from '../hub/hub.ts';
import { ownersTerms } from './owners-terms.ts';

/** What the index needs of a post that was just stored; `searchKey` is null until it was indexed once. */
export type Indexable = {
  id: number;
  sourceId: number;
  publishedAt: number;
  searchKey: number | null;
  isPublic: number;
  ownerId: number;
  /** As `searchTerms` makes them. */
  searchTitle: string;
  searchText: string;
};

/** Pages of the index written in one step of a merge: about 10 ms. */
const MERGED_PAGES = 100;

/**
 * How FTS5 numbers its pages (fts5_index.c, "%_data table"): so many for each segment, the leaves first; what follows
 * the segments says which rows are deleted.
 */
const SEGMENT = 2 ** 37;
const LEAVES = 2 ** 31;
const OTHERS = 2 ** 53;
const PAGE = 4096; // bytes

/** The full-text index of posts. Its rows are numbered so that the newest posts come first. */
export const searchIndex = store(({ db }) => {
  const selectKey = db.prepare<[number], { id: number }>('search key', 'SELECT id FROM posts WHERE search_key = ?');
  const setKey = db.prepare<[number, number]>('set search key', 'UPDATE posts SET search_key = ? WHERE id = ?');
  const remove = db.prepare<[number]>('take post out of the index', 'DELETE FROM posts_search WHERE rowid = ?');
  const insert = db.prepare<[number, string, string, string]>('index post',
    'INSERT INTO posts_search (rowid, title, body, source) VALUES (?, ?, ?, ?)');

  const merge = db.prepare<[number]>('merge the index',
    `INSERT INTO posts_search (posts_search, rank) VALUES ('merge', ?)`);
  const selectChanges = db.prepare<[], { n: number }>('changes so far', 'SELECT total_changes() AS n');

  const selectFrom = db.prepare<[number], { id: number }>('page of the index from',
    'SELECT id FROM posts_search_data WHERE id >= ? ORDER BY id LIMIT 1');
  const selectBelow = db.prepare<[number], { id: number }>('page of the index below',
    'SELECT id FROM posts_search_data WHERE id < ? ORDER BY id DESC LIMIT 1');

  function freeKey(wanted: number, id: number): number {
    let key = wanted;
    for (let other = selectKey.get(key); other !== undefined && other.id !== id; other = selectKey.get(key)) key++;
    return key;
  }

  return {
    /** About how many bytes the index takes: it has some dozen segments, whose pages are numbered one after another. */
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

    /** Indexes the post, or indexes it anew. Part of the transaction that stores it. */
    put({ id, sourceId, publishedAt, searchKey: known, searchTitle, searchText, ...post }: Indexable): void {
      if (known !== null) remove.run(known);
      const key = freeKey(searchKey(publishedAt, id), id);
      if (key !== known) setKey.run(key, id);
      const [title, text] = [searchTitle, searchText].map((terms) =>
        post.isPublic === 1 ? terms : ownersTerms(terms, post.ownerId));
      insert.run(key, title ?? '', text ?? '', String(sourceId));
    },

    /**
     * Words of removed posts stay in the index until its parts are merged: does a step of that (`isFirst`: of a new
     * round) and tells whether there is more to do (the FTS5 manual, "The merge command").
     */
    forgetRemoved(isFirst: boolean): boolean {
      const before = selectChanges.get()?.n ?? 0;
      merge.run(isFirst ? -MERGED_PAGES : MERGED_PAGES);
      return (selectChanges.get()?.n ?? 0) - before >= 2;
    },
  };
});

/**
 * Grows with the second of publishing, then with the id. From 1901 to 2106 it stays within 2^53, where each integer
 * has its successor; what claims to be older stands at the end.
 */
export function searchKey(publishedAt: number, id: number): number {
  const second = Math.max(Math.floor(publishedAt / SECOND), -(2 ** 31));
  return second * 2 ** 21 + (id % 2 ** 21);
}

/** For backups, whose databases are no running hubs'. */
export function countPosts({ db }: Pick<StoreHub, 'db'>): number {
  return db.prepare<[], { n: number }>('count posts', 'SELECT COUNT(*) AS n FROM posts').get()?.n ?? 0;
}

/** How many posts search cannot find, and how many rows of the index belong to no post. For backups. */
export function searchDrift({ db }: Pick<StoreHub, 'db'>): { unindexed: number; stray: number } {
  return db.prepare<[], { unindexed: number; stray: number }>('search drift', `
    SELECT (SELECT COUNT(*) FROM posts
             WHERE search_key IS NULL OR search_key NOT IN (SELECT id FROM posts_search_docsize)) AS unindexed,
           (SELECT COUNT(*) FROM posts_search_docsize
             WHERE id NOT IN (SELECT search_key FROM posts WHERE search_key IS NOT NULL)) AS stray`).get()
    ?? { unindexed: 0, stray: 0 };
}
