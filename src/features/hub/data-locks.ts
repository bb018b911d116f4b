import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Db, isBusy, openDatabase } from '../../platform/db/open-database.ts';

export type FileLock = { release(): void };

/** Longer than `isFileLocked` holds the lock, so that its check does not refuse another process. */
const PATIENCE_MS = 250;

/**
 * Takes a lock between processes; undefined if another process holds it. The lock is SQLite's write lock on the file,
 * so the system releases it when the holder dies. The file stays empty and is never deleted.
 */
export function takeFileLock(path: string): FileLock | undefined {
  const db = takeWriteLock(path, PATIENCE_MS);
  return db && { release: () => db.close() };
}

/** Whether any process, this one included, holds the lock. Never creates the file. */
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

/** Held while a backup is made, removed or restored: meanwhile nothing that backups need is deleted. */
export function backupLock(dataDir: string): string {
  return join(dataDir, 'run', 'backup-lock.db');
}

/**
 * A lock file. `verify` is held briefly when a verification in DATA_DIR begins, and while a backup is removed. With a
 * `place`, it is that of one of several concurrent verifications or workers, numbered from 1.
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

/**
 * Held by web and worker while they run. Undefined for a second web process, so that no second hub starts on the data.
 * Several workers are allowed, because they share the queue.
 */
export function lockForRunning(dataDir: string, program: 'web' | 'worker'): FileLock | undefined {
  return program === 'web' ? takeFileLock(lockPath(dataDir, 'web')) : takePlace(dataDir, 'worker');
}

/** Whether a web or worker process of this data runs, on this machine or in one of its containers. */
export function isHubRunning(dataDir: string): boolean {
  return isFileLocked(lockPath(dataDir, 'web')) || isAnyPlaceTaken(dataDir, 'worker');
}

/** Shared by all verifications in DATA_DIR: retention removes no backup until the last one ends. */
export async function lockForVerifying(dataDir: string): Promise<FileLock> {
  let gate = takeFileLock(lockPath(dataDir, 'verify'));
  for (; !gate; gate = takeFileLock(lockPath(dataDir, 'verify'))) await delay(POLL_MS);
  try {
    return takePlace(dataDir, 'verify');
  } finally {
    gate.release();
  }
}

/** Blocks new verifications while a backup is removed; undefined while one is running. */
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
