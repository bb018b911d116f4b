import { DAY, HOUR, MINUTE, type Random } from '../../platform/clock.ts';

const SHORTEST_INTERVAL = 15 * MINUTE;
const LONGEST_INTERVAL = DAY;

/** Before a feed has shown how often it publishes. */
const UNKNOWN_RHYTHM = HOUR;
/** Polling at half the usual gap finds a post, on average, a quarter of a gap after it was published. */
const SHARE_OF_GAP = 0.5;

type Rhythm = {
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
  return jittered(usualGap(publishedAt, now) * SHARE_OF_GAP, clamp(askedFor), random);
}

/** Milliseconds until a source is tried again after a job for it failed for good: 1 h, doubling, at most 24 h. */
export function planAfterFailure(failures: number, random: Random): number {
  return jittered(HOUR * 2 ** Math.min(failures, 10), SHORTEST_INTERVAL, random);
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

/**
 * A tenth of the interval up or down, so that sources added together drift apart: less, but not less than
 * `shortest`, else more, but not more than a day.
 */
function jittered(wanted: number, shortest: number, random: Random): number {
  const interval = Math.max(clamp(wanted), shortest);
  const earliest = Math.max(interval * 0.9, shortest);
  const latest = Math.min(earliest + interval * 0.1, LONGEST_INTERVAL);
  return Math.round(earliest + random() * (latest - earliest));
}
