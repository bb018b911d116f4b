import type { Db } from '../../platform/db/open-database.ts';

/** A row as it is, of whatever version the schema is. */
type SavedRow = Record<string, string | number | null>;

/** All that the database of a backup holds of a post. */
export function findSavedPost(db: Db, id: number): SavedRow | undefined {
  return db.prepare<[number], SavedRow>('saved post', 'SELECT * FROM posts WHERE id = ?').get(id);
}

type FoundPost = { id: number; publishedAt: number; title: string };

/** Posts of a backup with that text in their title, whatever the case; the newest first. */
export function searchSavedPosts(db: Db, text: string, limit: number): FoundPost[] {
  return db.prepare<[string, number], FoundPost>('search saved posts', `
    SELECT id, published_at AS publishedAt, title FROM posts WHERE instr(lower(title), lower(?)) > 0
     ORDER BY id DESC LIMIT ?`).all(text, limit);
}
