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

/** Of everyone who verifies at the same time; they are numbered from 1 without a gap. */
function placePath(dataDir: string, place: number): string {
  return join(dataDir, 'run', `verify-lock-${place}.db`);
}

/** Shared by all who verify a backup in DATA_DIR: until the last of them lets go, retention takes none away. */
export async function lockForVerifying(dataDir: string): Promise<FileLock> {
  const gate = await takeGate(dataDir);
  try {
    for (let place = 1; ; place++) {
      const path = placePath(dataDir, place);
      const lock = isFileLocked(path) ? undefined : takeFileLock(path);
      if (lock) return lock;
    }
  } finally {
    gate.release();
  }
}

/** Keeps verifications from beginning, for the moment in which a backup is taken away; undefined while one runs. */
export function lockForRemoving(dataDir: string): FileLock | undefined {
  const gate = takeFileLock(gatePath(dataDir));
  let isFree = false;
  try {
    isFree = !isAnyVerified(dataDir);
  } finally {
    if (!isFree) gate?.release();
  }
  return isFree ? gate : undefined;
}

function isAnyVerified(dataDir: string): boolean {
  for (let place = 1; existsSync(placePath(dataDir, place)); place++) {
    if (isFileLocked(placePath(dataDir, place))) return true;
  }
  return false;
}

async function takeGate(dataDir: string): Promise<FileLock> {
  for (;;) {
    const gate = takeFileLock(gatePath(dataDir));
    if (gate) return gate;
    await delay(POLL_MS);
  }
}
