import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LEAST_FREE, spaceNeeded } from '../backups/backup-folder.ts';
import type { Hub } from '../hub/hub.ts';

export type StorageSizes = { databaseBytes: number; walBytes: number; freeBytes: number };

/** Sizes of the database's files, and what its file system has left for the hub. */
export function readStorageSizes(databasePath: string): StorageSizes {
  const freeBytes = freeOf(dirname(databasePath));
  return { databaseBytes: bytesOf(databasePath), walBytes: bytesOf(`${databasePath}-wal`), freeBytes };
}

/**
 * Whether little is left: less than a gigabyte beside the database, or less than the next backup may need where it will
 * lie. `times` as much of either has to be left. A BACKUP_DIR that is not there shows when a backup is made.
 */
export function findSpace({ config }: Hub, uploadBytes: number, times = 1) {
  const { databaseBytes, freeBytes } = readStorageSizes(config.databasePath);
  const needed = spaceNeeded(databaseBytes, uploadBytes);
  const forBackups = existsSync(config.backupDir) ? freeOf(config.backupDir) : Infinity;
  const isLow = freeBytes < LEAST_FREE * times || forBackups < needed * times;
  return { isLow, least: Math.min(freeBytes, forBackups), needed };
}

function freeOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
