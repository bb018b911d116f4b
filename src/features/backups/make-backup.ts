import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BLOCK } from '../../platform/archive/tar-header.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Migration } from '../../platform/db/migration-files.ts';
import { isStorageTrouble, openDatabase } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { replaceFile, syncPath, writeNewFile } from '../../platform/files/durable-file.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { plural } from '../../platform/in-words.ts';
import { sumUploads } from '../attachments/attachment-store.ts';
import { uploadPath } from '../attachments/upload-files.ts';
import { backupLock, lockForRemoving, takeFileLock } from '../hub/data-locks.ts';
import { searchIndex } from '../posts/search-index-store.ts';
import {
  applyRetention, ARCHIVE, type BackupFolder, backupFolder, DATABASE, requireSpace, reserveIn, type RetentionResult,
  spaceNeeded, SUMS,
} from './backup-folder.ts';
import { BackupBusy, BackupError, backupName } from './backup-name.ts';
import { begunPath, readBackupStatus } from './backup-status.ts';
import { formatManifest, hashFile, readManifest } from './manifest.ts';
import { isRestoreOpen } from './restore-state.ts';
import { databaseSize, copyTo, readSnapshot, requireHubSchema } from './snapshot-store.ts';
import { archiveUploads } from './upload-archive.ts';
import { type Verification, verifyBackup } from './verify-backup.ts';

export type BackupOptions = {
  dataDir: string;
  backupDir: string;
  databasePath: string;
  migrations: Migration[];
  version: string;
  retentionDays: number | null; // null: old backups are never removed
  diskReserveBytes: number | null;
  clock: Clock;
  pid: number;
  signal: AbortSignal;
  onStep: (what: string) => void;
  onProgress: (done: number, total: number) => void; // bytes of attachments
};

export type MadeBackup = { name: string; path: string; verification: Verification; retention: RetentionResult };

/**
 * Makes a backup of a running hub, verifies the backup, gives it its final name, and removes old backups. Rejects with
 * BackupBusy, BackupError or the reason of the aborted signal. After a rejection, BACKUP_DIR contains nothing new.
 */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const { dataDir, backupDir, databasePath } = options;
  const isMissing = !existsSync(databasePath) && !isRestoreOpen(dataDir);
  if (isMissing) throw new BackupError(`there is no database at ${writtenPath(databasePath)}`);
  await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  await makeFolder(backupDir, dataDir);
  const lock = takeFileLock(backupLock(dataDir));
  if (!lock) throw new BackupBusy('another backup is being made, or a backup is being restored');
  try {
    if (isRestoreOpen(dataDir)) throw new BackupBusy(RESTORING);
    // A BACKUP_DIR on another disk still gets its backup when the hub's disk has no free byte.
    await replaceFile(begunPath(dataDir), JSON.stringify({ at: options.clock() })).catch(() => {});
    return await makeLocked(options, backupFolder(backupDir))
      .finally(() => rm(begunPath(dataDir), { force: true }));
  } finally {
    lock.release();
  }
}

/** A BACKUP_DIR outside DATA_DIR must already exist: if its disk is missing, backups would fill the hub's disk. */
async function makeFolder(backupDir: string, dataDir: string): Promise<void> {
  if (backupDir === join(dataDir, 'backups')) await mkdir(backupDir, { recursive: true, mode: 0o700 });
  else if (!existsSync(backupDir)) {
    throw new BackupError(`BACKUP_DIR ${writtenPath(backupDir)} is not there: mount or make it`);
  }
}

/** Refuses a backup during a restore, which releases the backup lock between its steps and may undo its steps. */
const RESTORING = 'a restore or an upgrade is in progress or was interrupted: see ./scripts/restore.sh --recover';

async function makeLocked(options: BackupOptions, folder: BackupFolder): Promise<MadeBackup> {
  const { clock, dataDir, pid, retentionDays } = options;
  await folder.removeLeftovers();
  const createdAt = clock();
  const partial = folder.partialPath(backupName(createdAt), pid);
  const makeAndPublish = async (): Promise<{ name: string; verification: Verification }> => {
    const verification = await makePartial(options, partial, createdAt);
    return { verification, name: await folder.publish(partial, createdAt) };
  };
  const { name, verification } = await makeAndPublish().catch(async (error: unknown) => {
    await rm(partial, { recursive: true, force: true });
    options.signal.throwIfAborted(); // rejects with the reason of the aborted signal, not with the error of a stream
    throw error;
  });
  const path = folder.pathOf(name);
  const made = { name, path, verification: { ...verification, name, folder: path } };
  if (retentionDays === null) return { ...made, retention: { removed: [], problems: [] } };
  const { newestComplete } = readBackupStatus({ config: options, clock });
  const complete = verification.verdict === 'verified' ? name : newestComplete;
  const facts = { made: name, complete, days: retentionDays, now: clock() };
  const retention = await applyRetention(folder, facts, () => lockForRemoving(dataDir));
  return { ...made, retention };
}

