import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isFileLocked, takeFileLock, type FileLock } from '../../platform/db/file-lock.ts';

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
