import { HOUR, SECOND, type Clock, type Random } from '../clock.ts';
import { isStorageTrouble, type Db } from '../db/open-database.ts';
import { toError } from '../error-code.ts';
import type { Job } from './claim-jobs.ts';
import { createReplacement } from './job-records.ts';

/** Writes in the transaction that ends a job; runs again if its commit fails. */
export type Effects = () => void;

export type Fate = 'retrying' | 'failed';

/** `retryAt`: earliest next attempt, unix ms. `effects`: writes in the transaction that stores the job's failure. */
type FailOptions = { retryAt?: number; effects?: (fate: Fate) => void };

type Finished = { job: Job; effects?: Effects | undefined };
type Failed = { job: Job; error: Error; options: FailOptions };

/** Other writers wait for the commit of a batch of jobs, so a batch ends after this time. */
const LONG_BATCH_MS = 10;

const LONGEST_ERROR = 2_000; // characters

const FIRST_DELAY = 30 * SECOND;
const LONGEST_DELAY = HOUR;
const GROWTH = 4;

export type Finish = ReturnType<typeof createFinish>;

/** Ends claimed jobs. The fencing token in each WHERE makes a worker that outlived its lease harmless. */
export function createFinish(db: Db, clock: Clock, random: Random) {
  const sql = prepareStatements(db);
  const replaceEarlier = createReplacement(db, clock);
  const complete = db.transaction('complete job', completeInTransaction);
  const fail = db.transaction('fail job', failInTransaction);
  const completeMany = db.transaction('complete jobs', (finished: Finished[]) =>
    untilLong(finished, ({ job, effects }) => complete(job, effects) || 'lost'));
  const failMany = db.transaction('fail jobs', (failed: Failed[]) =>
    untilLong(failed, ({ job, error, options }) => fail(job, error, options)));

  function completeInTransaction(job: Job, effects?: Effects): boolean {
    if (sql.complete.run(clock(), job.id, job.leaseToken).changes === 0) return false;
    effects?.();
    return true;
  }

  /** Each job ends in its own savepoint, so that one job can fail alone; a full disk fails the whole batch. */
  function untilLong<Ended, Result>(ended: Ended[], end: (one: Ended) => Result): (Result | Error)[] {
    const started = performance.now();
    const results: (Result | Error)[] = [];
    for (const one of ended) {
      if (results.length > 0 && performance.now() - started > LONG_BATCH_MS) break;
      try {
        results.push(end(one));
      } catch (error) {
        if (isStorageTrouble(error) || !db.inTransaction) throw error;
        results.push(toError(error));
      }
    }
    return results;
  }

  function failInTransaction(job: Job, error: Error, options: FailOptions): Fate | 'lost' {
    const { retryAt = 0, effects } = options;
    const fate: Fate = job.attempts >= job.maxAttempts ? 'failed' : 'retrying';
    const now = clock();
    const message = error.message.slice(0, LONGEST_ERROR);
    const next = Math.max(now + backoff(job.attempts, random), Math.ceil(retryAt));
    const { changes } = fate === 'failed'
      ? sql.deadLetter.run(message, now, job.id, job.leaseToken)
      : sql.reschedule.run(message, next, job.id, job.leaseToken);
    if (changes === 0) return 'lost';
    if (fate === 'failed') replaceEarlier(job);
    effects?.(fate);
    return fate;
  }

  return {
    /** Completes the job and runs its effects in one transaction. Returns false if the lease was lost. */
    complete,
    /**
     * Completes jobs with one fsync. So that other processes can write, `completeMany` stops after some time with
     * results for only the first jobs of `finished`; the caller passes the remaining jobs in a later call.
     */
    completeMany: (finished: Finished[]): (true | 'lost' | Error)[] =>
      finished.length > 0 ? completeMany(finished) : [],
    /** Schedules a retry after a backoff, or at `retryAt` if later; dead-letters the job after its last attempt. */
    fail: (job: Job, error: Error, options: FailOptions = {}): Fate | 'lost' => fail(job, error, options),
    failMany: (failed: Failed[]): (Fate | 'lost' | Error)[] => failed.length > 0 ? failMany(failed) : [],
    /** Puts an unfinished job back into the queue, due at `notBefore` or at once, without counting the attempt. */
    release: (job: Job, notBefore = 0): boolean =>
      sql.release.run(clock(), notBefore, job.id, job.leaseToken).changes === 1,
  };
}

/**
 * Milliseconds until the next attempt after `attempts` (1 or more) failures: 30 s, 2 min, 8 min, 32 min, then 1 h. A
 * random jitter changes each delay by up to ±25 %. Five attempts span 32 to 53 minutes, enough for a restart or a short
 * outage elsewhere.
 */
export function backoff(attempts: number, random: Random): number {
  const delay = Math.min(FIRST_DELAY * GROWTH ** (attempts - 1), LONGEST_DELAY);
  return Math.round(delay * (0.75 + random() / 2));
}

function prepareStatements(db: Db) {
  return {
    complete: db.prepare<[number, number, string]>('complete job', `
      UPDATE jobs SET state = 'done', finished_at = ?, lease_token = NULL, lease_expires_at = NULL
       WHERE id = ? AND lease_token = ?`),
    // A job of rank 2 is doubtful: its last attempt failed (RANKS in job-queue.ts).
    reschedule: db.prepare<[string, number, number, string]>('reschedule job', `
      UPDATE jobs SET state = 'retrying', rank = 2, last_error = ?, run_at = ?, lease_token = NULL,
             lease_expires_at = NULL
       WHERE id = ? AND lease_token = ?`),
    deadLetter: db.prepare<[string, number, number, string]>('dead-letter job', `
      UPDATE jobs SET state = 'failed', last_error = ?, finished_at = ?, lease_token = NULL, lease_expires_at = NULL
       WHERE id = ? AND lease_token = ?`),
    // A released job keeps its due time `run_at`, unless `run_at` lies in the future because the clock was set back.
    release: db.prepare<[number, number, number, string]>('release job', `
      UPDATE jobs SET state = iif(attempts > 1, 'retrying', 'queued'), attempts = attempts - 1,
             run_at = max(min(run_at, ?), ?), lease_token = NULL, lease_expires_at = NULL
       WHERE id = ? AND lease_token = ?`),
  };
}
