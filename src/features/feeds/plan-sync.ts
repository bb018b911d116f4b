import { DAY, HOUR, MINUTE, type Random } from '../../platform/clock.ts';

const SHORTEST_INTERVAL = 15 * MINUTE;
const LONGEST_INTERVAL = DAY;

/** The interval between synchronisations of a feed that has published nothing yet. */
const UNKNOWN_RHYTHM = HOUR;
/** Polled at half the usual gap between its posts, a feed shows a new post on average after a quarter of the gap. */
const SHARE_OF_GAP = 0.5;

type Rhythm = {
  publishedAt: number[]; // the publishing times of the feed's newest posts, in unix ms and in any order
  askedFor: number; // ms between fetches that the publisher asks for (headers, ttl, sy:updatePeriod), or 0
};

/** Milliseconds from a successful synchronisation of a feed to the next synchronisation: 15 minutes to 24 hours. */
export function planNextSync({ publishedAt, askedFor }: Rhythm, now: number, random: Random): number {
  return jittered(usualGap(publishedAt, now) * SHARE_OF_GAP, clamp(askedFor), random);
}

/** Milliseconds until a source's next job after a job used up its attempts: about 1 h, then doubled, at most 24 h. */
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
 * Jitter of up to 10 %, so that sources that were added together are not always due together: it shortens the interval
 * or, so far as that would be shorter than `shortest`, lengthens it.
 */
function jittered(wanted: number, shortest: number, random: Random): number {
  const interval = Math.max(clamp(wanted), shortest);
  const earliest = Math.max(interval * 0.9, shortest);
  const latest = Math.min(earliest + interval * 0.1, LONGEST_INTERVAL);
  return Math.round(earliest + random() * (latest - earliest));
}
