import { withLogContext } from '../log.ts';
import type { Job } from './claim-jobs.ts';
import type { Effects, Fate } from './finish-jobs.ts';

/**
 * Runs jobs of one kind. `run` may be called more than once for a job. It throws to fail the job, and must obey its
 * signal (deadline, shutdown). The function that it returns runs in the transaction that completes the job: only SQL.
 */
export type JobHandler = {
  concurrency: number;
  run(job: Job, signal: AbortSignal): Promise<void | Effects>;
  /** Called in the transaction that records a failure of a job, also if its worker died in the last attempt. */
  failed?(job: Job, error: Error, fate: Fate): void;
  /** While this returns true, the worker claims no job of this kind; it asks every few seconds or more often. */
  mustWait?(): boolean;
};

export type JobHandlers = Record<string, JobHandler>;

class LaterError extends Error {
  readonly at: number; // unix ms

  constructor(message: string, at: number, options?: ErrorOptions) {
    super(message, options);
    this.at = at;
  }
}

/** Thrown by a job's handler if the job should not be tried again before `at`. */
export class RetryLaterError extends LaterError {}

/** Thrown by a job's handler if the job cannot run before `at`; the failed attempt is not counted. */
export class NotNowError extends LaterError {}

type Outcome = { effects: Effects | undefined } | { error: unknown };

export type InFlightJob = {
  readonly job: Job;
  readonly handler: JobHandler;
  readonly outcome: Outcome | undefined;
  readonly startedAt: number; // performance.now()
  abort(reason: Error): void;
  letGo(): void;
};

const DEADLINE = 0.9; // share of the lease after which the handler is told to stop
const LAST_CALL = 0.05; // share of the lease that the handler then has to end

/** Starts a job's handler, whose signal aborts before the lease ends; a handler that ignores its signal is given up. */
export function runJob(job: Job, handler: JobHandler, lease: number, onEnd: () => void): InFlightJob {
  const controller = new AbortController();
  let outcome: Outcome | undefined;
  let over = false;
  let timer = setTimeout(atDeadline, lease * DEADLINE);

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
    const error = new Error('the job did not end before its deadline');
    controller.abort(error);
    timer = setTimeout(() => end({ error }), lease * LAST_CALL);
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
