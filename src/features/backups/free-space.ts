import { statfs } from 'node:fs/promises';
import { byteSize } from '../../platform/http/readable.ts';
import { BackupError } from './backup-folder.ts';

const MARGIN = 64 * 1_024 * 1_024; // bytes: what the running hub may write meanwhile

export const LEAST_FREE = 1_024 ** 3; // bytes

/** Bytes that a backup may take at the most: neither copy nor archive is larger than what it is made of. */
export function spaceNeeded(databaseBytes: number, uploadBytes: number): number {
  return databaseBytes + uploadBytes + MARGIN;
}

/** Bytes below which free space is too little: the next backup has to fit. */
export function leastFree(databaseBytes: number, uploadBytes: number): number {
  return Math.max(LEAST_FREE, spaceNeeded(databaseBytes, uploadBytes));
}

/** Bytes that this user may still write there. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Refuses before anything is written, so that nothing fills the disk that the hub needs. */
export async function requireSpace(folder: string, needed: number, what = 'a backup'): Promise<void> {
  const free = await freeBytes(folder);
  if (free >= needed) return;
  const [wanted, left] = [needed, free].map((bytes) => byteSize(bytes, 2, 'GiB'));
  throw new BackupError(`there is too little space: ${what} may need ${wanted}, ${left} is free`);
}
