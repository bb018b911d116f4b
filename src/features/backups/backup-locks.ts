import { join } from 'node:path';

/** Held while a backup is made, old ones are removed or one is restored. Nothing that backups need is deleted then. */
export function backupLock(dataDir: string): string {
  return join(dataDir, 'run', 'backup-lock.db');
}

/** Held, where it can be, while a backup in DATA_DIR is verified, so that retention does not take it away. */
export function verifyLock(dataDir: string): string {
  return join(dataDir, 'run', 'verify-lock.db');
}
