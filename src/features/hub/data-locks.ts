import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Db, isBusy, openDatabase } from '../../platform/db/open-database.ts';

export type FileLock = { release(): void };

/** Long enough that a glance by isFileLocked, which takes the lock for a moment, does not turn a taker away. */
const PATIENCE_MS = 250;

/**
 * Takes the lock between processes that this file stands for, or returns undefined when another has it. The lock is
 * SQLite's write lock on it, so the system frees it when its holder dies; the file itself says nothing and is
 * never deleted.
 */
export function takeFileLock(path: string): FileLock | undefined {
  const db = takeWriteLock(path, PATIENCE_MS);
  return db && { release: () => db.close() };
}

/** Whether a process, this one included, holds the lock. Makes no file where there is none. */
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

/** Held while a backup is made, old ones are removed or one is restored. Nothing that backups need is deleted then. */
export function backupLock(dataDir: string): string {
  return join(dataDir, 'run', 'backup-lock.db');
}

/** Held for a moment by whoever begins to verify a backup in DATA_DIR, and while one is taken away. */
function gatePath(dataDir: string): string {
  return join(dataDir, 'run', 'verify-lock.db');
}

/** The lock file of one of several verifications or workers that run at once; they are numbered from 1. */
function placePath(dataDir: string, who: 'verify' | 'worker', place: number): string {
  return join(dataDir, 'run', `${who}-lock-${place}.db`);
}

function takePlace(dataDir: string, who: 'verify' | 'worker'): FileLock {
  for (let place = 1; ; place++) {
    const path = placePath(dataDir, who, place);
    const lock = isFileLocked(path) ? undefined : takeFileLock(path);
    if (lock) return lock;
  }
}

function isAnyPlaceTaken(dataDir: string, who: 'verify' | 'worker'): boolean {
  for (let place = 1; existsSync(placePath(dataDir, who, place)); place++) {
    if (isFileLocked(placePath(dataDir, who, place))) return true;
  }
  return false;
}

function webLock(dataDir: string): string {
  return join(dataDir, 'run', 'web-lock.db');
}

/**
 * Held by web and worker for as long as they run. Undefined for a second web: a hub has one, and so a second hub on the
 * data is refused. Workers may be several, since they share the queue.
 */
export function lockForRunning(dataDir: string, program: 'web' | 'worker'): FileLock | undefined {
  return program === 'web' ? takeFileLock(webLock(dataDir)) : takePlace(dataDir, 'worker');
}

/** Whether a web or a worker has opened the data and still runs, on this machine or in a container of it. */
export function isHubRunning(dataDir: string): boolean {
  return isFileLocked(webLock(dataDir)) || isAnyPlaceTaken(dataDir, 'worker');
}

/** Shared by all who verify a backup in DATA_DIR: until the last of them lets go, retention takes none away. */
export async function lockForVerifying(dataDir: string): Promise<FileLock> {
  const gate = await takeGate(dataDir);
  try {
    return takePlace(dataDir, 'verify');
  } finally {
    gate.release();
  }
}

/** Keeps verifications from beginning, for the moment in which a backup is taken away; undefined while one runs. */
export function lockForRemoving(dataDir: string): FileLock | undefined {
  const gate = takeFileLock(gatePath(dataDir));
  let isFree = false;
  try {
    isFree = !isAnyPlaceTaken(dataDir, 'verify');
  } finally {
    if (!isFree) gate?.release();
  }
  return isFree ? gate : undefined;
}

async function takeGate(dataDir: string): Promise<FileLock> {
  for (;;) {
    const gate = takeFileLock(gatePath(dataDir));
    if (gate) return gate;
    await delay(POLL_MS);
  }
}
