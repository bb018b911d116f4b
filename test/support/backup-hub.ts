import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { type BackupStatus, readBackupStatus } from '../../src/features/backups/backup-status.ts';
import { BackupError } from '../../src/features/backups/backup-name.ts';
import { makeBackup, type BackupOptions, type MadeBackup } from '../../src/features/backups/make-backup.ts';
import { verifyBackup, type Verification } from '../../src/features/backups/verify-backup.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { hubEnvironment } from './hub-process.ts';
import { MIGRATIONS, putDatabase } from './migrated-database.ts';
import { hubctlProcess } from './hubctl.ts';
import type { Outcome } from './run-program.ts';
import { sha256 as hashOf, sha256Of } from './sha256.ts';
import { copyFolder, temporaryFolder, UNTIL_EXIT, type Lifetime } from './temporary-project.ts';

export type BackupHub = ReturnType<typeof backupHub>;

/** A hub that nobody runs, in a path with a space and a comma: Ada, her source, a post, and one upload of 100 bytes. */
export function backupHub(t: Lifetime) {
  const dataDir = join(temporaryFolder(t), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  putDatabase(join(dataDir, 'hub.db'));
  const hub = hubIn(t, dataDir);
  writePeople(hub.db);
  return hub;
}

const filled = new Map<string, string>();

/** Such a hub with so many posts of 3 kB and megabytes of uploads: filled once in a process, and then copied. */
export function filledHub(t: Lifetime, posts: number, megabytes: number): BackupHub {
  const size = `${posts} ${megabytes}`;
  const from = filled.get(size) ?? fill(posts, megabytes);
  filled.set(size, from);
  return copiedHub(t, from);
}

function fill(posts: number, megabytes: number): string {
  const hub = backupHub(UNTIL_EXIT);
  hub.db.transaction('posts', () => {
    for (let id = 2; id <= posts; id++) addPost(hub.db, id, randomBytes(1_500).toString('hex'));
  })();
  for (let n = 0; n < megabytes; n++) hub.upload(randomBytes(1_000_000));
  hub.db.close();
  return hub.dataDir;
}

/** A copy of such a hub, of which only the DATA_DIR is left. */
function copiedHub(t: Lifetime, from: string): BackupHub {
  const dataDir = join(temporaryFolder(t), 'data');
  copyFolder(from, dataDir);
  return hubIn(t, dataDir);
}

function hubIn(t: Lifetime, dataDir: string) {
  const config = loadConfig(hubEnvironment(dataDir));
  const db = openHubDatabase(config);
  t.after(() => db.close());
  return {
    dataDir,
    db,
    databasePath: config.databasePath,
    /** Makes a backup in this process. */
    backup: (options: Partial<BackupOptions> = {}): Promise<MadeBackup> => makeBackup({ ...optionsFor(dataDir), ...options }),
    /** Puts a file into its place and names it in the database, as an upload does. Returns its hash and path. */
    upload: (content: Buffer | string = randomBytes(100), filename?: string, postId?: number) =>
      upload(db, dataDir, Buffer.from(content), filename, postId),
    uploadMany: (contents: string[]): void =>
      db.transaction('test uploads', () => contents.forEach((text) => upload(db, dataDir, Buffer.from(text))))(),
    /** Takes all files out of the database; they stay on the disk. */
    forgetUploads: (): void => db.exec('DELETE FROM attachments; DELETE FROM uploads'),
    /** Names of what is in DATA_DIR/backups. */
    backups: (): string[] => readdirSync(join(dataDir, 'backups')).sort(),
    hubctl: (...args: string[]): Promise<Outcome> => hubctlProcess(dataDir, args),
  };
}

export function optionsFor(dataDir: string): BackupOptions {
  return {
    dataDir, backupDir: join(dataDir, 'backups'), databasePath: join(dataDir, 'hub.db'), migrations: MIGRATIONS, version: '1.2.3', retentionDays: null,
    diskReserveBytes: null, isUnattended: false,
    clock: Date.now, signal: new AbortController().signal, onStep: () => {}, onProgress: () => {},
  };
}

function writePeople(db: Db): void {
  db.exec(`
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      VALUES (1, 'ada', 'Ada', 'admin', 'x', 1, 1);
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at) VALUES (1, 1, 'native', 'Own', 1, 1);
  `);
  addPost(db, 1, 'Barn owls hunt at night.');
}

/** A post of source 1, in the search index too. */
export function addPost(db: Db, id: number, text: string): void {
  db.prepare<[number, string, string, number]>('test post', `
    INSERT INTO posts (id, source_id, guid, is_public, owner_id, title, content_html, summary, content_hash,
                       published_at, updated_at, created_at, search_key)
    VALUES (?, 1, ?, 1, 1, 'A post', ?, '', 'h', 1, 1, 1, ?)`).run(id, `g${id}`, text, id);
  db.prepare<[number, string]>('test index',
    `INSERT INTO posts_words (rowid, title, body, facts) VALUES (?, 'A post', ?, '1')`).run(id, text);
}

function upload(
  db: Db, dataDir: string, content: Buffer, filename = 'a.txt', postId = 1,
): { sha256: string; path: string } {
  const sha256 = hashOf(content);
  const folder = join(dataDir, 'uploads', sha256.slice(0, 2));
  const path = join(folder, sha256);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(path, content, { mode: 0o600 });
  db.prepare<[string, number]>('test upload', `INSERT OR IGNORE INTO uploads (sha256, bytes, media_type, scan, created_at)
    VALUES (?, ?, 'text/plain', 'clean', 1700000000000)`).run(sha256, content.length);
  db.prepare<[number, string, number, string]>('test attachment', `
    INSERT INTO attachments (post_id, kind, position, filename, bytes, sha256, owner_id, created_at)
    VALUES (?, 'native', 0, ?, ?, ?, 1, 1)`).run(postId, filename, content.length, sha256);
  return { sha256, path };
}

/** Asserts that a backup fails for that reason, that nothing was published or left, and nothing made that was not there. */
export async function assertNoBackup(
  hub: BackupHub, message: RegExp, options: Partial<BackupOptions> = {},
): Promise<void> {
  const before = existsSync(join(hub.dataDir, 'backups')) ? hub.backups() : [];
  await assert.rejects(hub.backup(options), (error: unknown) => {
    assert.ok(error instanceof BackupError, String(error));
    assert.match(error.message, message);
    return true;
  });
  assert.deepEqual(hub.backups(), before);
}

/** What that hub knows of its backups. */
export function statusOf(dataDir: string, now = Date.now()): BackupStatus {
  return readBackupStatus({ config: { dataDir, backupDir: join(dataDir, 'backups') }, clock: () => now });
}

export function verify(folder: string): Promise<Verification> {
  return verifyBackup(folder, { migrations: MIGRATIONS, clock: Date.now });
}

/** A copy of a backup beside it, to be harmed. */
export function copyOf(backup: string, name: string): string {
  const copy = join(backup, '../..', `copy ${name}`);
  cpSync(backup, copy, { recursive: true });
  return copy;
}

/** Makes SHA256SUMS fit the files as they are now; what it recorded besides stays. */
export function renewHashes(backup: string): void {
  const lines = ['hub.db', 'uploads.tar.gz'].map((name) => `${sha256Of(join(backup, name))}  ${name}`);
  rewriteSums(backup, (text) => `${text.replace(/^[^#].*\n/gm, '')}${lines.join('\n')}\n`);
}

/** Changes what SHA256SUMS says, with a hash of its own lines that fits. */
export function rewriteSums(backup: string, change: (text: string) => string): void {
  const path = join(backup, 'SHA256SUMS');
  const text = change(readFileSync(path, 'utf8')).replace(/^# lines .*\n/m, '');
  writeFileSync(path, text.startsWith('#') ? text.replace(/^(?=[^#])/m, `# lines ${hashOf(text.trimEnd())}\n`) : text);
}

/**
 * Harms a backup so that every check passes and no hub starts on it: changes to sources would run a trigger of another
 * program, whose table `its_table` is not there.
 */
export function harmUnseen(backup: string): void {
  changeDatabase(backup, (db) => db.exec(`
    CREATE TRIGGER of_another_program AFTER UPDATE ON sources BEGIN INSERT INTO its_table VALUES (1); END`));
}

/** Changes the database of a backup, and makes its hash fit. */
export function changeDatabase(backup: string, change: (db: Db) => void): void {
  const path = join(backup, 'hub.db');
  chmodSync(path, 0o600);
  const db = openDatabase(path);
  change(db);
  db.pragma('journal_mode = DELETE');
  db.close();
  renewHashes(backup);
}

/** A gzip member as version 1.0.0 wrote them: with the length of its deflate blocks in an extra field (RFC 1952). */
export function memberOf100(content: Buffer): Buffer {
  const blocks = deflateRawSync(content);
  const numbers = Buffer.alloc(12);
  numbers.writeUInt32LE(blocks.length);
  numbers.writeUInt32LE(crc32(content), 4);
  numbers.writeUInt32LE(content.length, 8);
  const opening = Buffer.from([0x1f, 0x8b, 8, 0x04, 0, 0, 0, 0, 0, 3, 8, 0, 0x43, 0x48, 4, 0]);
  return Buffer.concat([opening, numbers.subarray(0, 4), blocks, numbers.subarray(4)]);
}
