import { isoTime, type Clock } from '../clock.ts';
import { isStorageTrouble } from '../db/open-database.ts';
import { toError } from '../error-code.ts';
import { errorFields, withLogContext, type Log, type LogFields } from '../log.ts';
import type { Job } from './claim-jobs.ts';
import type { Effects, FailOptions, Fate } from './finish-jobs.ts';
import {
  PermanentError, RetryLaterError, runJob, type InFlightJob, type JobHandler, type JobHandlers,
} from './run-job.ts';
import type { WorkerQueue } from './worker-queue.ts';

type Surroundings = {
  queue: WorkerQueue;
  handlers: JobHandlers;
  clock: Clock;
  log: Log;
  onError: (error: unknown) => void;
  onEnd: () => void;
};

/** The jobs that this worker has claimed and whose ends are not yet in the database. */
export function createInFlightJobs({ queue, handlers, clock, log, onError, onEnd }: Surroundings) {
  const inFlight = new Set<InFlightJob>();
  let stopping = false;

  function claimFor(kind: string, handler: JobHandler): void {
    const busy = [...inFlight].filter(({ job }) => job.kind === kind).length;
    const deadLettered: [Job, Error][] = [];
    const jobs = queue.claim(kind, handler.concurrency - busy, (job, error) => {
      handler.failed?.(job, error, 'failed');
      deadLettered.push([job, error]);
    });
    for (const [job, error] of deadLettered) noteEnd(log, job, 'failed', errorFields(error));
    for (const job of jobs) inFlight.add(runJob(job, handler, { queue, clock, onEnd }));
  }

  /**
   * Records what has ended, removes it from `inFlight` and returns how many there were. When it throws (full disk,
   * lock), the jobs not yet recorded stay in flight, and the next call tries them again.
   */
  function settle(): number {
    const before = inFlight.size;
    const { successes, failures } = sortByOutcome(inFlight);
    for (const [one, error] of complete(successes)) failures.set(one, error);
    for (const [one, error] of failures) settleFailure(one, toError(error));
    return before - inFlight.size;
  }

  /** All in one transaction. Returns those whose effects failed. */
  function complete(successes: Map<InFlightJob, Effects | undefined>): [InFlightJob, Error][] {
    if (successes.size === 0) return [];
    const ended = [...successes.keys()];
    const finished = ended.map((one) => ({ job: one.job, effects: logged(one, successes.get(one)) }));
    const results = queue.completeMany(finished);
    return ended.flatMap((one, index) => {
      const result = results[index];
      if (result === undefined) return []; // not recorded yet: it stays in flight
      if (result instanceof Error) return [[one, result]];
      inFlight.delete(one);
      note(log, one, result === true ? 'done' : 'lost');
      return [];
    });
  }

  function settleFailure(one: InFlightJob, error: Error): void {
    try {
      const fate = endFailure(one, error);
      inFlight.delete(one);
      note(log, one, fate, { ...errorFields(error), nextAt: fate === 'retrying' ? nextAttempt(one) : undefined });
    } catch (trouble) {
      if (isStorageTrouble(trouble)) throw trouble;
      inFlight.delete(one); // its lease runs out, and the job or its failure is tried again
      note(log, one, 'unrecorded', errorFields(trouble));
      onError(trouble);
    }
  }

  /** A handler that was told to stop has not failed. */
  function endFailure({ job, handler }: InFlightJob, error: Error): Fate | 'lost' | 'released' {
    const permanent = error instanceof PermanentError;
    if (stopping && !permanent) return queue.release(job) ? 'released' : 'lost';
    const options: FailOptions = { permanent, effects: (fate) => handler.failed?.(job, error, fate) };
    if (error instanceof RetryLaterError) options.retryAt = error.at;
    return queue.fail(job, error, options);
  }

  function nextAttempt({ job }: InFlightJob): string | undefined {
    const row = queue.find(job.id);
    return row && isoTime(row.runAt);
  }

  function release(one: InFlightJob): void {
    inFlight.delete(one);
    if (queue.release(one.job)) noteEnd(log, one.job, 'released');
  }

  function loggingErrors(work: () => void): void {
    try {
      work();
    } catch (error) {
      log.error('the results of jobs could not be recorded', errorFields(error));
      onError(error);
    }
  }

  return {
    settle,

    /** Claims as many jobs as the concurrency of their kinds leaves room for, and starts them. */
    claim(): void {
      stopping = false;
      for (const [kind, handler] of Object.entries(handlers)) claimFor(kind, handler);
    },

    tellToStop(reason: Error): void {
      stopping = true;
      for (const one of inFlight) one.abort(reason);
    },

    /** As `settle`, but errors are logged and not thrown. */
    trySettle: (): void => loggingErrors(settle),

    /** Records what has ended and releases the rest. Where the disk does not allow that, the leases run out. */
    giveBack(): void {
      const unfinished = [...inFlight].filter(({ outcome }) => !outcome);
      for (const one of unfinished) one.letGo();
      loggingErrors(settle);
      loggingErrors(() => unfinished.forEach(release));
      inFlight.clear();
    },

    areNone: (): boolean => inFlight.size === 0,
    areAtWork: (): boolean => [...inFlight].some(({ outcome }) => !outcome),
  };
}

/** The same effects, whose log lines carry the id of their job. */
function logged({ job }: InFlightJob, effects: Effects | undefined): Effects | undefined {
  return effects && (() => withLogContext({ jobId: job.id }, effects));
}

function sortByOutcome(inFlight: Set<InFlightJob>) {
  const failures = new Map<InFlightJob, unknown>();
  const successes = new Map<InFlightJob, Effects | undefined>();
  for (const one of inFlight) {
    if (!one.outcome) continue;
    if ('error' in one.outcome) failures.set(one, one.outcome.error);
    else successes.set(one, one.outcome.effects);
  }
  return { successes, failures };
}

const NOTES = {
  done: ['debug', 'job done'],
  lost: ['warn', 'job lost to another worker'],
  released: ['info', 'job released'],
  retrying: ['warn', 'job will be retried'],
  failed: ['error', 'job failed for good'],
  unrecorded: ['error', 'job failed and its failure could not be recorded'],
} as const;

function note(log: Log, { job, startedAt }: InFlightJob, end: keyof typeof NOTES, more: LogFields = {}): void {
  const milliseconds = Math.round(performance.now() - startedAt);
  noteEnd(log, job, end, { milliseconds, ...more });
}

function noteEnd(log: Log, { id, kind, attempts }: Job, end: keyof typeof NOTES, more: LogFields = {}): void {
  const [level, event] = NOTES[end];
  withLogContext({ jobId: id }, () => log[level](event, { kind, attempt: attempts, ...more }));
}
