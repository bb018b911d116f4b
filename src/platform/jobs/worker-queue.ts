import { MINUTE, type Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { createClaim, type Claim } from './claim-jobs.ts';
import { createFinish, type Finish } from './finish-jobs.ts';
import { createJobQueue, type JobQueue } from './job-queue.ts';

/** How long a claimed job belongs to its worker. All processes on one file use the same. */
export const LEASE = 5 * MINUTE;

export type WorkerQueue = JobQueue & Claim & Finish & {
  /** Milliseconds that a claim lasts. */
  lease: number;
};

/** The queue with what a worker needs. `queue`: that of the same process, which tells the worker of new jobs. */
export function createWorkerQueue(
  db: Db, clock: Clock, random = Math.random, lease = LEASE, queue = createJobQueue(db, clock),
): WorkerQueue {
  return { ...queue, ...createClaim(db, clock, lease), ...createFinish(db, clock, random, lease), lease };
}
