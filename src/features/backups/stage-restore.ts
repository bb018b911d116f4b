import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, realpathSync, writeSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { MemberSink } from '../../platform/archive/tar-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { givenIds, numberedTables, raiseIds, type GivenIds } from '../../platform/db/id-sequences.ts';
import { migrate } from '../../platform/db/migrate.ts';
import { SchemaError, type Migration } from '../../platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { createFile, sync, syncFolder } from '../../platform/files/durable-file.ts';
import { settleRestoredJobs } from '../../platform/jobs/job-queue.ts';
import { endAllSessions } from '../accounts/credential-store.ts';
import { uploadPath } from '../attachments/upload-files.ts';
import type { UploadRow } from '../attachments/attachment-store.ts';
import { audit, COMMAND_LINE } from '../audit/audit.ts';
import { ARCHIVE, BackupError, DATABASE, requireSpace, spaceNeeded, SUMS } from './backup-folder.ts';
import { hashFile, parseManifest, type Manifest } from './manifest.ts';
import { readSnapshot } from './snapshot-store.ts';
import { DATA_ITEMS, type Places } from './swap-data.ts';
import { checkArchive } from './upload-archive.ts';
import { verifyBackup, type Verification } from './verify-backup.ts';

/**
 * A folder that lies beside the staged data until the restore ends or goes back: the room to do so on a disk that has
 * filled up, in bytes and in files, of which a file system may have only so many.
 */
const RESERVE = 'reserve';
const RESERVE_FILES = 8;
const RESERVE_FILE_BYTES = 128 * 1_024;

export type StageOptions = RestoreTarget & {
  dataDir: string;
  backup: string; // its folder
  staged: string; // a new folder in DATA_DIR
  onStep: (what: string) => void;
};

export type Staged = { verification: Verification; settled: Settled; migrated: number };

/**
 * Verifies the backup and lays its data ready beside the hub's, in the form in which it will run. Touches nothing else;
 * whatever goes wrong, the staged folder is removed again. Throws BackupError.
 */
export async function stageRestore(options: StageOptions): Promise<Staged> {
  const { dataDir, backup, migrations, clock, onStep } = options;
  await requireMovable(dataDir);
  const sums = await readFile(join(backup, SUMS), 'utf8').catch(() => ''); // that it is there, is checked next
  const onCheck = (what: string): void => onStep(`checking the ${what}`);
  const verification = await verifyBackup(backup, { migrations, clock, onStep: onCheck });
  requireRestorable(verification);
  try {
    return { verification, ...await stage(options, verification, parseManifest(sums)) };
  } catch (error) {
    await rm(options.staged, { recursive: true, force: true });
    throw error;
  }
}

async function stage(
  options: StageOptions, { name, absent, counts }: Verification, { hashes }: Manifest,
): Promise<Omit<Staged, 'verification'>> {
  const { dataDir, backup, staged, onStep } = options;
  const { size } = await stat(join(backup, DATABASE));
  // Migrations may rewrite the database.
  await requireSpace(dataDir, spaceNeeded(2 * size, counts?.uploadBytes ?? 0), 'the restore');
  await mkdir(staged, { mode: 0o700 });

  onStep('copying the database');
  const rows = await copyChecked(join(backup, DATABASE), join(staged, DATABASE), hashes.database);
  const missing = new Set(absent.map(({ sha256 }) => sha256));
  onStep(`unpacking ${rows.length - missing.size} attachments`);
  await unpackUploads(join(backup, ARCHIVE), staged, rows, missing);

  onStep('checking what was unpacked');
  await compareUploads(staged, rows.filter(({ sha256 }) => !missing.has(sha256)));
  onStep('bringing the database up to date');
  const prepared = prepareRestored(join(staged, DATABASE), name, options);
  await writeReserve(join(staged, RESERVE));
  await syncTree(staged, rows);
  return prepared;
}

