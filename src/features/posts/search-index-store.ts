import { SECOND } from '../../platform/clock.ts';
import { store, type StoreHub } from '../hub/hub.ts';

/** What the index needs of a post that was just stored; `searchKey` is null until it was indexed once. */
export type Indexable = {
  id: number;
  sourceId: number;
  publishedAt: number;
  searchKey: number | null;
  title: string;
  text: string;
};

/** Pages of the index written in one step of a merge: about 10 ms. */
const MERGED_PAGES = 100;

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

  function freeKey(wanted: number, id: number): number {
    let key = wanted;
    for (let other = selectKey.get(key); other !== undefined && other.id !== id; other = selectKey.get(key)) key++;
    return key;
  }

  return {
    /** Indexes the post, or indexes it anew. Part of the transaction that stores it. */
    put({ id, sourceId, publishedAt, searchKey: known, title, text }: Indexable): void {
      if (known !== null) remove.run(known);
      const key = freeKey(searchKey(publishedAt, id), id);
      if (key !== known) setKey.run(key, id);
      insert.run(key, title, text, String(sourceId));
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
function searchKey(publishedAt: number, id: number): number {
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

/**
 * What a person typed, as an FTS5 expression: every word must occur, "quoted words" stand together, and the last one
 * may be the beginning of a word. Undefined when there is nothing to search for. Operators of FTS5 have no meaning.
 */
export function searchWords(typed: string): string | undefined {
  const phrases = [...typed.slice(0, 500).matchAll(/"([^"]*)"|[^\s"]+/g)].map(([whole, quoted]) => quoted ?? whole);
  const useful = phrases.filter((phrase) => /[\p{L}\p{N}]/u.test(phrase)).slice(0, 20);
  if (useful.length === 0) return undefined;
  const expression = useful.map((phrase) => `"${phrase.replaceAll('\0', '')}"`).join(' ');
  return expression + (mayGoOn(typed) ? '*' : '');
}

/**
 * One Latin letter begins too many words: looking them all up may take a second with 100,000 posts. Scripts without
 * spaces between words need the beginning from the first sign.
 */
function mayGoOn(typed: string): boolean {
  return /[\p{L}\p{N}]{2}$|[^\p{Script=Latin}\p{N}\P{L}]$/u.test(typed);
}
