import type { Clock } from '../clock.ts';
import type { Db } from './open-database.ts';

/** A rate limit admits at most `burst` acts at once, then one act every `everyMs` milliseconds. */
type Rate = { burst: number; everyMs: number };

/**
 * The generic cell rate algorithm (GCRA) stores one time: the theoretical arrival time `arrivesAt`, unix ms, at which
 * the next act would come if all acts came evenly. Returns in how many ms the next act is allowed; 0 means at once.
 */
export function waitFor(rate: Rate, arrivesAt: number, now: number): number {
  return Math.max(0, arrivalAfter(rate, arrivesAt, now) - latestArrival(rate, now));
}

/** The theoretical arrival time after one more act; a time from a clock that was ahead is replaced by `now`. */
export function arrivalAfter(rate: Rate, arrivesAt: number, now: number): number {
  const isPlausible = arrivesAt <= latestArrival(rate, now);
  return (isPlausible ? Math.max(arrivesAt, now) : now) + rate.everyMs;
}

/** The latest plausible theoretical arrival time: the time of a whole burst ahead of now. */
function latestArrival({ burst, everyMs }: Rate, now: number): number {
  return now + burst * everyMs;
}

export type Limit = Rate & { name: string };

/** Rate limits that survive restarts and that processes share. A clock set back allows one more burst at most. */
export function createRateLimitStore(db: Db, clock: Clock) {
  const select = db.prepare<[string], { arrivesAt: number }>('rate limit',
    'SELECT arrives_at AS arrivesAt FROM rate_limits WHERE key = ?');
  const upsert = db.prepare<[string, number]>('set rate limit', `
    INSERT INTO rate_limits (key, arrives_at) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET arrives_at = excluded.arrives_at`);
  const removeIdle = db.prepare<[number, number]>('remove idle rate limits', `
    DELETE FROM rate_limits
     WHERE key IN (SELECT key FROM rate_limits WHERE arrives_at < ? ORDER BY arrives_at LIMIT ?)`);

  const take = db.transaction('take rate limit', (limit: Limit, who: string): number => {
    const now = clock();
    const key = `${limit.name}:${who}`;
    const arrivesAt = select.get(key)?.arrivesAt ?? now;
    const wait = waitFor(limit, arrivesAt, now);
    if (wait > 0) return wait;
    upsert.run(key, arrivalAfter(limit, arrivesAt, now));
    return 0;
  });

  return {
    /** Counts an act and returns 0, or returns the ms until the limit admits it. */
    take,

    refund: db.transaction('refund rate limit', (limit: Limit, who: string): void => {
      const key = `${limit.name}:${who}`;
      const stored = select.get(key);
      if (stored) upsert.run(key, stored.arrivesAt - limit.everyMs);
    }),

    prune: (batch: number): number => removeIdle.run(clock(), batch).changes,
  };
}