/** A rename cannot take along what is mounted there, and behind a link the data would stay where it is. */
async function requireMovable(dataDir: string): Promise<void> {
  const { dev } = await stat(dataDir);
  for (const item of DATA_ITEMS) {
    const path = join(dataDir, item);
    const found = await lstat(path).catch(() => undefined);
    if (!found || (!found.isSymbolicLink() && found.dev === dev && !isMountPoint(path))) continue;
    throw new BackupError(`DATA_DIR/${item} is a link or a disk of its own: stop the hub, put ${item} itself into ` +
      'DATA_DIR (or all of DATA_DIR onto that disk), and restore then');
  }
}

function requireRestorable({ verdict, problem, schema }: Verification): void {
  if (verdict === 'failed') throw new BackupError(`this backup cannot be restored: ${problem}`);
  if (schema === 'same' || schema === 'older') return;
  throw new BackupError('this backup was made by a newer version of the hub, or by another program: restore it with ' +
    'the version that made it');
}

/** The rows of the copy that was checked, not of what the backup may have become since. */
async function copyChecked(from: string, to: string, sha256: string): Promise<UploadRow[]> {
  await copyFile(from, to);
  await chmod(to, 0o600);
  const copy = await hashFile(to);
  if (copy.sha256 !== sha256) throw new BackupError('hub.db changed while it was copied');
  return (await readSnapshot(to)).uploads;
}

