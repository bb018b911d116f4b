import { statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export type StorageSizes = { databaseBytes: number; walBytes: number; freeBytes: number };

/** Sizes of the database's files, and what its file system has left for the hub. */
export function readStorageSizes(databasePath: string): StorageSizes {
  const { bavail, bsize } = statfsSync(dirname(databasePath));
  return { databaseBytes: bytesOf(databasePath), walBytes: bytesOf(`${databasePath}-wal`), freeBytes: bavail * bsize };
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
