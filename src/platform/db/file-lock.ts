import { existsSync } from 'node:fs';
import { isBusy, openDatabase, type Db } from './open-database.ts';

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
