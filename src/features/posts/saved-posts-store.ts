import type { Db } from '../../platform/db/open-database.ts';
import { indexedFrom, indexOfPosts } from './search-index-store.ts';

// SQL statements for the databases of backups, which no running hub has open.

type SavedRow = Record<string, string | number | null>;

/** All columns of a post in a backup's database. */
export function findSavedPost(db: Db, id: number): SavedRow | undefined {
  return db.prepare<[number], SavedRow>('saved post', 'SELECT * FROM posts WHERE id = ?').get(id);
}

type FoundPost = { id: number; publishedAt: number; title: string };

/** Posts of a backup whose title contains the text, ignoring case (of ASCII only), the last arrived first. */
export function searchSavedPosts(db: Db, text: string, limit: number): FoundPost[] {
  return db.prepare<[string, number], FoundPost>('search saved posts', `
    SELECT id, published_at AS publishedAt, title FROM posts WHERE instr(lower(title), lower(?)) > 0
     ORDER BY id DESC LIMIT ?`).all(text, limit);
}

export function countPosts({ db }: { db: Db }): number {
  return db.prepare<[], { n: number }>('count posts', 'SELECT COUNT(*) AS n FROM posts').get()?.n ?? 0;
}

/**
 * Counts the posts that are missing from the search index, and the rows of the search index that belong to no post.
 * Posts that wait to be indexed anew are not missing.
 */
export function searchDrift({ db }: { db: Db }): { unindexed: number; stray: number } {
  const rows = `${indexOfPosts(db)}_docsize`;
  return db.prepare<[number], { unindexed: number; stray: number }>('search drift', `
    SELECT (SELECT COUNT(*) FROM posts WHERE search_key IS NULL
                OR search_key >= ? AND search_key NOT IN (SELECT id FROM ${rows})) AS unindexed,
           (SELECT COUNT(*) FROM ${rows}
             WHERE id NOT IN (SELECT search_key FROM posts WHERE search_key IS NOT NULL)) AS stray`)
    .get(indexedFrom({ db, clock: () => 0 })) ?? { unindexed: 0, stray: 0 };
}
