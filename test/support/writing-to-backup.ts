/**
 * node writing-to-backup.ts <dataDir>
 * A hub that is busy: moves money between 20 posts (the sum stays 0), adds and removes uploads, as fast as it can, until
 * it is killed. Prints "busy" when it has begun, then each wait of over four seconds.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../src/platform/db/open-database.ts';

const POSTS = 20;

const [dataDir = ''] = process.argv.slice(2);
const db = openDatabase(join(dataDir, 'hub.db'));
const move = db.prepare<[number, number]>('move', 'UPDATE posts SET updated_at = updated_at + ? WHERE id = ?');
const putUpload = db.prepare<[string]>('upload',
  `INSERT INTO uploads (sha256, bytes, media_type, scan, created_at) VALUES (?, 3000, 'text/plain', 'clean', 1)`);
const attach = db.prepare<[string]>('attach', `
  INSERT INTO attachments (post_id, kind, position, filename, bytes, sha256, owner_id, created_at)
  VALUES (1, 'native', 0, 'a', 3000, ?, 1, 1)`);
const detach = db.prepare<[]>('detach', `
  DELETE FROM attachments WHERE id = (SELECT id FROM attachments WHERE post_id = 1 ORDER BY id LIMIT 1)`);
const forget = db.prepare<[]>('forget', `
  DELETE FROM uploads WHERE NOT EXISTS (SELECT 1 FROM attachments WHERE attachments.sha256 = uploads.sha256)`);

/** First the file, under its final name and whole, then the row; a row may go at any time, its file stays a day. */
function placeFile(): string {
  const content = randomBytes(3_000);
  const sha256 = createHash('sha256').update(content).digest('hex');
  const folder = join(dataDir, 'uploads', sha256.slice(0, 2));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(dataDir, 'tmp', sha256), content);
  renameSync(join(dataDir, 'tmp', sha256), join(folder, sha256));
  return sha256;
}

const change = db.transaction('change', (sha256: string, from: number, to: number, amount: number): void => {
  move.run(-amount, from);
  putUpload.run(sha256);
  attach.run(sha256);
  detach.run();
  forget.run();
  move.run(amount, to);
});

process.stdout.write('busy\n');
for (let n = 0; ; n++) {
  const sha256 = placeFile();
  const began = performance.now();
  change(sha256, 1 + (n % POSTS), 1 + ((n * 7 + 3) % POSTS), 1 + (n % 100));
  const took = performance.now() - began;
  if (took > 4_000) process.stdout.write(`waited ${Math.round(took)}\n`);
}
