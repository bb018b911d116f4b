import { isoTime, type Clock } from '../clock.ts';
import { isStorageTrouble } from '../db/open-database.ts';
import { toError } from '../error-code.ts';
import { errorFields, withLogContext, type Log, type LogFields } from '../log.ts';
import type { Job } from './claim-jobs.ts';
import type { Effects, FailOptions, Fate } from './finish-jobs.ts';
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

/**
 * Does jobs of one kind. `run` may be called more than once for a job; it throws to fail and heeds its signal
 * (deadline, shutdown). What it returns is run in the transaction that completes the job: only SQL in there.
 */
export type JobHandler = {
  concurrency: number;
  run(job: Job, signal: AbortSignal): Promise<void | Effects>;
  /** In the transaction that records the failure; also for a job that is dead-lettered because its worker died. */
  failed?(job: Job, error: Error, fate: Fate): void;
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

/** How a handler ended: with what completes the job, or with what went wrong. */
export type Outcome = { effects: Effects | undefined } | { error: unknown };

/** A job that a handler of this process is working on, or whose end has not been recorded yet. */
type InFlightJob = {
  readonly job: Job;
  readonly handler: JobHandler;
  readonly outcome: Outcome | undefined;
  readonly startedAt: number; // performance.now()
  /** Tells the handler to stop, for the given reason. */
  abort(reason: Error): void;
  /** From now on the handler's result is ignored. */
  letGo(): void;
};

const DEADLINE = 0.9; // of the lease: the handler is told to stop
const LAST_CALL = 0.05; // of the lease, after the deadline: the worker no longer waits for the handler

/**
 * Starts the handler. Its signal aborts at 90 % of the lease, also of one that was extended; a handler that ignores
 * the signal is given up before the lease ends. `onEnd` is called once there is an outcome.
 */
function runJob(
  job: Job, handler: JobHandler, { queue, clock, onEnd }: Pick<Surroundings, 'queue' | 'clock' | 'onEnd'>,
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

/** Until the deadline of a lease that was extended; 0 when it was not, was lost, or nobody can tell. */
function millisecondsLeft(job: Job, queue: WorkerQueue, clock: Clock): number {
  try {
    const leaseEnd = queue.leaseEnd(job) ?? 0;
    // Never more than a whole lease: should the clock be set back, others cut the lease to that.
    return Math.min(leaseEnd - clock(), queue.lease) - queue.lease * (1 - DEADLINE);
  } catch {
    return 0;
  }
}
