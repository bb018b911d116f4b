import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { byteSize } from '../../platform/in-words.ts';
import { diskUsage, fileBytes } from '../hub/disk-space.ts';
import { counts, type Hub } from '../hub/hub.ts';
import { LEAST_FREE, reserveIn, spaceNeeded } from './backup-folder.ts';
import { listInterim } from './backup-status.ts';

export type StorageSizes = { databaseBytes: number; walBytes: number; freeBytes: number };

/** The sizes of the database files, and the bytes that the hub may still write to their file system. */
export function readStorageSizes(databasePath: string): StorageSizes {
  const { free } = diskUsage(dirname(databasePath));
  return { databaseBytes: fileBytes(databasePath), walBytes: fileBytes(`${databasePath}-wal`), freeBytes: free };
}

/**
 * `times` multiplies the required free space of DATA_DIR and of BACKUP_DIR. `isBackupDisk`: only the disk of
 * BACKUP_DIR, another disk, has too little space.
 */
export function findSpace({ config, disk }: Hub, uploadBytes: number, times = 1) {
  const { databaseBytes, freeBytes } = readStorageSizes(config.databasePath);
  const hasBackups = existsSync(config.backupDir);
  const kept = hasBackups ? reserveIn(config.backupDir, config, disk.space().searchIndex) : 0;
  const needed = spaceNeeded(databaseBytes, uploadBytes) + kept;
  const forBackups = hasBackups ? diskUsage(config.backupDir).free : Infinity;
  const isDataLow = freeBytes < LEAST_FREE * times;
  const isLow = isDataLow || forBackups < needed * times;
  const isOther = hasBackups && statSync(config.backupDir).dev !== statSync(config.dataDir).dev;
  return { isLow, least: Math.min(freeBytes, forBackups), needed, isBackupDisk: isLow && !isDataLow && isOther };
}

/** What takes up the disk of DATA_DIR, in words, the largest first. */
export function spaceTaken(hub: Hub): string {
  const { used, emptyPages } = hub.disk.space();
  const { databaseBytes, walBytes } = readStorageSizes(hub.config.databasePath);
  const kept = counts(hub).read();
  const own = {
    uploads: kept.value('uploads_bytes'), cache: kept.value('attachment_cache_bytes'), backups: bytesOfBackups(hub),
    [emptyPages > 0 ? `database (${byteSize(emptyPages)} of it empty)` : 'database']: databaseBytes + walBytes,
  };
  const other = Math.max(0, used - Object.values(own).reduce((sum, bytes) => sum + bytes, 0));
  return Object.entries({ ...own, other }).filter(([, bytes]) => bytes > 0).sort(([, a], [, b]) => b - a)
    .map(([what, bytes]) => `${what} ${byteSize(bytes)}`).join(', ');
}

/** The bytes of all backups; 0 if BACKUP_DIR is on another disk or cannot be read. */
function bytesOfBackups({ config: { dataDir, backupDir } }: Hub): number {
  try {
    if (statSync(backupDir).dev !== statSync(dataDir).dev) return 0;
    const folders = readdirSync(backupDir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const interim = listInterim(backupDir).map(({ name }) => join(backupDir, 'interim', name)); // uploads: mostly links
    return [...folders.map(({ name }) => join(backupDir, name)), ...interim]
      .flatMap((folder) => readdirSync(folder).map((file) => fileBytes(join(folder, file))))
      .reduce((sum, bytes) => sum + bytes, 0);
  } catch {
    return 0;
  }
}
