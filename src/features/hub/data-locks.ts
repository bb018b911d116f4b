import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Db, isBusy, openDatabase } from '../../platform/db/open-database.ts';

export type FileLock = { release(): void };

/** How long `takeFileLock` waits: longer than `isFileLocked` holds a lock to check it. */
const PATIENCE_MS = 250;

/**
 * Undefined if the lock is taken. It is a write lock of SQLite, which the system releases when its holder dies; the
 * lock file stays, without any table.
 */
export function takeFileLock(path: string): FileLock | undefined {
  const db = takeWriteLock(path, PATIENCE_MS);
  return db && { release: () => db.close() };
}

/** Whether any process, this one too, holds the lock on a file. Never creates a missing file. */
export function isFileLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  const db = takeWriteLock(path, 0);
  db?.close();
  return db === undefined;
}

function takeWriteLock(path: string, patienceMs: number): Db | undefined {
  let db: Db | undefined;
  try {
    db = openDatabase(path);
    db.pragma(`busy_timeout = ${patienceMs}`);
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db?.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

const POLL_MS = 50;

/** Held while a backup is made, removed or restored: meanwhile the hub deletes no file that a backup needs. */
export function backupLock(dataDir: string): string {
  return join(dataDir, 'run', 'backup-lock.db');
}

/**
 * `place`: the number of a worker or a backup verification, each of which has a lock file of its own. The lock file
 * `verify-lock.db`, without a number, is locked for a moment as a verification begins, and as a backup is removed.
 */
function lockPath(dataDir: string, who: 'web' | 'verify' | 'worker', place?: number): string {
  return join(dataDir, 'run', place === undefined ? `${who}-lock.db` : `${who}-lock-${place}.db`);
}

function takePlace(dataDir: string, who: 'verify' | 'worker'): FileLock {
  for (let place = 1; ; place++) {
    const path = lockPath(dataDir, who, place);
    const lock = isFileLocked(path) ? undefined : takeFileLock(path);
    if (lock) return lock;
  }
}

function isAnyPlaceTaken(dataDir: string, who: 'verify' | 'worker'): boolean {
  for (let place = 1; existsSync(lockPath(dataDir, who, place)); place++) {
    if (isFileLocked(lockPath(dataDir, who, place))) return true;
  }
  return false;
}

/** Undefined if another web process uses DATA_DIR. Several workers may run: they share the job queue. */
export function lockForRunning(dataDir: string, program: 'web' | 'worker'): FileLock | undefined {
  return program === 'web' ? takeFileLock(lockPath(dataDir, 'web')) : takePlace(dataDir, 'worker');
}

/** Whether any web or worker process uses this DATA_DIR, on this machine itself or in a container on it. */
export function isHubRunning(dataDir: string): boolean {
  return isFileLocked(lockPath(dataDir, 'web')) || isWorkerRunning(dataDir);
}

export function isWorkerRunning(dataDir: string): boolean {
  return isAnyPlaceTaken(dataDir, 'worker');
}

/** Takes the lock of a backup verification in DATA_DIR. Old backups are not removed while any verification runs. */
export async function lockForVerifying(dataDir: string): Promise<FileLock> {
  let gate = takeFileLock(lockPath(dataDir, 'verify'));
  for (; !gate; gate = takeFileLock(lockPath(dataDir, 'verify'))) await delay(POLL_MS);
  try {
    return takePlace(dataDir, 'verify');
  } finally {
    gate.release();
  }
}

/** Blocks new backup verifications until released; undefined if one runs or begins, or a backup is removed. */
export function lockForRemoving(dataDir: string): FileLock | undefined {
  const gate = takeFileLock(lockPath(dataDir, 'verify'));
  let isFree = false;
  try {
    isFree = !isAnyPlaceTaken(dataDir, 'verify');
  } finally {
    if (!isFree) gate?.release();
  }
  return isFree ? gate : undefined;
}