async function unpackUploads(
  archive: string, staged: string, rows: UploadRow[], absent: ReadonlySet<string>,
): Promise<void> {
  await mkdir(join(staged, 'uploads'), { mode: 0o700 });
  for (const folder of foldersOf(rows)) await mkdir(join(staged, folder), { mode: 0o700 });
  await checkArchive(archive, { rows, absent, destination: (name) => writingTo(join(staged, name)) });
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

/** What will be used is what was verified, although the disk may have lied. */
async function compareUploads(staged: string, rows: UploadRow[]): Promise<void> {
  for (const { sha256 } of rows) {
    const found = await hashFile(join(staged, uploadPath(sha256)));
    if (found.sha256 !== sha256) throw new BackupError(`${uploadPath(sha256)} changed after it was unpacked`);
  }
}

/** Of random bytes, as a file system may not store others at their full length. */
async function writeReserve(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  for (let n = 0; n < RESERVE_FILES; n++) {
    const file = await createFile(join(folder, String(n)));
    await file.writeFile(randomBytes(RESERVE_FILE_BYTES)).then(() => sync(file)).finally(() => file.close());
  }
}

/** Makes room, before anything else of a step that ends a restore or goes back. */
export async function releaseReserve({ staged }: Pick<Places, 'staged'>): Promise<void> {
  await rm(join(staged, RESERVE), { recursive: true, force: true });
}

async function syncTree(staged: string, rows: UploadRow[]): Promise<void> {
  for (const name of [DATABASE, ...rows.map(({ sha256 }) => uploadPath(sha256))]) {
    const file = await open(join(staged, name), 'r').catch(() => undefined);
    if (file) await sync(file).finally(() => file.close());
  }
  for (const folder of [...foldersOf(rows), 'uploads', RESERVE, '.']) await syncFolder(join(staged, folder));
  await syncFolder(dirname(staged));
}

function foldersOf(rows: UploadRow[]): string[] {
  return [...new Set(rows.map(({ sha256 }) => dirname(uploadPath(sha256))))];
}

/** The folders of a restore within DATA_DIR. */
export function placesOf(dataDir: string, id: string) {
  return { live: dataDir, staged: join(dataDir, `.restore-${id}`), kept: join(dataDir, `pre-restore-${id}`) };
}

/** Whether a name in DATA_DIR is what an interrupted staging left. */
export function isStagingName(name: string): boolean {
  return /^\.restore-\d{8}-\d{6}$/.test(basename(name));
}

/** Whether a file system, or a part of one, is mounted at that path. False where the system does not tell (proc(5)). */
function isMountPoint(path: string): boolean {
  try {
    return mountPoints(readFileSync('/proc/self/mountinfo', 'utf8')).includes(realpathSync(path));
  } catch {
    return false;
  }
}

/** The fifth field of each line; spaces, tabs, line breaks and backslashes in it are written in octal. */
function mountPoints(mountinfo: string): string[] {
  const fields = mountinfo.split('\n').map((line) => line.split(' ')[4] ?? '');
  const toCharacter = (_: string, octal: string): string => String.fromCharCode(parseInt(octal, 8));
  return fields.map((path) => path.replace(/\\([0-7]{3})/g, toCharacter));
}

/** What was ended in a restored database: sessions, and jobs that may have been done since the backup. */
export type Settled = { sessions: number; jobs: number };

/** What a restored database is prepared for. */
export type RestoreTarget = {
  migrations: Migration[];
  clock: Clock;
  /** Kinds of jobs that may run again. The others had their chance after the backup was made. */
  runAgain: readonly string[];
};

const START_OF_2026 = Date.UTC(2026, 0);

/**
 * Prepares the staged copy of a backup's database to be run: migrations, ids, sessions and jobs. Throws BackupError
 * where it cannot be brought up to date.
 */
export function prepareRestored(path: string, backup: string, target: RestoreTarget) {
  return changeStaged(path, (db) => {
    const migrated = bringUpToDate(db, target);
    raiseIdsByTime(db, target.clock());
    return { migrated, settled: settle(db, backup, target) };
  });
}

/** Lets the staged database give only ids above those of the one that it replaces, as far as that can be read. */
export function raiseIdsAbove(path: string, replaced: string): void {
  changeStaged(path, (db) => raiseIds(db, idsGivenBy(replaced, numberedTables(db))));
}

/** Changes the database and leaves it in one file, with no write-ahead log beside it. */
function changeStaged<T>(path: string, work: (db: Db) => T): T {
  const db = openDatabase(path);
  try {
    const result = work(db);
    db.pragma('wal_checkpoint(TRUNCATE)');
    return result;
  } finally {
    db.close();
  }
}

/** Applies safe migrations only; returns how many. */
function bringUpToDate(db: Db, { migrations, clock }: RestoreTarget): number {
  try {
    return migrate(db, migrations, clock).length;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw new BackupError('this backup cannot be brought up to date by a restore: restore it with the version that ' +
      `made it, then upgrade. ${error.message}`, { cause: error });
  }
}

/** Ends all sessions, discards jobs that may have been done since, and records the restore. */
function settle(db: Db, backup: string, { clock, runAgain }: RestoreTarget): Settled {
  return db.write('settle restored database', () => {
    const sessions = endAllSessions({ db });
    const jobs = settleRestoredJobs(db, clock(), runAgain);
    const target = { kind: 'backup', id: null, name: backup } as const;
    audit({ db, clock }, 'backup.restored', COMMAND_LINE, target, { sessions, jobs });
    return { sessions, jobs };
  });
}

/**
 * Left alone, a restored database would give the ids again that the hub gave after the backup was made. So its ids go
 * on above a floor that grows faster with time than the ids of any hub: the hundredths of a second since 2026. It holds
 * where the replaced database is lost, and whichever backup is restored next. Until 2057 it has at most 11 digits.
 */
function raiseIdsByTime(db: Db, now: number): void {
  const floor = Math.max(0, Math.floor((now - START_OF_2026) / 10));
  raiseIds(db, new Map(numberedTables(db).map((table) => [table, floor])));
}

/** Empty where the database is missing, damaged, or that of another program. */
function idsGivenBy(path: string, tables: string[]): GivenIds {
  if (!existsSync(path)) return new Map();
  let db: Db | undefined;
  try {
    db = openDatabase(path, { readonly: true });
    return givenIds(db, tables);
  } catch (error) {
    if (!codeOf(error)?.startsWith('SQLITE_')) throw error;
    return new Map();
  } finally {
    db?.close();
  }
}
