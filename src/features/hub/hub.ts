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
import type { OutboundFetch } from '../../platform/net/outbound-fetch.ts';
import { isTight, type Disk } from './disk-space.ts';
import { LIMITS, type LimitName, type NamedLimit } from './limits.ts';
import type { Config } from './read-config.ts';

/** The handle that every act takes first: what differs between a process and a test. Made once per process. */
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

/** When this process began (unix ms). Call it once at start: the first call sets the time. */
export const startedAt = once(({ clock }: Pick<Hub, 'clock'>) => clock());

/** Numbers of the table `counts`, for metrics. */
export const counts = store(({ db }) => createCounters(db));

/** For what is counted too often to be written each time; a scrape and the end of the process write it. */
export const bufferedCounts = once((hub: StoreHub) => createBufferedCounters(counts(hub)));

/** The durable queue. Enqueue through `enqueue`, which knows what each kind of job requires. */
export const jobs = once(({ db, clock }: Pick<Hub, 'db' | 'clock'>) => createJobQueue(db, clock));

/** When web and worker were last seen. */
export const heartbeats = store(({ db, clock }) => createHeartbeats(db, clock));

/** Rate limits that all processes share. */
export const limits = store(({ db, clock }) => createRateLimitStore(db, clock));

/** Counts one try of `who` against a limit, or throws 429. */
export function takeTurn(hub: StoreHub, limit: NamedLimit, who: string): void {
  takeTurns(hub, [[limit, who]]);
}

/** Counts one try against each of these limits and returns what gives it back; throws 429, and then none is counted. */
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

/** Counts a request that meets a limit and returns its refusal; `seconds` until it is worth trying again. */
export function metLimit(hub: StoreHub, limit: LimitName, seconds: number, reason = 'Too many attempts.'): HttpError {
  bufferedCounts(hub).add('limits_refused_total', limit);
  const [status] = LIMITS[limit];
  return status === 429 || status === 503 ? tryLater(status, seconds, reason) : new HttpError(status, reason);
}

/**
 * Large changes in transactions so short that others hardly wait; what is asked for at once takes turns. On a disk that
 * is nearly full they are smaller, and the log of the database is emptied between them.
 */
export const throttled = once(({ db, disk }: Hub) => createThrottledWrites(db, () => isTight(disk)));

/** A number, or the setting that it comes from. */
type Configurable = number | ((config: Config) => number);

/** One kind of job: everything that queue, worker and restore must know of it. `app/job-kinds.ts` lists all kinds. */
export type JobKind<Payload> = {
  name: string;
  /** At most one live job per kind and key; blocks also while that job runs. */
  key(payload: Payload): string;
  /** Tries before the job is dead-lettered. */
  attempts: Configurable;
  /** How many a worker runs at once. */
  concurrency: Configurable;
  /**
   * Whether a job that a restored backup holds is run: it may have been done since the backup was made. 'discard' is
   * for what must not be done twice.
   */
  afterRestore: 'run' | 'discard';
  /** Whether its jobs store what comes from outside. They wait while the hub may record nothing (`mayRecord`). */
  stores: boolean;
  /**
   * May be called more than once for a job. Throws to fail, and heeds the signal (deadline, shutdown). What it returns
   * is run in the transaction that completes the job: only SQL in there.
   */
  run(hub: Hub, payload: Payload, signal: AbortSignal, job: Job): Promise<void | Effects>;
  /** In the transaction that records a failure; also for a job that is dead-lettered because its worker died. */
  failed?(hub: Hub, payload: Payload, error: Error, fate: Fate, job: Job): void;
};

/**
 * `lane`: at most one job runs per lane, such as a host. `owner`: accounts take turns, and of each those of a lower
 * rank come first. `runAt`: unix ms, now when absent.
 */
type EnqueueOptions = { lane?: string; owner?: number; rank?: Rank; runAt?: number };

/** False where a live job of that kind and key exists. Within a transaction the job is part of that. */
export function enqueue<Payload>(
  hub: Hub, kind: JobKind<Payload>, payload: Payload, options: EnqueueOptions = {},
): boolean {
  const maxAttempts = configured(hub, kind.attempts);
  return jobs(hub).enqueue({ kind: kind.name, payload, dedupeKey: kind.key(payload), maxAttempts, ...options });
}

/** A number of a job kind, out of the configuration where it comes from there. */
export function configured({ config }: Hub, number: Configurable): number {
  return typeof number === 'number' ? number : number(config);
}
