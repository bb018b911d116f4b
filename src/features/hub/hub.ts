import { SECOND, type Clock, type Random } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createThrottledWrites } from '../../platform/db/batched-writes.ts';
import { createRateLimitStore } from '../../platform/db/rate-limit-store.ts';
import { createJobQueue } from '../../platform/jobs/job-queue.ts';
import { createHeartbeats } from '../../platform/jobs/scheduler.ts';
import { tryLater, type HttpError } from '../../platform/http/reply.ts';
import type { Log } from '../../platform/log.ts';
import { createBufferedCounters, createCounters } from '../../platform/metrics/counters.ts';
import type { OutboundFetch } from '../../platform/net/outbound-fetch.ts';
import { LIMITS, type LimitName, type NamedLimit } from './limits.ts';
import type { Config } from './read-config.ts';

/** The handle that every act takes first: what differs between a process and a test. Made once per process. */
export type Hub = {
  db: Db;
  config: Config;
  clock: Clock;
  random: Random;
  outbound: OutboundFetch;
  log: Log;
  program: 'web' | 'worker' | 'hubctl';
};

/** What a store needs. A database that is no running hub's, such as a restored one, can be given alone. */
export type StoreHub = Pick<Hub, 'db' | 'clock'>;

const stores: ((hub: Hub) => unknown)[] = [];

/** Makes a value at the first call for a hub and gives the same one at every later call. */
export function once<Needs extends object, Value>(make: (hub: Needs) => Value): (hub: Needs) => Value {
  const made = new WeakMap<object, { value: Value }>();
  return (hub) => {
    const known = made.get(hub);
    if (known) return known.value;
    const value = make(hub);
    made.set(hub, { value });
    return value;
  };
}

/** As `once`, for what holds prepared statements: `openStores` makes it before the process listens. */
export function store<Value>(make: (hub: StoreHub) => Value): (hub: StoreHub) => Value {
  const find = once(make);
  stores.push(find);
  return find;
}

/** Prepares every statement of the features that are loaded, so that a mistake in one stops the start. */
export function openStores(hub: Hub): void {
  jobs(hub);
  for (const find of stores) find(hub);
}

/** Numbers of the table `counts`, for metrics. */
export const counts = store(({ db }) => createCounters(db));

/** For what is counted too often to be written each time; a scrape and the end of the process write it. */
export const bufferedCounts = once((hub: StoreHub) => createBufferedCounters(counts(hub)));

/** The durable queue. Enqueue through `enqueue`, which knows what each kind of job requires. */
export const jobs = once(({ db, clock, random }: Pick<Hub, 'db' | 'clock' | 'random'>) =>
  createJobQueue(db, clock, random));

/** When web and worker were last seen. */
export const heartbeats = store(({ db, clock }) => createHeartbeats(db, clock));

/** Rate limits that all processes share. */
export const limits = store(({ db, clock }) => createRateLimitStore(db, clock));

/** Counts one try of `who` against a limit, or throws 429. */
export function takeTurn(hub: StoreHub, limit: NamedLimit, who: string): void {
  const wait = limits(hub).take(limit, who);
  if (wait > 0) throw metLimit(hub, limit.name, wait / SECOND);
}

/** Counts a request that meets a limit and returns its refusal; `seconds` until it is worth trying again. */
export function metLimit(hub: StoreHub, limit: LimitName, seconds: number, reason = 'Too many attempts.'): HttpError {
  bufferedCounts(hub).add('limits_refused_total', limit);
  return tryLater(LIMITS[limit][0], seconds, reason);
}

/** Large changes in transactions so short that others hardly wait; what is asked for at once takes turns. */
export const throttled = store(({ db }) => createThrottledWrites(db));
