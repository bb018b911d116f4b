import type { Db } from '../../platform/db/open-database.ts';

export type SavedFile = { sha256: string; filename: string; bytes: number; postId: number };

const FILES = `SELECT a.sha256, a.filename, u.bytes, a.post_id AS postId
  FROM attachments a JOIN uploads u ON u.sha256 = a.sha256`;

/** Uploads in the database of a backup by their hash or by exactly that name, once for each post that has them. */
export function findSavedFiles(db: Db, hashOrName: string): SavedFile[] {
  return db.prepare<[{ hashOrName: string }], SavedFile>('saved files',
    `${FILES} WHERE a.sha256 = @hashOrName OR a.filename = @hashOrName ORDER BY a.id`).all({ hashOrName });
}

/** Uploads of a backup with that text in their name, whatever the case; the newest first. */
export function searchSavedFiles(db: Db, text: string, limit: number): SavedFile[] {
  return db.prepare<[string, number], SavedFile>('search saved files',
    `${FILES} WHERE instr(lower(a.filename), lower(?)) > 0 ORDER BY a.id DESC LIMIT ?`).all(text, limit);
}

/** All that the database of a backup holds of the files of a post, in order. */
export function filesOfSavedPost(db: Db, postId: number): Record<string, string | number | null>[] {
  return db.prepare<[number], Record<string, string | number | null>>('files of saved post',
    'SELECT * FROM attachments WHERE post_id = ? ORDER BY position').all(postId);
}
