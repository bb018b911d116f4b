import type { Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { createJobFigures, createJobRecords, type JobFigures, type JobRecords } from './job-records.ts';

/** Of jobs with owners: those that a user asked for, the usual ones, and those that failed last time or may fail. */
export const RANKS = { asked: 0, usual: 1, doubtful: 2 } as const;

export type Rank = (typeof RANKS)[keyof typeof RANKS];

const MAX_ATTEMPTS = 5;

export type NewJob = {
  kind: string;
  payload: unknown;
  dedupeKey?: string; // the queue holds at most one waiting or running job per kind and dedupe key
  lane?: string; // such as a host: of all jobs with the same lane, at most one runs at a time
  owner?: number; // account id of the job's owner; in a kind, all jobs or no jobs have owners; the owners take turns
  rank?: Rank; // default: usual
  runAt?: number; // when the job is due, unix ms; default: now
  maxAttempts?: number; // default: 5
};

export type JobQueue = JobRecords & JobFigures & {
  /** Adds a job, in the caller's transaction if any. Returns false if a live job has the same kind and dedupe key. */
  enqueue(job: NewJob): boolean;
  /** Calls `watcher` when this queue adds or retries a job, perhaps before the commit. The result ends that. */
  watch(watcher: () => void): () => void;
};

/** The durable queue on table `jobs`: a job may run several times, but its effects are stored at most once. */
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

    ...createJobFigures(db, clock),
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
 * Unfinished jobs of the kinds in `runAgain` will run again; the others are discarded, as they may have run since the
 * backup. Forgets all heartbeats too. Returns how many jobs were discarded.
 */
export function settleRestoredJobs(db: Db, now: number, runAgain: readonly string[]): number {
  const discarded = db.prepare<[number, string]>('discard jobs of a restored hub', `
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