/** Writes a complete backup under a temporary name, and syncs it to the disk. */
async function makePartial(options: BackupOptions, partial: string, createdAt: number): Promise<Verification> {
  const { migrations, clock, signal, onStep, onProgress } = options;
  onStep('copying the database');
  await copyDatabase(options, partial);
  signal.throwIfAborted();
  await archive(options, partial, createdAt);
  await syncAll(partial);
  const onCheck = (what: string): void => onStep(`checking the ${what}`);
  const verification = await verifyBackup(partial, { migrations, clock, signal, onProgress, onStep: onCheck });
  const { verdict, problem } = verification;
  if (verdict === 'failed') throw new BackupError(`the new backup failed verification: ${problem}`);
  signal.throwIfAborted();
  return verification;
}

async function archive(options: BackupOptions, partial: string, createdAt: number): Promise<void> {
  const { dataDir, signal, version, onStep, onProgress } = options;
  const snapshot = await readSnapshot(join(partial, DATABASE));
  const { counts, schemaVersion, uploads: rows } = snapshot;
  onStep(`archiving ${plural(counts.uploads, 'attachment')}`);
  let done = 0;
  const { absent, sha256 } = await archiveUploads({
    dataDir, rows, createdAt, path: join(partial, ARCHIVE), signal,
    onProgress: (bytes) => onProgress((done += bytes), counts.uploadBytes),
  });
  const database = await hashFile(join(partial, DATABASE), signal);
  const text = formatManifest({ createdAt, version, schemaVersion, counts, absent },
    { database: database.sha256, archive: sha256 });
  await writeNewFile(join(partial, SUMS), text);
}

/**
 * Makes a backup's archive and SHA256SUMS in a new folder, from the database, the uploads and the SHA256SUMS that were
 * fetched from a restic repository. Throws BackupError if a file differs from its hash in SHA256SUMS.
 */
export async function packFetched(from: string, into: string): Promise<void> {
  const { facts, hashes } = await readManifest(from);
  const database = await hashFile(join(from, DATABASE));
  if (!facts || database.sha256 !== hashes.database) throw new BackupError('hub.db does not match SHA256SUMS');
  const { uploads: rows } = await readSnapshot(join(from, DATABASE));
  await mkdir(into, { mode: 0o700 });
  const { absent, sha256 } = await archiveUploads({
    dataDir: from, rows, createdAt: facts.createdAt, path: join(into, ARCHIVE), signal: new AbortController().signal,
    onProgress: () => {},
  });
  const known = new Set(facts.absent.map((upload) => upload.sha256));
  const lost = absent.find((upload) => !known.has(upload.sha256));
  if (lost) throw new BackupError(`${uploadPath(lost.sha256)} is ${lost.why}`);
  await writeNewFile(join(into, SUMS), formatManifest(facts, { database: database.sha256, archive: sha256 }));
}

async function syncAll(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await syncPath(join(folder, name));
  await syncPath(folder);
}

/** Bytes that a file may add to an archive besides its content: a header and the padding of the last block. */
const FRAME = 2 * BLOCK;

/**
 * Copies the database of the hub consistently into a new folder, while other processes write to the database. Throws
 * BackupError if the database cannot be read, or if the copies of database and attachments would use up the disk's
 * reserve.
 */
async function copyDatabase(options: BackupOptions, folder: string): Promise<void> {
  const db = explained(() => openDatabase(options.databasePath, { readonly: true }));
  try {
    const { needed, kept } = explained(() => {
      requireHubSchema(db);
      const { uploads, uploadBytes } = sumUploads({ db });
      const indexBytes = searchIndex({ db, clock: options.clock }).bytes();
      const kept = reserveIn(options.backupDir, options, indexBytes);
      return { needed: spaceNeeded(databaseSize(db), uploadBytes + uploads * FRAME), kept };
    });
    await requireSpace(dirname(folder), needed, 'a backup', kept);
    await mkdir(folder, { mode: 0o700 });
    explained(() => copyTo(db, join(folder, DATABASE)));
  } finally {
    db.close();
  }
  await chmod(join(folder, DATABASE), 0o600);
  await nextTurn(); // lets Node handle signals that arrived during synchronous work
}

const OWN_DAMAGE = 'the hub\'s own database is damaged or cannot be read';
const WHY: [code: RegExp, reason: string][] = [
  [/^SQLITE_(BUSY|LOCKED)/, 'another program holds a lock on the database'],
  [/^SQLITE_(FULL|IOERR_(WRITE|FSYNC|TRUNCATE))/, 'the copy could not be written'],
];

/** Runs `work`. Turns an error from SQLite into a BackupError whose message first gives the reason in words. */
function explained<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error) || !isStorageTrouble(error)) throw error;
    const code = codeOf(error) ?? '';
    const reason = WHY.find(([pattern]) => pattern.test(code))?.[1] ?? OWN_DAMAGE;
    throw new BackupError(`${reason}: ${error.message}`, { cause: error });
  }
}
