import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Db } from '../../src/platform/db/open-database.ts';
import type { Job } from '../../src/platform/jobs/claim-jobs.ts';
import { createWorkerQueue, type WorkerQueue } from '../../src/platform/jobs/worker-queue.ts';
import type { NewJob } from '../../src/platform/jobs/job-queue.ts';
import { jobEffects } from './job-effects.ts';
import { migratedDatabase } from './migrated-database.ts';

export const START = Date.UTC(2025, 0, 1);

/** A queue on a file of its own, with a clock that the test moves and a table for the effects of jobs. */
export function startQueue(t: TestContext) {
  const { db } = migratedDatabase(t);
  let now = START;
  const clock = () => now;
  const queue = createWorkerQueue(db, clock, () => 0.5);
  const effects = jobEffects(db);
  return {
    db,
    queue,
    passTime: (milliseconds: number) => void (now += milliseconds),
    effect: (job: Job) => () => effects.leave(job.id),
    effects: effects.ids,
  };
}

/** Enqueues a job of kind k. */
export function add(queue: WorkerQueue, job: Partial<NewJob> = {}): boolean {
  return queue.enqueue({ kind: 'k', payload: {}, ...job });
}

/** The one job of kind k that must be due. */
export function claimOne(queue: WorkerQueue): Job {
  const [job] = queue.claim('k', 1);
  assert.ok(job, 'a job is due');
  return job;
}

export function state(queue: WorkerQueue, { id }: { id: number }): string | undefined {
  return queue.find(id)?.state;
}

/** What the triggers keep of jobs, public posts and sources, and what is really there. */
export function assertCountsAreTrue(db: Db): void {
  const kept = db.prepare('kept', `SELECT metric, label, value FROM counts
    WHERE metric IN ('jobs', 'public_posts', 'sources') AND value <> 0 ORDER BY metric, label`).all();
  const real = db.prepare('real', `
    SELECT metric, label, CAST(COUNT(*) AS REAL) AS value FROM (
      SELECT 'jobs' AS metric, kind || ',' || state AS label FROM jobs
      UNION ALL SELECT 'public_posts', '' FROM posts WHERE is_public = 1
      UNION ALL SELECT 'sources', kind || ',' || state FROM sources) GROUP BY 1, 2 ORDER BY 1, 2`).all();
  assert.deepEqual(kept, real);
}
