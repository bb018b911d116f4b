import { SECOND, type Clock, type Random } from '../../platform/clock.ts';
import { createThrottledWrites } from '../../platform/db/batched-writes.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createRateLimitStore } from '../../platform/db/rate-limit-store.ts';
import { HttpError, tryLater } from '../../platform/http/http-error.ts';
import type { Effects, Fate } from '../../platform/jobs/finish-jobs.ts';
import type { Job } from '../../platform/jobs/claim-jobs.ts';
import { createJobQueue, type Rank } from '../../platform/jobs/job-queue.ts';
import { createHeartbeats } from '../../platform/jobs/scheduler.ts';
import type { Log } from '../../platform/log.ts';
import { createBufferedCounters, createCounters } from '../../platform/metrics/counters.ts';
import { createHttpMetrics, createTurnWaits } from '../../platform/metrics/http-metrics.ts';
import { createProcessMetrics } from '../../platform/metrics/process-metrics.ts';
import type { OutboundFetch } from '../../platform/net/outbound-fetch.ts';
import { isTight, type Disk } from './disk-space.ts';
import { LIMITS, type LimitName, type NamedLimit } from './limits.ts';
import type { Config } from './read-config.ts';

/** The parts of a hub, which most functions take as their first parameter. Each process has one hub. */
export type Hub = {
  db: Db;
  config: Config;
  clock: Clock;
  random: Random;
  outbound: OutboundFetch;
  disk: Disk;
  log: Log;
  program: 'web' | 'worker' | 'hubctl';
};

/** The database and the clock of a hub, or of a restored database without a hub: all that a store of rows needs. */
export type StoreHub = Pick<Hub, 'db' | 'clock'>;

const stores: ((hub: Hub) => unknown)[] = [];

/** Returns a function that calls `make` once for each hub, and then returns the same value for this hub. */
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

/** Returns a function that makes a store (prepared SQL statements) once for each hub. `openStores` makes all stores. */
export function store<Value>(make: (hub: StoreHub) => Value): (hub: StoreHub) => Value {
  const find = once(make);
  stores.push(find);
  return find;
}

/** Prepares the SQL statements of all loaded stores, so that the hub does not start with an invalid statement. */
export function openStores(hub: Hub): void {
  for (const find of stores) find(hub);
}

/** When this process began, unix ms: the time of the first call, so call it at the start. */
export const startedAt = once(({ clock }: Pick<Hub, 'clock'>) => clock());

export const counts = store(({ db }) => createCounters(db));

/** Counters of frequent events in web, kept in memory and written to the database at a scrape and at its end. */
export const bufferedCounts = once((hub: StoreHub) => createBufferedCounters(counts(hub)));

/** The job queue in the database. To add a job, call `enqueue`, which applies the settings of the job's kind. */
export const jobs = store(({ db, clock }) => createJobQueue(db, clock));

export const heartbeats = store(({ db, clock }) => createHeartbeats(db, clock));
export const httpMetrics = once((_hub: Hub) => createHttpMetrics());
export const turnWaits = once((_hub: Hub) => createTurnWaits());
export const processMetrics = once(({ clock }: Hub) => createProcessMetrics({ startedAtSeconds: clock() / SECOND }));

/** For how long the longest-waiting job of any kind has been due; 0 if none is. */
export function oldestDueSeconds(hub: Hub): number {
  // The counts of jobs have a label "kind,state" for each kind that was ever queued, so no query reads all jobs.
  const labels = counts(hub).read().labels('jobs');
  const kinds = new Set(labels.map((label) => label.split(',', 1)[0] ?? ''));
  return Math.max(0, ...[...kinds].map((kind) => Math.floor(jobs(hub).oldestDueSeconds(kind))));
}

/** The rate limits, whose counts all processes of the hub share. */
export const limits = store(({ db, clock }) => createRateLimitStore(db, clock));

/** Counts one attempt of the client `who` against a rate limit; throws 429 if the limit is reached. */
export function takeTurn(hub: StoreHub, limit: NamedLimit, who: string): void {
  takeTurns(hub, [[limit, who]]);
}

/** Returns a function that takes the attempts back. If a limit is reached, throws 429 and counts no attempt. */
export function takeTurns(hub: StoreHub, wanted: (readonly [NamedLimit, who: string])[]): () => void {
  const taken: typeof wanted = [];
  const giveBack = (): void => taken.forEach(([limit, who]) => limits(hub).refund(limit, who));
  for (const [limit, who] of wanted) {
    const wait = limits(hub).take(limit, who);
    if (wait > 0) {
      giveBack();
      throw metLimit(hub, limit.name, wait / SECOND);
    }
    taken.push([limit, who]);
  }
  return giveBack;
}

/** Counts a request that a limit has refused, for callers that make the reply themselves. */
export function countMetLimit(hub: StoreHub, limit: LimitName): void {
  bufferedCounts(hub).add('limits_refused_total', limit);
}

/** Counts a request that a limit has refused, and returns the error to throw. `seconds`: for Retry-After. */
export function metLimit(hub: StoreHub, limit: LimitName, seconds: number, reason = 'Too many attempts.'): HttpError {
  countMetLimit(hub, limit);
  const [status] = LIMITS[limit];
  return status === 429 || status === 503 ? tryLater(status, seconds, reason) : new HttpError(status, reason);
}

/** Splits a large change into short transactions, smaller on a nearly full disk, between which other writers write. */
export const throttled = once(({ db, disk }: Hub) => createThrottledWrites(db, () => isTight(disk)));

type Configurable = number | ((config: Config) => number);

/** One kind of job, as the queue, the worker and a restore need it. `app/job-kinds.ts` lists all kinds of jobs. */
export type JobKind<Payload> = {
  name: string;
  key(payload: Payload): string; // for each kind and key, at most one job waits or runs
  attempts: Configurable; // the job is dead-lettered after this many failed attempts
  concurrency: Configurable; // in one worker
  /** Whether a restored backup's waiting jobs of this kind run, though they may have run before the restore already. */
  afterRestore: 'run' | 'discard';
  /** Whether jobs of this kind store new sources, posts, texts or files; such jobs wait while `mayRecord` is false. */
  stores: boolean;
  /**
   * May run more than once for a job. To fail the job, throw an error. Stop when the signal aborts. The returned
   * function runs in the transaction that completes the job, so it may only run SQL.
   */
  run(hub: Hub, payload: Payload, signal: AbortSignal, job: Job): Promise<void | Effects>;
  /** Called in the transaction that records a job's failure, also if the job's worker died at the last attempt. */
  failed?(hub: Hub, payload: Payload, error: Error, fate: Fate, job: Job): void;
};

/**
 * `lane`: at most one job with this key, such as a host, runs at a time. `owner`: the account of the job; accounts take
 * turns. `rank`: jobs with lower ranks mostly run first. `runAt`: the earliest time (unix ms); by default now.
 */
type EnqueueOptions = { lane?: string; owner?: number; rank?: Rank; runAt?: number };

/** Adds a job to the queue, in an open transaction if any. Returns false if an equal job already waits or runs. */
export function enqueue<Payload>(
  hub: Hub, kind: JobKind<Payload>, payload: Payload, options: EnqueueOptions = {},
): boolean {
  const maxAttempts = configured(hub, kind.attempts);
  return jobs(hub).enqueue({ kind: kind.name, payload, dedupeKey: kind.key(payload), maxAttempts, ...options });
}

export function configured({ config }: Hub, number: Configurable): number {
  return typeof number === 'number' ? number : number(config);
}
