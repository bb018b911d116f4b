import { statfsSync, statSync } from 'node:fs';

/** Bytes of the file system that a folder lies on. `free`: what this account may still write. */
export function diskUsage(folder: string): { total: number; used: number; free: number } {
  const { bavail, bfree, blocks, bsize } = statfsSync(folder);
  return { total: blocks * bsize, used: (blocks - bfree) * bsize, free: bavail * bsize };
}

/** Bytes of a file; 0 if it does not exist. */
export function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
