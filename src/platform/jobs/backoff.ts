import { HOUR, SECOND, type Random } from '../clock.ts';

const FIRST_DELAY = 30 * SECOND;
const LONGEST_DELAY = HOUR;
const GROWTH = 4;

/**
 * Milliseconds until the next attempt, after `attempts` (1 or more) have failed: 30 s, 2 min, 8 min, 32 min, then
 * an hour, each ±25 % so that jobs which failed together do not come back together. Five attempts span about
 * 43 minutes (32 to 53), enough for a restart or a short outage at the other end.
 */
export function backoff(attempts: number, random: Random): number {
  const delay = Math.min(FIRST_DELAY * GROWTH ** (attempts - 1), LONGEST_DELAY);
  return Math.round(delay * (0.75 + random() / 2));
}
