import { spaceNeeded } from '../features/backups/free-space.ts';
import { DAY, HOUR } from '../platform/clock.ts';

export const LEAST_FREE = 1024 ** 3; // bytes

/** A day, and time for the backup itself. */
export const OLDEST_BACKUP = DAY + 2 * HOUR;

/** Bytes below which free space is too little: the next backup has to fit. */
export function leastFree(databaseBytes: number, uploadBytes: number): number {
  return Math.max(LEAST_FREE, spaceNeeded(databaseBytes, uploadBytes));
}

/** Whether the newest verified backup is too old, or there is none. */
export function isStale(newestVerified: { createdAt: number } | null, now: number): boolean {
  return newestVerified === null || Math.abs(now - newestVerified.createdAt) > OLDEST_BACKUP;
}
