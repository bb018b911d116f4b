import { HOUR, SECOND, type Clock, type Random } from '../clock.ts';
import { isStorageTrouble, type Db } from '../db/open-database.ts';
import { toError } from '../error-code.ts';
import type { Job } from './claim-jobs.ts';

/** Writes of a job that are committed together with its end. May run again when the commit failed: only SQL in here. */
export type Effects = () => void;

export type Fate = 'retrying' | 'failed';

/** `retryAt`: unix ms, not before; `permanent`: no further attempt; `effects`: written together with the failure. */
export type FailOptions = { retryAt?: number; permanent?: boolean; effects?: (fate: Fate) => void };

type Result = true | 'lost' | Error;
type Finished = { job: Job; effects?: Effects | undefined };

/** A batch takes no more jobs after this: other writers wait for its commit, and give up after 5 s. */
const LONG_BATCH_MS = 50;

const LONGEST_ERROR = 2_000; // characters

const FIRST_DELAY = 30 * SECOND;
const LONGEST_DELAY = HOUR;
const GROWTH = 4;

export type Finish = {
  /** Makes the lease last its full length from now. False when it was lost. */
  extend(job: Job): boolean;
  /** Done and its effects, both or neither. False, and nothing done, when the lease was lost. */
  complete(job: Job, effects?: Effects): boolean;
  /**
   * Small results share one transaction, and so one fsync; each can fail by itself. Large ones get transactions of
   * their own. A result list shorter than the jobs given means that the rest could not be written for now.
   */
  completeMany(finished: Finished[]): Result[];
  /** Tries again after a backoff, or at `retryAt` where that is later; dead-letters it after its last attempt. */
  fail(job: Job, error: Error, options?: FailOptions): Fate | 'lost';
  /** Gives an unfinished job back at shutdown: due at once, the attempt not counted. */
  release(job: Job): boolean;
};

/** How claimed jobs end. The token in each WHERE makes a worker that outlived its lease harmless. */
export function createFinish(db: Db, clock: Clock, random: Random, lease: number): Finish {
  const sql = prepareStatements(db);
  const complete = db.transaction('complete job', completeInTransaction);
  const completeSome = db.transaction('complete jobs', completeUntilLong);
  const fail = db.transaction('fail job', failInTransaction);

  function completeInTransaction(job: Job, effects?: Effects): boolean {
    if (sql.complete.run(clock(), job.id, job.leaseToken).changes === 0) return false;
    effects?.();
    return true;
  }

  /** Completes as many of them, from the first on, as fit into a short transaction. */
  function completeUntilLong(finished: Finished[]): Result[] {
    const started = performance.now();
    const isLong = (): boolean => performance.now() - started > LONG_BATCH_MS;
    const results: Result[] = [];
    for (const one of finished) {
      if (results.length > 0 && isLong()) break;
      results.push(completeOne(one));
    }
    return results;
  }

  /** Results committed before a failure of the storage are returned; the caller tries the rest again. */
  function completeMany(finished: Finished[]): Result[] {
    const results = finished.length > 0 ? completeSome(finished) : [];
    while (results.length < finished.length) {
      try {
        results.push(...completeSome(finished.slice(results.length)));
      } catch (error) {
        if (isStorageTrouble(error)) return results;
        throw error;
      }
    }
    return results;
  }

  /** Within the transaction of the batch, `complete` is a savepoint; a full disk fails the whole batch. */
  function completeOne({ job, effects }: Finished): Result {
    try {
      return complete(job, effects) || 'lost';
    } catch (error) {
      if (isStorageTrouble(error) || !db.inTransaction) throw error;
      return toError(error);
    }
  }

  function failInTransaction(job: Job, error: Error, options: FailOptions): Fate | 'lost' {
    const { retryAt = 0, permanent = false, effects } = options;
    const fate: Fate = permanent || job.attempts >= job.maxAttempts ? 'failed' : 'retrying';
    const now = clock();
    const message = error.message.slice(0, LONGEST_ERROR);
    const next = Math.max(now + backoff(job.attempts, random), Math.ceil(retryAt));
    const { changes } = fate === 'failed'
      ? sql.deadLetter.run(message, now, job.id, job.leaseToken)
      : sql.reschedule.run(message, next, job.id, job.leaseToken);
    if (changes === 0) return 'lost';
    effects?.(fate);
    return fate;
  }

  return {
    extend: (job) => sql.extend.run(clock() + lease, job.id, job.leaseToken).changes === 1,
    complete: (job, effects) => complete(job, effects),
    completeMany,
    fail: (job, error, options = {}) => fail(job, error, options),
    release: (job) => sql.release.run(clock(), job.id, job.leaseToken).changes === 1,
  };
}

/**
 * Milliseconds until the next attempt, after `attempts` (1 or more) have failed: 30 s, 2 min, 8 min, 32 min, then
 * an hour, each ±25 % so that jobs which failed together do not come back together. Five attempts span about
 * 43 minutes (32 to 53), enough for a restart or a short outage at the other end.
 */
export function backoff(attempts: number, random: Random): number {
  const delay = Math.min(FIRST_DELAY * GROWTH ** (attempts - 1), LONGEST_DELAY);
  return Math.round(delay * (0.75 + random() / 2));
}

function prepareStatements(db: Db) {
  return {
    extend: db.prepare<[number, number, string]>('extend lease', `
      UPDATE jobs SET lease_expires_at = ? WHERE id = ? AND lease_token = ?`),
    complete: db.prepare<[number, number, string]>('complete job', `
      UPDATE jobs SET state = 'done', finished_at = ?, lease_token = NULL, lease_expires_at = NULL
       WHERE id = ? AND lease_token = ?`),
    // Ranks: 2 is doubtful (take-turns.ts).
    reschedule: db.prepare<[string, number, number, string]>('reschedule job', `
      UPDATE jobs SET state = 'retrying', rank = 2, last_error = ?, run_at = ?, lease_token = NULL,
             lease_expires_at = NULL
       WHERE id = ? AND lease_token = ?`),
    deadLetter: db.prepare<[string, number, number, string]>('dead-letter job', `
      UPDATE jobs SET state = 'failed', last_error = ?, finished_at = ?, lease_token = NULL, lease_expires_at = NULL
       WHERE id = ? AND lease_token = ?`),
    // min: the job keeps its place in the order, unless the clock was set back meanwhile.
    release: db.prepare<[number, number, string]>('release job', `
      UPDATE jobs SET state = iif(attempts > 1, 'retrying', 'queued'), attempts = attempts - 1,
             run_at = min(run_at, ?), lease_token = NULL, lease_expires_at = NULL
       WHERE id = ? AND lease_token = ?`),
  };
}
