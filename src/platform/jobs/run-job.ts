import type { Clock } from '../clock.ts';
import { withLogContext } from '../log.ts';
import type { Job } from './claim-jobs.ts';
import type { Effects, Fate } from './finish-jobs.ts';
import type { WorkerQueue } from './worker-queue.ts';

/**
 * Does jobs of one kind. `run` may be called more than once for a job; it throws to fail and heeds its signal
 * (deadline, shutdown). What it returns is run in the transaction that completes the job: only SQL in there.
 */
export type JobHandler = {
  concurrency: number;
  run(job: Job, signal: AbortSignal): Promise<void | Effects>;
  /** In the transaction that records the failure; also for a job that is dead-lettered because its worker died. */
  failed?(job: Job, error: Error, fate: Fate): void;
  /** While true, no job of this kind is claimed. Checked at least every 5 s. */
  mustWait?(): boolean;
};

/** By kind of job. */
export type JobHandlers = Record<string, JobHandler>;

/** Thrown by a handler: the job can never succeed, and is dead-lettered at once. */
export class PermanentError extends Error {}

/** Thrown by a handler: the job should not be tried again before `at` (unix ms). */
export class RetryLaterError extends Error {
  readonly at: number;

  constructor(message: string, at: number, options?: ErrorOptions) {
    super(message, options);
    this.at = at;
  }
}

/** Thrown by a handler: the job cannot be done before `at` (unix ms), which is no failure. No attempt is counted. */
export class NotNowError extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** How a handler ended: with what completes the job, or with what went wrong. */
type Outcome = { effects: Effects | undefined } | { error: unknown };

/** A job that a handler of this process is working on, or whose end has not been recorded yet. */
export type InFlightJob = {
  readonly job: Job;
  readonly handler: JobHandler;
  readonly outcome: Outcome | undefined;
  readonly startedAt: number; // performance.now()
  /** Tells the handler to stop, for the given reason. */
  abort(reason: Error): void;
  /** Ignores the handler's result from now on. */
  letGo(): void;
};

const DEADLINE = 0.9; // of the lease: the handler is told to stop
const LAST_CALL = 0.05; // of the lease, after the deadline: the worker no longer waits for the handler

/**
 * Starts the handler. Its signal aborts at 90 % of the lease, also of one that was extended; a handler that ignores
 * the signal is given up before the lease ends. `onEnd` is called once there is an outcome.
 */
export function runJob(
  job: Job, handler: JobHandler, { queue, clock, onEnd }: { queue: WorkerQueue; clock: Clock; onEnd: () => void },
): InFlightJob {
  const controller = new AbortController();
  let outcome: Outcome | undefined;
  let over = false;
  let timer = setTimeout(atDeadline, queue.lease * DEADLINE);

  function end(how: Outcome): void {
    if (over) return;
    letGo();
    outcome = how;
    onEnd();
  }

  function letGo(): void {
    over = true;
    clearTimeout(timer);
  }

  function atDeadline(): void {
    const left = millisecondsLeft(job, queue, clock);
    if (left > 0) {
      timer = setTimeout(atDeadline, left);
      return;
    }
    const error = new Error('the job did not end before its deadline');
    controller.abort(error);
    timer = setTimeout(() => end({ error }), queue.lease * LAST_CALL);
  }

  withLogContext({ jobId: job.id }, async () => handler.run(job, controller.signal)).then(
    (effects) => end({ effects: effects ?? undefined }),
    (error: unknown) => end({ error }),
  );

  return {
    job,
    handler,
    startedAt: performance.now(),
    abort: (reason) => controller.abort(reason),
    letGo,
    get outcome() {
      return outcome;
    },
  };
}

/** Milliseconds to the deadline of an extended lease; 0 if it was not extended, was lost or cannot be read. */
function millisecondsLeft(job: Job, queue: WorkerQueue, clock: Clock): number {
  try {
    const leaseEnd = queue.leaseEnd(job) ?? 0;
    // At most a whole lease: once the clock was set back, claims cut leases to that.
    return Math.min(leaseEnd - clock(), queue.lease) - queue.lease * (1 - DEADLINE);
  } catch {
    return 0;
  }
}
