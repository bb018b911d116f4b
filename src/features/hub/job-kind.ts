import type { Effects, Fate } from '../../platform/jobs/finish-jobs.ts';
import type { Job } from '../../platform/jobs/job-queue.ts';
import type { JobHandler, JobHandlers } from '../../platform/jobs/worker.ts';
import type { Config } from './read-config.ts';
import { jobs, type Hub } from './hub.ts';

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
  /**
   * May be called more than once for a job. Throws to fail, and heeds the signal (deadline, shutdown). What it returns
   * is run in the transaction that completes the job: only SQL in there.
   */
  run(hub: Hub, payload: Payload, signal: AbortSignal, job: Job): Promise<void | Effects>;
  /** In the transaction that records a failure; also for a job that is dead-lettered because its worker died. */
  failed?(hub: Hub, payload: Payload, error: Error, fate: Fate, job: Job): void;
};

/** `lane`: at most one job runs per lane, such as a host. `runAt`: unix ms, now when absent. */
type EnqueueOptions = { lane?: string; runAt?: number };

/** False where a live job of that kind and key exists. Within a transaction it is part of it. */
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

/** What a worker runs for these kinds. */
export function jobHandlers(hub: Hub, kinds: JobKind<never>[]): JobHandlers {
  return Object.fromEntries(kinds.map((kind) => [kind.name, handlerOf(hub, kind)]));
}

function handlerOf(hub: Hub, kind: JobKind<never>): JobHandler {
  const { failed } = kind;
  return {
    concurrency: configured(hub, kind.concurrency),
    run: (job, signal) => kind.run(hub, job.payload as never, signal, job),
    ...(failed && { failed: (job, error, fate) => failed(hub, job.payload as never, error, fate, job) }),
  };
}
