import { isoTime } from '../clock.ts';
import { toError } from '../error-code.ts';
import { errorFields, withLogContext, type Log, type LogFields } from '../log.ts';
import type { Job } from './claim-jobs.ts';
import type { Effects, Fate } from './finish-jobs.ts';
import {
  NotNowError, RetryLaterError, runJob, type InFlightJob, type JobHandler, type JobHandlers,
} from './run-job.ts';
import type { WorkerQueue } from './worker-queue.ts';

type Surroundings = {
  queue: WorkerQueue;
  handlers: JobHandlers;
  log: Log;
  onError: (error: unknown) => void;
  onEnd: () => void;
};

type Failure = [InFlightJob, Error];

/** Tracks the jobs that this worker has claimed and whose result is not stored yet. */
export function createInFlightJobs({ queue, handlers, log, onError, onEnd }: Surroundings) {
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
    for (const job of jobs) inFlight.add(runJob(job, handler, queue.lease, onEnd));
  }

  function settle(): number {
    const before = inFlight.size;
    const { successes, failures } = sortByOutcome(inFlight);
    const failed = [...failures, ...complete(successes)];
    failed.filter(isGivenBack).forEach(([one, error]) => release(one, error));
    fail(failed.filter((one) => !isGivenBack(one)));
    if ([...inFlight].some(({ outcome }) => outcome)) onEnd();
    return before - inFlight.size;
  }

  function complete(successes: Map<InFlightJob, Effects | undefined>): Failure[] {
    const ended = [...successes.keys()];
    const finished = ended.map((one) => ({ job: one.job, effects: logged(one, successes.get(one)) }));
    const results = queue.completeMany(finished);
    return ended.flatMap((one, index) => {
      const result = results[index];
      if (result === undefined) return []; // `inFlight` keeps a job that `completeMany` has not reached yet
      if (result instanceof Error) return [[one, result]];
      inFlight.delete(one);
      note(log, one, result === true ? 'done' : 'lost');
      return [];
    });
  }

  /** A job whose failure cannot be stored keeps its lease; when that ends, it is claimed again or dead-lettered. */
  function fail(failures: Failure[]): void {
    const results = queue.failMany(failures.map(([one, error]) => toFailed(one, error)));
    for (const [index, fate] of results.entries()) {
      const [one, error] = failures[index] as Failure;
      inFlight.delete(one);
      const trouble = fate instanceof Error ? fate : undefined;
      const nextAt = fate === 'retrying' ? nextAttempt(one) : undefined;
      note(log, one, fate instanceof Error ? 'unrecorded' : fate, { ...errorFields(trouble ?? error), nextAt });
      if (trouble) onError(trouble);
    }
  }

  function toFailed({ job, handler }: InFlightJob, error: Error) {
    const effects = (fate: Fate): void => handler.failed?.(job, error, fate);
    const retryAt = error instanceof RetryLaterError ? error.at : 0;
    return { job, error, options: { retryAt, effects } };
  }

  function isGivenBack([, error]: Failure): boolean {
    return error instanceof NotNowError || stopping;
  }

  function nextAttempt({ job }: InFlightJob): string | undefined {
    const row = queue.find(job.id);
    return row && isoTime(row.runAt);
  }

  function release(one: InFlightJob, error?: Error): void {
    const [notBefore, more] = error instanceof NotNowError ? [error.at, { reason: error.message }] : [0, {}];
    if (queue.release(one.job, notBefore)) noteEnd(log, one.job, 'released', more);
    inFlight.delete(one);
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

    claim(): void {
      stopping = false;
      for (const [kind, handler] of Object.entries(handlers)) if (!handler.mustWait?.()) claimFor(kind, handler);
    },

    tellToStop(reason: Error): void {
      stopping = true;
      for (const one of inFlight) one.abort(reason);
    },

    trySettle: (): void => loggingErrors(settle),

    giveBack(): void {
      const unfinished = [...inFlight].filter(({ outcome }) => !outcome);
      for (const one of unfinished) one.letGo();
      loggingErrors(() => { while (settle() > 0); });
      loggingErrors(() => unfinished.forEach((one) => release(one)));
      inFlight.clear();
    },

    areNone: (): boolean => inFlight.size === 0,
    areAtWork: (): boolean => [...inFlight].some(({ outcome }) => !outcome),
  };
}

function logged({ job }: InFlightJob, effects: Effects | undefined): Effects | undefined {
  return effects && (() => withLogContext({ jobId: job.id }, effects));
}

function sortByOutcome(inFlight: Set<InFlightJob>) {
  const failures: Failure[] = [];
  const successes = new Map<InFlightJob, Effects | undefined>();
  for (const one of inFlight) {
    if (!one.outcome) continue;
    if ('error' in one.outcome) failures.push([one, toError(one.outcome.error)]);
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
