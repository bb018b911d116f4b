import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isRestoreOpen, isRestoreUnderWay } from '../../features/backups/restore-state.ts';
import { isHubRunning } from '../../features/hub/data-locks.ts';
import { standingLoss } from '../../features/hub/database-file.ts';
import {
  commandsFor, describeDatabase, readDatabaseNote, removeDatabaseNote, RESCUED,
} from '../../features/hub/database-note.ts';
import { createDisk } from '../../features/hub/disk-space.ts';
import type { Hub } from '../../features/hub/hub.ts';
import { readOwnMigrations } from '../../features/hub/own-migrations.ts';
import { hubUserAgent, type Config } from '../../features/hub/read-config.ts';
import { indexBytes } from '../../features/posts/search-index-store.ts';
import type { Clock } from '../../platform/clock.ts';
import { describePending, migrate, pendingMigrations } from '../../platform/db/migrate.ts';
import { DataInUseError, type Migration, SchemaError } from '../../platform/db/migration-files.ts';
import { codeOf } from '../../platform/error-code.ts';
import { writtenPath } from '../../platform/files/granted-name.ts';
import { isDamage, openDatabase, openToLook, type Db, type OpenOptions } from '../../platform/db/open-database.ts';
import type { Log } from '../../platform/log.ts';
import { createOutboundFetch } from '../../platform/net/outbound-fetch.ts';

const FOLDERS = ['uploads', 'cache', 'backups', 'tmp', 'run'];

/**
 * Opens or makes the database, and applies pending migrations. Throws SchemaError during a restore, if one of these is
 * unsafe, and if the database is lost or damaged; DataInUseError if a hub runs that does not know the new schema.
 */
export function openHubDatabase(
  { dataDir, databasePath, migrationsDir }: Config, clock: Clock = Date.now, options: OpenOptions = {},
): Db {
  assertNoRestore(dataDir);
  assertInPlace(dataDir);
  for (const folder of FOLDERS) mkdirSync(join(dataDir, folder), { recursive: true, mode: 0o700 });
  assertNotLost(dataDir, databasePath);
  const migrations = readOwnMigrations(migrationsDir);
  const db = openDatabaseFile(databasePath, options);
  try {
    assertNobodyRuns(db, migrations, dataDir);
    migrate(db, migrations, clock);
    return db;
  } catch (error) {
    db.close();
    throw explained(error, databasePath);
  }
}

export type FoundDatabase = { db: Db; pending: Migration[] };

/**
 * Opens a hub's database read-only, even before its migrations. Throws SchemaError while a restore replaces it, and if
 * it is lost, damaged or of a newer version.
 */
export function lookAtDatabase({ dataDir, databasePath, migrationsDir }: Config): FoundDatabase {
  assertNoRestore(dataDir);
  assertKnown(dataDir);
  return findPending(() => openToLook(databasePath), databasePath, readOwnMigrations(migrationsDir));
}

/**
 * Opens a hub's database to change its content. Throws SchemaError if migrations are pending, because they need a
 * backup first, and DataInUseError while a new version or a restored backup is being tried.
 */
export function openToChange({ dataDir, databasePath, migrationsDir }: Config): Db {
  assertNoRestore(dataDir);
  assertKnown(dataDir);
  if (isRestoreOpen(dataDir)) {
    throw new DataInUseError('a new version or a restored backup is on trial, and a rollback would undo this change: ' +
      'try again in a minute or two');
  }
  const migrations = readOwnMigrations(migrationsDir);
  const { db, pending } = findPending(() => openDatabase(databasePath), databasePath, migrations);
  if (pending.length === 0) return db;
  try {
    assertNobodyRuns(db, migrations, dataDir);
  } finally {
    db.close();
  }
  const { which, whatToDo } = describePending(pending);
  throw new SchemaError(`the database lacks ${which}, and nothing was changed. ${whatToDo}`);
}

function findPending(open: () => Db, path: string, migrations: Migration[]): FoundDatabase {
  let db: Db | undefined;
  try {
    db = open();
    return { db, pending: pendingMigrations(db, migrations) };
  } catch (error) {
    db?.close();
    throw explained(error, path);
  }
}

function assertNoRestore(dataDir: string): void {
  if (!isRestoreUnderWay(dataDir)) return;
  throw new SchemaError('a restore or an upgrade is in progress or was interrupted: ' +
    'see ./scripts/restore.sh --recover');
}

/**
 * Refuses to open a file beside a running hub that has lost its database, or while the saved copy waits to be put in
 * place. Once the copy is in place, or moved elsewhere, or if nothing was saved, removes the note of the loss.
 */
