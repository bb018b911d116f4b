import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BLOCK } from '../../platform/archive/tar-header.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Migration } from '../../platform/db/migration-files.ts';
import { type Db, isStorageTrouble, openDatabase } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { replaceFile, syncPath, writeNewFile } from '../../platform/files/durable-file.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { plural } from '../../platform/in-words.ts';
import { sumUploads } from '../attachments/attachment-store.ts';
import { uploadPath } from '../attachments/upload-files.ts';
import { backupLock, takeFileLock } from '../hub/data-locks.ts';
import { standingLoss } from '../hub/database-file.ts';
import { describeDatabase } from '../hub/database-note.ts';
import { indexBytes } from '../posts/search-index-store.ts';
import {
  applyRetention, ARCHIVE, type BackupFolder, backupFolder, DATABASE, requireSpace, reserveIn, type RetentionResult,
  spaceNeeded, SUMS,
} from './backup-folder.ts';
import { BackupBusy, BackupError, UnsoundBackup } from './backup-name.ts';
import { begunPath, readBackupStatus } from './backup-status.ts';
import { type AbsentUpload, formatManifest, hashFile, readManifest } from './manifest.ts';
import { isRestoreOpen } from './restore-state.ts';
import { databaseSize, copyTo, readSnapshot, requireHubSchema, type SavedRows } from './snapshot-store.ts';
import { archiveUploads } from './upload-archive.ts';
import { counting, type Verification, verifyBackup } from './verify-backup.ts';

export type BackupOptions = {
  dataDir: string;
  backupDir: string;
  databasePath: string;
  migrations: Migration[];
  version: string;
  retentionDays: number | null; // null: old backups are never removed
  isUnattended: boolean; // cron or a timer makes the backup, which fails if BACKUP_DIR has lost all its backups
  diskReserveBytes: number | null;
  clock: Clock;
  signal: AbortSignal;
  onStep: (what: string) => void;
  onProgress: (done: number, total: number) => void; // bytes in the current step
};

export type MadeBackup = { name: string; path: string; verification: Verification; retention: RetentionResult };

/** How a backup stores the uploaded files: in an archive (nightly backup), or as links or copies (interim backup). */
export type UploadStore = {
  /** The most bytes of uploads that the backup may need; 0 if `put` checks by itself that the disk has enough space. */
  bytes(db: Db): number;
  put(folder: string, snapshot: SavedRows): Promise<{ absent: AbsentUpload[]; archive: string | null }>;
};

/** Rejects with BackupBusy, BackupError, an error of the system or the signal's reason; then it leaves no files. */
export function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  return whileLocked(options, 'backup', async () => {
    const made = await makeAndPublish(options, backupFolder(options.backupDir), (at) => archiveStore(options, at));
    return { ...made, retention: await retain(options, made) };
  });
}

