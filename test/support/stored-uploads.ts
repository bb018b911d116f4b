import assert from 'node:assert/strict';
import type { Stored } from './stored-rows.ts';

/** Changes the size under which a file is known. */
export function setUploadBytes({ db }: Stored, sha256: string, bytes: number): void {
  db.prepare<[number, string]>('size of upload', 'UPDATE uploads SET bytes = ? WHERE sha256 = ?').run(bytes, sha256);
}

/** Names a file of that content as an upload of nobody's. */
export function putUpload({ db }: Stored, sha256: string, bytes: number): void {
  db.prepare<[string, number]>('test upload', `INSERT INTO uploads (sha256, bytes, media_type, scan, created_at)
    VALUES (?, ?, 'text/plain', 'clean', 1700000000000)`).run(sha256, bytes);
}

/** Changes what everybody's files are said to take of their quota. */
export function setUsage({ db }: Stored, bytes: number): void {
  db.prepare<[number]>('usage', 'UPDATE upload_usage SET bytes = ?').run(bytes);
}

/** The usage that is kept for each account is the sum of what its attachments and the files of its drafts say. */
export function assertUsageIsRight({ db }: Stored): void {
  assert.deepEqual(db.prepare<[], object>('wrong usage', `
    SELECT a.username FROM accounts a
     WHERE COALESCE((SELECT bytes FROM upload_usage WHERE account_id = a.id), 0) <>
           COALESCE((SELECT SUM(bytes) FROM attachments WHERE owner_id = a.id), 0)
           + COALESCE((SELECT SUM(bytes) FROM draft_files WHERE account_id = a.id), 0)`).all(), []);
}
