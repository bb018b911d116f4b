import { SECOND, type Clock, type Random } from '../../platform/clock.ts';
import { createThrottledWrites } from '../../platform/db/batched-writes.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createRateLimitStore } from '../../platform/db/rate-limit-store.ts';
import { HttpError, tryLater } from '../../platform/http/reply.ts';
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

/** The dependencies of every action, given as its first parameter. Each process has one hub; tests build their own. */
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

/** The dependencies of a store. The database may belong to no running hub: a restored database, for example. */
export type StoreHub = Pick<Hub, 'db' | 'clock'>;

const stores: ((hub: Hub) => unknown)[] = [];

/** Memoizes `make` per hub. */
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

/** As `once`, for values with prepared statements: `openStores` creates stores before the process listens. */
export function store<Value>(make: (hub: StoreHub) => Value): (hub: StoreHub) => Value {
  const find = once(make);
  stores.push(find);
  return find;
}

/** Prepares every SQL statement of the loaded features, so that an invalid statement stops the start. */
export function openStores(hub: Hub): void {
  jobs(hub);
  for (const find of stores) find(hub);
}

/** When this process began (unix ms). Call `startedAt` once at start: the first call sets the time. */
export const startedAt = once(({ clock }: Pick<Hub, 'clock'>) => clock());

/** Counters in the table `counts`, for metrics. */
export const counts = store(({ db }) => createCounters(db));

/** Counters kept in memory, written at a scrape and when the process ends: for frequent events. */
export const bufferedCounts = once((hub: StoreHub) => createBufferedCounters(counts(hub)));

/** The durable job queue. To add a job, call `enqueue`: this function applies the settings of the job's kind. */
export const jobs = once(({ db, clock }: Pick<Hub, 'db' | 'clock'>) => createJobQueue(db, clock));

/** When the web and worker processes were last seen. */
export const heartbeats = store(({ db, clock }) => createHeartbeats(db, clock));

/** Counts and durations of the answers that this process has given, for metrics. */
export const httpMetrics = once((_hub: Hub) => createHttpMetrics());

/** How long requests have waited before the web process began to handle them, for metrics. */
export const turnWaits = once((_hub: Hub) => createTurnWaits());

/** Memory, CPU time and event loop lag of this process, for metrics. */
export const processMetrics = once(({ clock }: Hub) => createProcessMetrics({ startedAtSeconds: clock() / SECOND }));

/** How many seconds the longest-waiting due job of any kind has waited; 0 if no job is due. */
export function oldestDueSeconds(hub: Hub): number {
  const labels = counts(hub).read().labels('jobs'); // kind,state of every kind that was ever queued
  const kinds = new Set(labels.map((label) => label.slice(0, label.lastIndexOf(','))));
  return Math.max(0, ...[...kinds].map((kind) => Math.floor(jobs(hub).oldestDueSeconds(kind))));
}

/** Rate limits that all processes share. */
export const limits = store(({ db, clock }) => createRateLimitStore(db, clock));

/** Counts one attempt of `who` against a rate limit; throws 429 if the limit is reached. */
export function takeTurn(hub: StoreHub, limit: NamedLimit, who: string): void {
  takeTurns(hub, [[limit, who]]);
}

/** Counts one attempt against each limit and returns a refund function. At a limit, throws 429 and counts nothing. */
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

/** Counts a request that a limit refuses, for callers that build the refusal themselves. */
export function countMetLimit(hub: StoreHub, limit: LimitName): void {
  bufferedCounts(hub).add('limits_refused_total', limit);
}

/** Counts a request that a limit refuses and returns the error to throw; `seconds`: the value of Retry-After. */
export function metLimit(hub: StoreHub, limit: LimitName, seconds: number, reason = 'Too many attempts.'): HttpError {
  countMetLimit(hub, limit);
  const [status] = LIMITS[limit];
  return status === 429 || status === 503 ? tryLater(status, seconds, reason) : new HttpError(status, reason);
}

/**
 * Splits large changes into short transactions, so that other writers hardly wait; concurrent changes take turns. On a
 * nearly full disk the steps are smaller, with a checkpoint after each.
 */
export const throttled = once(({ db, disk }: Hub) => createThrottledWrites(db, () => isTight(disk)));

/** A number, or a function that reads the number from the settings. */
type Configurable = number | ((config: Config) => number);

/** One kind of job, for queue, worker and restore. `app/job-kinds.ts` lists all kinds. */
export type JobKind<Payload> = {
  name: string;
  /** The dedupe key: at most one live job, waiting or running, per kind and key. */
  key(payload: Payload): string;
  /** Tries before the job is dead-lettered. */
  attempts: Configurable;
  /** How many jobs of this kind a worker runs at once. */
  concurrency: Configurable;
  /**
   * Whether a restore keeps waiting jobs of this kind. A waiting job may have run after the backup was made: use
   * 'discard' if the job must not run twice.
   */
  afterRestore: 'run' | 'discard';
  /** Whether jobs of this kind store content from other servers; these jobs wait while `mayRecord` is false. */
  stores: boolean;
  /**
   * Runs the job, possibly more than once. Throw an error to fail the job; stop when the signal aborts (deadline,
   * shutdown). The returned function runs in the transaction that completes the job, and may run only SQL.
   */
  run(hub: Hub, payload: Payload, signal: AbortSignal, job: Job): Promise<void | Effects>;
  /** Called in the transaction that records a failure, also for a dead-lettered job whose worker died. */
  failed?(hub: Hub, payload: Payload, error: Error, fate: Fate, job: Job): void;
};

/**
 * `lane`: a key, such as a host, for which at most one job runs. `owner`: the account; accounts take turns. `rank`:
 * jobs of one owner run by ascending rank. `runAt`: unix ms, by default now.
 */
type EnqueueOptions = { lane?: string; owner?: number; rank?: Rank; runAt?: number };

/** Enqueues a job, in the caller's transaction if there is one. False if a live job has the same kind and key. */
export function enqueue<Payload>(
  hub: Hub, kind: JobKind<Payload>, payload: Payload, options: EnqueueOptions = {},
): boolean {
  const maxAttempts = configured(hub, kind.attempts);
  return jobs(hub).enqueue({ kind: kind.name, payload, dedupeKey: kind.key(payload), maxAttempts, ...options });
}

/** Resolves a number of a job kind, from the settings if it is configurable. */
export function configured({ config }: Hub, number: Configurable): number {
  return typeof number === 'number' ? number : number(config);
}
