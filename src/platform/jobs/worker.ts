import type { Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import type { Log } from '../log.ts';
import type { Effects, Fate } from './finish-jobs.ts';
import type { Job, JobQueue } from './job-queue.ts';
import { createHands } from './worker-hands.ts';
import { createWorkerLoop } from './worker-loop.ts';
import { createNap } from './worker-nap.ts';

export { PermanentError, RetryLaterError } from './job-errors.ts';

/**
 * Does jobs of one kind. `run` may be called more than once for a job; it throws to fail and heeds its signal
 * (deadline, shutdown). What it returns is run in the transaction that completes the job: only SQL in there.
 */
export type JobHandler = {
  concurrency: number;
  run(job: Job, signal: AbortSignal): Promise<void | Effects>;
  /** In the transaction that records the failure; also for a job that is buried because its worker died. */
  failed?(job: Job, error: Error, fate: Fate): void;
};

/** By kind of job. */
export type JobHandlers = Record<string, JobHandler>;

export type WorkerOptions = {
  db: Db;
  queue: JobQueue;
  handlers: JobHandlers;
  clock: Clock;
  log: Log;
  onError: (error: unknown) => void; // ours to mend: a full disk, a failing hook; not what a handler throws
};

export type Worker = ReturnType<typeof createWorker>;

/** One loop for all kinds of jobs, each with its own concurrency. Jobs of a kind without a handler are left alone. */
export function createWorker({ db, queue, handlers, clock, log, onError }: WorkerOptions) {
  const { nap, wake } = createNap();
  const hands = createHands({ queue, handlers, clock, log, onError, onEnd: wake });
  const loop = createWorkerLoop({ db, queue, kinds: Object.keys(handlers), clock, log, onError, nap, round });
  let unwatch = () => {};

  function round(): void {
    hands.settle();
    hands.fill();
  }

  return {
    start(): void {
      unwatch = queue.watch(wake);
      loop.start();
    },

    /** For tests: does everything that is due now, also what becomes due by that. Returns how many were run. */
    async runDue(): Promise<number> {
      for (let done = 0; ; ) {
        hands.fill();
        if (hands.areEmpty()) return done;
        await loop.untilJobsEnd(Infinity);
        done += hands.settle();
      }
    },

    /**
     * Claims nothing more and tells the jobs in hand by their signals. Those that do not end within `graceMs` are
     * given back, without the attempt being counted, and their late results are ignored.
     */
    async stop(graceMs: number): Promise<void> {
      unwatch();
      hands.tellToStop(new Error('the worker is stopping'));
      const stopped = loop.stop();
      wake();
      await stopped;
      const until = performance.now() + graceMs;
      while (hands.areAtWork() && performance.now() < until) {
        await loop.untilJobsEnd(until);
        hands.settleCalmly();
      }
      hands.giveBack();
    },
  };
}
