import { DAY, HOUR, MINUTE, type Random } from '../../platform/clock.ts';

export const SHORTEST_INTERVAL = 15 * MINUTE;
export const LONGEST_INTERVAL = DAY;

/** Before a feed has shown how often it publishes. */
const UNKNOWN_RHYTHM = HOUR;
/** Polling at half the usual gap finds a post, on average, a quarter of a gap after it was published. */
const SHARE_OF_GAP = 0.5;

export type Rhythm = {
  /** Publishing times of the newest posts, unix ms, any order. */
  publishedAt: number[];
  /** What the publisher asks for (Cache-Control, Expires, RSS ttl), ms; 0 for nothing. */
  askedFor: number;
};

/**
 * Milliseconds until the next sync of a source that answered: half the usual gap between its posts, growing while
 * it is silent, at least what the publisher asks for, from 15 minutes to 24 hours, with jitter.
 */
export function planNextSync({ publishedAt, askedFor }: Rhythm, now: number, random: Random): number {
  const interval = Math.max(usualGap(publishedAt, now) * SHARE_OF_GAP, askedFor);
  return jittered(clamp(interval), random);
}

/** Milliseconds until a source is tried again after a job for it failed for good: 1 h, doubling, at most 24 h. */
export function planAfterFailure(failures: number, random: Random): number {
  return jittered(clamp(HOUR * 2 ** Math.min(failures, 10)), random);
}

function usualGap(publishedAt: number[], now: number): number {
  const times = publishedAt.filter((at) => at <= now).sort((a, b) => b - a).slice(0, 10);
  const newest = times[0];
  const oldest = times.at(-1);
  if (newest === undefined || oldest === undefined) return UNKNOWN_RHYTHM / SHARE_OF_GAP;
  const average = (newest - oldest) / Math.max(1, times.length - 1);
  const silence = now - newest;
  return Math.max(average, silence / 4);
}

function clamp(interval: number): number {
  return Math.min(Math.max(interval, SHORTEST_INTERVAL), LONGEST_INTERVAL);
}

/** Up to 10 % less, so that sources added together drift apart, without leaving the bounds. */
function jittered(interval: number, random: Random): number {
  return Math.round(Math.max(interval * (1 - random() / 10), SHORTEST_INTERVAL));
}