/** Runs `work` in an existing BACKUP_DIR while no other backup and no restore runs. Rejects as `makeBackup` does. */
export async function whileLocked<T>(
  options: BackupOptions, kind: 'backup' | 'interim', work: () => Promise<T>,
): Promise<T> {
  const { dataDir, backupDir, databasePath } = options;
  const loss = standingLoss(dataDir); // the file at this path may be another database
  if (loss) throw new BackupError(Object.values(describeDatabase(loss, writtenPath(dataDir))).join(' '));
  const isMissing = !existsSync(databasePath) && !isRestoreOpen(dataDir);
  if (isMissing) throw new BackupError(`there is no database at ${writtenPath(databasePath)}`);
  await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  await makeFolder(backupDir, dataDir);
  if (kind === 'interim' || options.isUnattended) refuseEmptied(options);
  const lock = takeFileLock(backupLock(dataDir));
  if (!lock) throw new BackupBusy('another backup is being made, or a backup is being restored');
  try {
    if (isRestoreOpen(dataDir)) throw new BackupBusy(RESTORING);
    // If DATA_DIR is full, the record of the begun backup is missing, but a BACKUP_DIR on another disk gets its backup.
    await replaceFile(begunPath(dataDir, kind), JSON.stringify({ at: options.clock() })).catch(() => {});
    return await work().finally(() => rm(begunPath(dataDir, kind), { force: true }));
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

/** If the disk of BACKUP_DIR is not mounted, new backups would fill the hub's disk and hide that a disk is missing. */
function refuseEmptied({ dataDir, backupDir, clock }: BackupOptions): void {
  if (readBackupStatus({ config: { dataDir, backupDir }, clock }).lost !== 'empty') return;
  throw new BackupError(`BACKUP_DIR ${writtenPath(backupDir)} holds none of the backups that were made in it: mount ` +
    'its disk, or run ./scripts/backup.sh once if BACKUP_DIR is on a new disk');
}

/** Refuses a backup during a restore, which releases the backup lock between its steps and may undo its steps. */
const RESTORING = 'a restore or an upgrade is in progress or was interrupted: see ./scripts/restore.sh --recover';

/** Makes a backup in `folder`; `storeFor` creates the store of uploads. The caller must hold the backup lock. */
export async function makeAndPublish(
  options: BackupOptions, folder: BackupFolder, storeFor: (createdAt: number) => UploadStore,
): Promise<Omit<MadeBackup, 'retention'>> {
  await folder.removeLeftovers();
  const createdAt = options.clock();
  const partial = folder.partialPath(createdAt);
  try {
    const verification = await makePartial(options, { partial, createdAt, store: storeFor(createdAt) });
    const name = await folder.publish(partial, createdAt);
    const path = folder.pathOf(name);
    return { name, path, verification: { ...verification, name, folder: path } };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    options.signal.throwIfAborted(); // rejects with the reason of the aborted signal, not with the error of a stream
    throw error;
  }
}

async function retain(
  { backupDir, clock, dataDir, retentionDays: days }: BackupOptions,
  { name, verification }: Omit<MadeBackup, 'retention'>,
): Promise<RetentionResult> {
  if (days === null) return { removed: [], problems: [] };
  const { newestComplete } = readBackupStatus({ config: { dataDir, backupDir }, clock });
  const complete = verification.verdict === 'verified' ? name : newestComplete;
  const facts = { made: name, complete, days, now: clock() };
  return applyRetention(backupFolder(backupDir), facts, dataDir);
}

type Making = { partial: string; createdAt: number; store: UploadStore };

async function makePartial(options: BackupOptions, making: Making): Promise<Verification> {
  const { migrations, clock, signal, onStep, onProgress } = options;
  const { partial } = making;
  onStep('copying the database');
  await copyDatabase(options, making);
  signal.throwIfAborted();
  await describe(options, making);
  await syncAll(partial);
  const onCheck = (what: string): void => onStep(`checking the ${what}`);
  const verification = await verifyBackup(partial, { migrations, clock, signal, onProgress, onStep: onCheck });
  const { verdict, problem } = verification;
  if (verdict === 'failed') throw new UnsoundBackup(`the new backup failed verification: ${problem}`);
  signal.throwIfAborted();
  return verification;
}

async function describe(options: BackupOptions, { partial, createdAt, store }: Making): Promise<void> {
  const { signal, version } = options;
  const snapshot = await readSnapshot(join(partial, DATABASE));
  const { counts, schemaVersion } = snapshot;
  const { absent, archive } = await store.put(partial, snapshot);
  const database = await hashFile(join(partial, DATABASE), signal);
  const text = formatManifest({ createdAt, version, schemaVersion, counts, absent },
    { database: database.sha256, archive });
  await writeNewFile(join(partial, SUMS), text);
}

/** The most bytes that a file takes in an archive besides its content: header, and padding of the last block. */
const FRAME = 2 * BLOCK;

function archiveStore({ dataDir, signal, onStep, onProgress }: BackupOptions, createdAt: number): UploadStore {
  return {
    bytes(db) {
      const { uploads, uploadBytes } = sumUploads({ db });
      return uploadBytes + uploads * FRAME;
    },
    async put(folder, { counts, uploads: rows }) {
      onStep(`archiving ${plural(counts.uploads, 'attachment')}`);
      const { absent, sha256 } = await archiveUploads({
        dataDir, rows, createdAt, path: join(folder, ARCHIVE), signal,
        onProgress: counting(counts.uploadBytes, onProgress),
      });
      return { absent, archive: sha256 };
    },
  };
}

/** Makes a backup of what restic fetched, still without hub.db. Throws BackupError if a file is lost or damaged. */
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

/** Throws BackupError if the database cannot be read, or if the backup would use up the disk's reserve. */
async function copyDatabase(options: BackupOptions, { partial: folder, store }: Making): Promise<void> {
  const db = explained(() => openDatabase(options.databasePath, { readonly: true }));
  try {
    const { needed, kept } = explained(() => {
      requireHubSchema(db);
      const kept = reserveIn(options.backupDir, options, indexBytes(db));
      return { needed: spaceNeeded(databaseSize(db), store.bytes(db)), kept };
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
