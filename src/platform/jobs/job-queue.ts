import type { Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { createJobReadings, createJobRecords, type JobReadings, type JobRecords } from './job-records.ts';

/**
 * The order of jobs with an owner: first what somebody has just asked for, then what worked last time, then what failed
 * or was never tried.
 */
export const RANKS = { asked: 0, usual: 1, doubtful: 2 } as const;

export type Rank = (typeof RANKS)[keyof typeof RANKS];

const MAX_ATTEMPTS = 5;

export type NewJob = {
  kind: string;
  payload: unknown;
  dedupeKey?: string; // at most one live job per kind and key; blocks also while that job runs
  lane?: string; // at most one running job per lane, whatever its kind
  owner?: number; // an account: owners take turns; of a kind, all jobs have one or none has
  rank?: Rank; // usual when absent
  runAt?: number; // unix ms; now when absent
  maxAttempts?: number; // 5 when absent
};

export type JobQueue = JobRecords & JobReadings & {
  /** False when a live job with that kind and key exists. Called within a transaction, it is part of that. */
  enqueue(job: NewJob): boolean;
  /** Calls `watcher` when this process adds a job (perhaps before it is committed). Returns how to stop. */
  watch(watcher: () => void): () => void;
};

/**
 * The durable queue on table `jobs`: a job runs at least once, its effects exactly once. `worker-queue.ts` adds how
 * workers claim and end jobs.
 */
export function createJobQueue(db: Db, clock: Clock): JobQueue {
  const watchers = new Set<() => void>();
  const records = createJobRecords(db, clock);
  const insert = prepareInsert(db);

  function announce(changed: boolean): boolean {
    if (changed) for (const watcher of watchers) watcher();
    return changed;
  }

  return {
    enqueue({ kind, payload, dedupeKey, lane, owner, rank = RANKS.usual, runAt, maxAttempts = MAX_ATTEMPTS }) {
      const now = clock();
      const json = JSON.stringify(payload ?? null);
      const whose = [owner ?? null, rank] as const;
      const times = [Math.ceil(runAt ?? now), maxAttempts, now] as const;
      return announce(insert.run(kind, json, dedupeKey ?? null, lane ?? null, ...whose, ...times).changes === 1);
    },

    ...createJobReadings(db, clock),
    ...records,
    retry: (id) => announce(records.retry(id)),

    watch(watcher) {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

function prepareInsert(db: Db) {
  type Values = [string, string, string | null, string | null, number | null, Rank, number, number, number];
  return db.prepare<Values>('enqueue job', `
    INSERT INTO jobs (kind, payload, dedupe_key, lane, owner, rank, run_at, max_attempts, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (kind, dedupe_key)
      WHERE dedupe_key IS NOT NULL AND state IN ('queued', 'retrying', 'running') DO NOTHING`);
}

/**
 * Settles the jobs of a restored database. Those of the kinds in `runAgain` start anew. The others may have been done
 * since the backup was made: they are discarded. Returns how many.
 */
export function settleRestoredJobs(db: Db, now: number, runAgain: readonly string[]): number {
  const discarded = db.prepare<[number, string]>('discard jobs that had run', `
    UPDATE jobs SET state = 'discarded', finished_at = ?, lease_token = NULL, lease_expires_at = NULL,
           last_error = 'the hub was restored from a backup'
     WHERE state IN ('queued', 'retrying', 'running') AND kind NOT IN (SELECT value FROM json_each(?))`)
    .run(now, JSON.stringify(runAgain));
  db.prepare<[number]>('give back running jobs', `
    UPDATE jobs SET state = 'queued', lease_token = NULL, lease_expires_at = NULL, run_at = MIN(run_at, ?)
     WHERE state = 'running'`).run(now);
  db.exec('DELETE FROM heartbeats');
  return discarded.changes;
}
