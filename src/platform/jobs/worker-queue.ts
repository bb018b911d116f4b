import { MINUTE, type Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { createClaim, type Claim } from './claim-jobs.ts';
import { createFinish, type Finish } from './finish-jobs.ts';
import { createJobQueue, type JobQueue } from './job-queue.ts';

/** All processes that share a database use the same lease, in ms. */
export const LEASE = 5 * MINUTE;

export type WorkerQueue = JobQueue & Claim & Finish & { lease: number };

/** The job queue with the functions for workers. `queue`: the process's own queue, which announces new jobs. */
export function createWorkerQueue(
  db: Db, clock: Clock, random = Math.random, lease = LEASE, queue = createJobQueue(db, clock),
): WorkerQueue {
  return { ...queue, ...createClaim(db, clock, lease), ...createFinish(db, clock, random), lease };
}
