import { isStorageTrouble } from '../db/open-database.ts';
import { errorFields, withLogContext, type Log, type LogFields } from '../log.ts';
import type { Effects, FailOptions, Fate } from './finish-jobs.ts';
import { PermanentError, RetryLaterError } from './job-errors.ts';
import type { JobInHand } from './job-in-hand.ts';
import type { JobQueue } from './job-queue.ts';

type Needs = {
  queue: JobQueue;
  inHand: Set<JobInHand>;
  log: Log;
  onError: (error: unknown) => void;
  isStopping: () => boolean;
};

/**
 * Makes the function that writes down what has ended, takes it out of hand and returns how many that were. When it
 * throws (full disk, lock), the jobs not yet written down are still in hand, and the next call tries them again.
 */
export function createSettle({ queue, inHand, log, onError, isStopping }: Needs): () => number {
  return function settle(): number {
    const before = inHand.size;
    const { successes, failures } = sortByOutcome(inHand);
    for (const [hand, error] of complete(successes)) failures.set(hand, error);
    for (const [hand, error] of failures) settleFailure(hand, toError(error));
    return before - inHand.size;
  };

  /** All in one transaction. Returns those whose effects failed. */
  function complete(successes: Map<JobInHand, Effects | undefined>): [JobInHand, Error][] {
    if (successes.size === 0) return [];
    const hands = [...successes.keys()];
    const finished = hands.map((hand) => ({ job: hand.job, effects: logged(hand, successes.get(hand)) }));
    const results = queue.completeMany(finished);
    return hands.flatMap((hand, index) => {
      const result = results[index];
      if (result === undefined) return []; // not written yet: it stays in hand
      if (result instanceof Error) return [[hand, result]];
      inHand.delete(hand);
      note(log, hand, result === true ? 'done' : 'lost');
      return [];
    });
  }

  function settleFailure(hand: JobInHand, error: Error): void {
    try {
      const fate = endFailure(hand, error);
      inHand.delete(hand);
      note(log, hand, fate, { ...errorFields(error), nextAt: fate === 'retrying' ? nextAttempt(hand) : undefined });
    } catch (trouble) {
      if (isStorageTrouble(trouble)) throw trouble;
      inHand.delete(hand); // its lease runs out, and then the job is tried again or the failure told again
      note(log, hand, 'unrecorded', errorFields(trouble));
      onError(trouble);
    }
  }

  /** A handler that was told to stop has not failed. */
  function endFailure({ job, handler }: JobInHand, error: Error): Fate | 'lost' | 'released' {
    const permanent = error instanceof PermanentError;
    if (isStopping() && !permanent) return queue.release(job) ? 'released' : 'lost';
    const options: FailOptions = { permanent, effects: (fate) => handler.failed?.(job, error, fate) };
    if (error instanceof RetryLaterError) options.retryAt = error.at;
    return queue.fail(job, error, options);
  }

  function nextAttempt({ job }: JobInHand): string | undefined {
    const row = queue.find(job.id);
    return row && new Date(row.runAt).toISOString();
  }
}

/** The same effects; what is logged meanwhile carries the id of their job. */
function logged({ job }: JobInHand, effects: Effects | undefined): Effects | undefined {
  return effects && (() => withLogContext({ jobId: job.id }, effects));
}

function sortByOutcome(inHand: Set<JobInHand>) {
  const failures = new Map<JobInHand, unknown>();
  const successes = new Map<JobInHand, Effects | undefined>();
  for (const hand of inHand) {
    if (!hand.outcome) continue;
    if ('error' in hand.outcome) failures.set(hand, hand.outcome.error);
    else successes.set(hand, hand.outcome.effects);
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

function note(log: Log, { job, startedAt }: JobInHand, end: keyof typeof NOTES, more: LogFields = {}): void {
  const [level, event] = NOTES[end];
  const milliseconds = Math.round(performance.now() - startedAt);
  const fields = { kind: job.kind, attempt: job.attempts, milliseconds, ...more };
  withLogContext({ jobId: job.id }, () => log[level](event, fields));
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
