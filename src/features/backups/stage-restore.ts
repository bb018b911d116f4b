import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { chmod, copyFile, mkdir, open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { MemberSink } from '../../platform/archive/tar-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { migrate } from '../../platform/db/migrate.ts';
import { type Migration, SchemaError } from '../../platform/db/migration-files.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { sync, syncPath, writeNewFile } from '../../platform/files/durable-file.ts';
import { plural } from '../../platform/in-words.ts';
import { settleRestoredJobs } from '../../platform/jobs/job-queue.ts';
import { endAllSessions } from '../accounts/credential-store.ts';
import { uploadPath } from '../attachments/upload-files.ts';
import type { UploadRow } from '../attachments/attachment-store.ts';
import { audit, COMMAND_LINE } from '../audit/audit.ts';
import { unscheduleAll } from '../writing/scheduled-posts.ts';
import { DATABASE, requireSpace, spaceNeeded } from './backup-folder.ts';
import { BackupError } from './backup-name.ts';
import { hashFile, type Manifest, readManifest } from './manifest.ts';
import { stageOffsiteHub } from './offsite-hub.ts';
import { changeStaged, raiseIdsByTime } from './raise-ids.ts';
import { readSnapshot } from './snapshot-store.ts';
import { requireMovable, RESERVE } from './swap-data.ts';
import type { CheckOptions } from './upload-archive.ts';
import { checkUploads, foldersOf } from './upload-folder.ts';
import { counting, verifyBackup, type Verification } from './verify-backup.ts';

/** Filler files in RESERVE: when a restore ends or is undone, their removal frees bytes and inodes on a full disk. */
const RESERVE_FILES = 8;
const RESERVE_FILE_BYTES = 128 * 1_024;

export type StageOptions = RestoreTarget & {
  dataDir: string;
  backup: string; // the backup's folder
  staged: string; // a new folder in DATA_DIR for the staged data
  keptFree?: number; // bytes that must stay free on the disk when a script tries a backup in a temporary folder
  onStep: (what: string) => void;
  onProgress?: (done: number, total: number) => void;
};

export type Staged = { verification: Verification; settled: Settled; migrated: number };

/** Unpacks (stages) the backup's data in the new folder `staged`, migrated and ready to run. Throws BackupError. */
export async function stageRestore(options: StageOptions): Promise<Staged> {
  const { dataDir, backup, migrations, clock, onStep, onProgress } = options;
  await requireMovable(dataDir);
  const onCheck = (what: string): void => onStep(`checking the ${what}`);
  const verification = await verifyBackup(backup, { migrations, clock, onProgress, onStep: onCheck });
  requireRestorable(verification);
  try {
    return { verification, ...await stage(options, verification, await readManifest(backup)) };
  } catch (error) {
    await rm(options.staged, { recursive: true, force: true });
    throw error;
  }
}

async function stage(
  options: StageOptions, { name, absent, counts, archiveBytes }: Verification, { hashes }: Manifest,
): Promise<Omit<Staged, 'verification'>> {
  const { dataDir, backup, staged, keptFree = 0, onStep, onProgress } = options;
  const { size } = await stat(join(backup, DATABASE));
  // The restore needs room for twice the database's size, because migrations may rewrite the whole database.
  await requireSpace(dataDir, spaceNeeded(2 * size, counts?.uploadBytes ?? 0), 'the restore', keptFree);
  await mkdir(staged, { mode: 0o700 });

  onStep('copying the database');
  const rows = await copyChecked(join(backup, DATABASE), join(staged, DATABASE), hashes.database);
  const missing = new Set(absent.map(({ sha256 }) => sha256));
  const there = rows.length - missing.size;
  onStep(`unpacking ${plural(there, 'attachment')}`);
  const unpacked = counting(archiveBytes ?? 0, onProgress);
  await unpackUploads(backup, staged, { rows, absent: missing, onBytes: unpacked });

  onStep('checking the unpacked files');
  const compared = counting(counts?.uploadBytes ?? 0, onProgress);
  await requireUnchanged(staged, rows.filter(({ sha256 }) => !missing.has(sha256)), compared);
  onStep('applying migrations to the database');
  const prepared = prepareRestored(join(staged, DATABASE), name, options);
  await stageOffsiteHub(staged, dataDir);
  await writeReserve(join(staged, RESERVE));
  await syncTree(staged, rows);
  return prepared;
}

function requireRestorable({ verdict, problem, schema }: Verification): void {
  if (verdict === 'failed') throw new BackupError(`this backup cannot be restored: ${problem}`);
  if (schema === 'same' || schema === 'older') return;
  throw new BackupError('this backup was made by another version of the hub, or by another program: restore it with ' +
    'the version that made the backup');
}

/** Returns the rows of uploads in the checked copy, because the backup may have changed after its check. */
async function copyChecked(from: string, to: string, sha256: string): Promise<UploadRow[]> {
  await copyFile(from, to);
  await chmod(to, 0o600);
  const copy = await hashFile(to);
  if (copy.sha256 !== sha256) throw new BackupError('hub.db changed while it was being copied');
  return (await readSnapshot(to)).uploads;
}

async function unpackUploads(
  backup: string, staged: string, options: Pick<CheckOptions, 'rows' | 'absent' | 'onBytes'>,
): Promise<void> {
  await mkdir(join(staged, 'uploads'), { mode: 0o700 });
  for (const folder of foldersOf(options.rows)) await mkdir(join(staged, folder), { mode: 0o700 });
  await checkUploads(backup, { ...options, destination: (name) => writingTo(join(staged, name)) });
}

function writingTo(path: string): MemberSink {
  const fd = openSync(path, 'wx', 0o600);
  return {
    write(chunk) {
      for (let written = 0; written < chunk.length;) written += writeSync(fd, chunk, written);
    },
    end: () => closeSync(fd),
  };
}

/** Hashes the unpacked files once more, in case the disk has stored other bytes. */
async function requireUnchanged(staged: string, rows: UploadRow[], onBytes: (bytes: number) => void): Promise<void> {
  for (const { sha256 } of rows) {
    const found = await hashFile(join(staged, uploadPath(sha256)), undefined, onBytes);
    if (found.sha256 !== sha256) throw new BackupError(`${uploadPath(sha256)} changed after it was unpacked`);
  }
}

/** Fills the reserve with random bytes, because some file systems would compress other content. */
async function writeReserve(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  for (let n = 0; n < RESERVE_FILES; n++) {
    await writeNewFile(join(folder, String(n)), randomBytes(RESERVE_FILE_BYTES));
  }
}

async function syncTree(staged: string, rows: UploadRow[]): Promise<void> {
  for (const name of [DATABASE, ...rows.map(({ sha256 }) => uploadPath(sha256))]) {
    const file = await open(join(staged, name), 'r').catch(() => undefined);
    if (file) await sync(file).finally(() => file.close());
  }
  for (const folder of [...foldersOf(rows), 'uploads', RESERVE, '.']) await syncPath(join(staged, folder));
  await syncPath(dirname(staged));
}

type Settled = { sessions: number; jobs: number };

type RestoreTarget = {
  migrations: Migration[];
  clock: Clock;
  runAgain: readonly string[]; // the kinds whose unfinished jobs run again; those of other kinds are discarded
};

function prepareRestored(path: string, backup: string, target: RestoreTarget) {
  return changeStaged(path, (db) => {
    const migrated = bringUpToDate(db, target);
    raiseIdsByTime(db, target.clock());
    return { migrated, settled: settle(db, backup, target) };
  });
}

function bringUpToDate(db: Db, { migrations, clock }: RestoreTarget): number {
  try {
    return migrate(db, migrations, clock).length;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw new BackupError('this backup cannot be migrated by a restore: restore it with the version that ' +
      `made it, then upgrade. ${error.message}`, { cause: error });
  }
}

/** Ends sessions and password links, settles unfinished jobs, unschedules posts, and records the restore. */
function settle(db: Db, backup: string, { clock, runAgain }: RestoreTarget): Settled {
  return db.write('settle restored database', () => {
    const sessions = endAllSessions({ db });
    const jobs = settleRestoredJobs(db, clock(), runAgain);
    unscheduleAll({ db, clock });
    const target = { kind: 'backup', id: null, name: backup } as const;
    audit({ db, clock }, 'backup.restored', COMMAND_LINE, target, { sessions, jobs });
    return { sessions, jobs };
  });
}