function assertInPlace(dataDir: string): void {
  assertKnown(dataDir);
  if (readDatabaseNote(dataDir)?.fault !== 'index') removeDatabaseNote(dataDir);
}

/** The same, but the note stays. Throws SchemaError. */
function assertKnown(dataDir: string): void {
  const note = standingLoss(dataDir);
  if (!note) return;
  const { problem, whatToDo } = describeDatabase(note, writtenPath(dataDir));
  const other = note.rescue ? ` To keep another hub.db, move ${note.rescue.file} out of DATA_DIR.` : '';
  throw new SchemaError(`${problem} ${whatToDo}${other}`);
}

/** Refuses a new hub beside another hub's files: the new hub would remove uploads older than a day as strays. */
function assertNotLost(dataDir: string, databasePath: string): void {
  if (existsSync(databasePath)) return;
  if (!hasTraces(dataDir)) return;
  throw new SchemaError(lostDatabase(dataDir, databasePath));
}

/** Whether there are uploads, a write-ahead log or a saved copy of a database, or a hub runs. */
export function hasTraces(dataDir: string): boolean {
  const uploads = join(dataDir, 'uploads');
  const hasUploads = existsSync(uploads) && readdirSync(uploads).length > 0;
  const hasLog = existsSync(join(dataDir, 'hub.db-wal'));
  return hasUploads || hasLog || rescuedIn(dataDir) !== undefined || isHubRunning(dataDir);
}

/** What is wrong, and what to do, if hub.db is missing but `hasTraces`. */
export function lostDatabase(dataDir: string, databasePath: string): string {
  const there = `there is no ${writtenPath(databasePath)}`;
  if (isHubRunning(dataDir)) {
    return `${there}, but a hub runs, which still has all that was stored. Do not stop it and do not restore a ` +
      'backup: within seconds it writes a copy. ./scripts/hubctl status says when that is verified, and what to do ' +
      'then';
  }
  const rescued = rescuedIn(dataDir);
  if (rescued !== undefined) {
    return `${there}. All that was stored is in ${rescued}: ${commandsFor(rescued, writtenPath(dataDir))}`;
  }
  return `${there}, but other files of a hub are beside it: restore a backup (CONFIRM_RESTORE=YES ` +
    './scripts/restore.sh <backup_dir>), or give a new hub an empty DATA_DIR';
}

function rescuedIn(dataDir: string): string | undefined {
  return readdirSync(dataDir).filter((name) => RESCUED.test(name)).sort().at(-1);
}

/** Throws SchemaError, which says what to do, if the file is no database, or damaged. */
export function openDatabaseFile(path: string, options: OpenOptions = {}): Db {
  try {
    return openDatabase(path, options);
  } catch (error) {
    throw explained(error, path);
  }
}

function explained(error: unknown, path: string): unknown {
  if (!isDamage(error)) return error;
  const what = codeOf(error) === 'SQLITE_NOTADB' ? 'is not a database, or its first page is damaged' : 'is damaged';
  return new SchemaError(`${writtenPath(path)} ${what}: restore a backup (the restore keeps this file): ` +
    'CONFIRM_RESTORE=YES ./scripts/restore.sh <backup_dir>', { cause: error });
}

/** Throws DataInUseError if migrations are pending while a hub runs: that hub would not know the new schema. */
export function assertNobodyRuns(db: Db, migrations: Migration[], dataDir: string): void {
  const isPending = (): boolean => pendingMigrations(db, migrations).length > 0;
  if (!isPending() || !isHubRunning(dataDir)) return;
  if (!isPending()) return; // another process of this version has just applied the migrations
  throw new DataInUseError(`migrations are pending while a hub runs on ${writtenPath(dataDir)}: stop it; ` +
    'nothing was changed');
}

/** The message that refuses a second hub on the same DATA_DIR. */
export function anotherHub({ dataDir }: Config): string {
  return `another hub runs on ${writtenPath(dataDir)}: stop it, or give this one another DATA_DIR`;
}

/** The `Hub` of a process, with the real clock, randomness and network. */
export function hubOf(program: Hub['program'], config: Config, db: Db, log: Log): Hub {
  const disk = createDisk(db, config, () => indexBytes(db));
  const outbound = createOutboundFetch({ userAgent: hubUserAgent(config), allow: config.outboundAllow });
  const hub = { program, config, db, log, outbound, disk, clock: Date.now, random: Math.random };
  return hub;
}
