import { MINUTE, type Clock, type Random } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { createClaim } from './claim-jobs.ts';
import { createFinish } from './finish-jobs.ts';
import { createJobReadings, createJobRecords } from './job-records.ts';

export type { Job } from './claim-jobs.ts';
export type { Effects, Fate } from './finish-jobs.ts';
export { JOB_STATES, type JobRow, type JobState } from './job-records.ts';

/** How long a claimed job belongs to its worker. All processes on one file use the same. */
export const LEASE = 5 * MINUTE;

const MAX_ATTEMPTS = 5;

export type NewJob = {
  kind: string;
  payload: unknown;
  dedupeKey?: string; // at most one live job per kind and key; blocks also while that job runs
  lane?: string; // at most one running job per lane, whatever its kind
  runAt?: number; // unix ms; now when absent
  maxAttempts?: number; // 5 when absent
};

export type JobQueue = ReturnType<typeof createJobQueue>;

/** The durable queue on table `jobs`: a job is done at least once, the effects it completes with exactly once. */
export function createJobQueue(db: Db, clock: Clock, random: Random = Math.random, lease: number = LEASE) {
  const watchers = new Set<() => void>();
  const records = createJobRecords(db, clock);
  const insert = prepareInsert(db);

  function announce(changed: boolean): boolean {
    if (changed) for (const watcher of watchers) watcher();
    return changed;
  }

  return {
    /** Milliseconds that a claim lasts. */
    lease,

    /** False when a live job with that kind and key exists. Called within a transaction, it is part of that. */
    enqueue({ kind, payload, dedupeKey, lane, runAt, maxAttempts = MAX_ATTEMPTS }: NewJob): boolean {
      const now = clock();
      const json = JSON.stringify(payload ?? null);
      const due = Math.ceil(runAt ?? now);
      return announce(insert.run(kind, json, dedupeKey ?? null, lane ?? null, due, maxAttempts, now).changes === 1);
    },

    ...createClaim(db, clock, lease),
    ...createFinish(db, clock, random, lease),
    ...createJobReadings(db, clock),
    ...records,

    /** Failed → queued with fresh attempts. False when it is not failed, or a live job with its key exists. */
    retry: (id: number): boolean => announce(records.retry(id)),

    /** Calls `watcher` when this process adds a job (perhaps before it is committed). Returns how to stop. */
    watch(watcher: () => void): () => void {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

function prepareInsert(db: Db) {
  return db.prepare<[string, string, string | null, string | null, number, number, number]>('enqueue job', `
    INSERT INTO jobs (kind, payload, dedupe_key, lane, run_at, max_attempts, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (kind, dedupe_key)
      WHERE dedupe_key IS NOT NULL AND state IN ('queued', 'retrying', 'running') DO NOTHING
  `);
}
