import { DAY, HOUR, type Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { createTimeRepair, type StoredTime } from './scheduler.ts';
import { createJobReadings, type JobReadings } from './job-readings.ts';

/**
 * Which of the jobs with an owner come first: what somebody has just asked for, then what is likely to go well, then
 * what failed last time or was never tried.
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
 * The durable queue on table `jobs`: a job is done at least once, the effects it completes with exactly once. What
 * workers do besides, claim jobs and end them, is in `worker-queue.ts`.
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

/** Every state of a job: first those that need attention, last those that are final. */
export const JOB_STATES = ['failed', 'retrying', 'queued', 'running', 'done', 'discarded'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** A job as administrators see it. Times are unix ms. */
export type JobRow = {
  id: number;
  kind: string;
  payload: unknown;
  dedupeKey: string | null;
  lane: string | null;
  state: JobState;
  runAt: number;
  attempts: number;
  maxAttempts: number;
  leaseExpiresAt: number | null;
  lastError: string | null;
  createdAt: number;
  finishedAt: number | null;
};

/** `before` is the id of the last job of the page before; `limit` is 30 when absent. */
type JobFilter = { state?: JobState | undefined; limit?: number; before?: number | undefined };

type JobColumns = Omit<JobRow, 'payload'> & { payload: string };

const COLUMNS = `id, kind, payload, dedupe_key AS dedupeKey, lane, state, run_at AS runAt, attempts,
  max_attempts AS maxAttempts, lease_expires_at AS leaseExpiresAt, last_error AS lastError,
  created_at AS createdAt, finished_at AS finishedAt`;

/** No job is put off for longer than this, whatever its kind. */
const LONGEST_PAUSE = DAY + HOUR;

/** When waiting jobs are due, those of one kind or all. */
export function dueTimes(furthest: number, kind?: string): StoredTime {
  const ofKind = kind === undefined ? '' : ` AND kind = '${kind}'`;
  return { table: 'jobs', column: 'run_at', furthest, where: `state IN ('queued', 'retrying')${ofKind}` };
}

/** How administrators see and change jobs, and how old ones are removed. */
type JobRecords = {
  /** The newest first. */
  list(filter?: JobFilter): JobRow[];
  find(id: number): JobRow | undefined;
  /** Failed → queued with fresh attempts. False when it is not failed, or a live job with its key exists. */
  retry(id: number): boolean;
  /** The waiting job of that kind and key is due now. False when there is none, or it runs already. */
  hurry(kind: string, dedupeKey: string): boolean;
  bringBackTimes(): void;
  /** Discards failed jobs of that key, since a later one has succeeded. Returns how many there were. */
  settleFailed(kind: string, dedupeKey: string): number;
  /** A failed or waiting job will not run. False for one that is running or at its end. */
  discard(id: number): boolean;
  /** Removes up to `limit` jobs that were done or discarded before `before` (unix ms). Returns how many. */
  prune(before: number, limit: number): number;
};

function createJobRecords(db: Db, clock: Clock): JobRecords {
  const sql = prepareStatements(db);

  return {
    list({ state, limit = 30, before = Number.MAX_SAFE_INTEGER } = {}) {
      const rows = state ? sql.listState[state].all(before, limit) : sql.list.all(before, limit);
      return rows.map(toRow);
    },
    find(id) {
      const row = sql.find.get(id);
      return row && toRow(row);
    },
    retry: (id) => sql.retry.run(clock(), id).changes === 1,
    hurry: (kind, dedupeKey) => sql.hurry.run(clock(), kind, dedupeKey).changes === 1,
    bringBackTimes: createTimeRepair(db, clock, [dueTimes(LONGEST_PAUSE)]),
    settleFailed: (kind, dedupeKey) => sql.settleFailed.run(clock(), kind, dedupeKey).changes,
    discard: (id) => sql.discard.run(clock(), id).changes === 1,
    prune: (before, limit) => sql.prune.run(before, limit).changes,
  };
}

function prepareStatements(db: Db) {
  return {
    list: prepareList(db, 'list jobs', 'id < ? ORDER BY id DESC'),
    listState: prepareListsByState(db),
    find: db.prepare<[number], JobColumns>('find job', `SELECT ${COLUMNS} FROM jobs WHERE id = ?`),
    // Rank 0 is what somebody asked for (take-turns.ts).
    retry: db.prepare<[number, number]>('retry failed job', `
      UPDATE jobs SET state = 'queued', rank = 0, run_at = ?, attempts = 0, finished_at = NULL
       WHERE id = ? AND state = 'failed'
         AND NOT EXISTS (SELECT 1 FROM jobs AS live
                          WHERE live.kind = jobs.kind AND live.dedupe_key = jobs.dedupe_key
                            AND live.state IN ('queued', 'retrying', 'running'))`),
    hurry: db.prepare<[number, string, string]>('hurry job', `
      UPDATE jobs SET rank = 0, run_at = MIN(run_at, ?)
       WHERE kind = ? AND dedupe_key = ? AND state IN ('queued', 'retrying')`),
    settleFailed: db.prepare<[number, string, string]>('settle failed jobs', `
      UPDATE jobs SET state = 'discarded', finished_at = ? WHERE kind = ? AND dedupe_key = ? AND state = 'failed'`),
    discard: db.prepare<[number, number]>('discard job', `
      UPDATE jobs SET state = 'discarded', finished_at = ?
       WHERE id = ? AND state IN ('queued', 'retrying', 'failed')`),
    prune: db.prepare<[number, number]>('prune jobs', `
      DELETE FROM jobs WHERE id IN
        (SELECT id FROM jobs WHERE state IN ('done', 'discarded') AND finished_at < ? LIMIT ?)`),
  };
}

/**
 * The states are spelled out, because a bound parameter cannot use a partial index. The + keeps SQLite from walking
 * down all ids instead, past every finished job, to find the few that are waiting, running or failed.
 */
function prepareListsByState(db: Db) {
  const few = (state: JobState, also = '') =>
    prepareList(db, `list ${state} jobs`, `+id < ? AND state = '${state}' ${also} ORDER BY +id DESC`);
  const many = (state: JobState) =>
    prepareList(db, `list ${state} jobs`, `id < ? AND state = '${state}' ORDER BY id DESC`);
  const waiting = `AND state IN ('queued', 'retrying')`;
  return {
    queued: few('queued', waiting),
    retrying: few('retrying', waiting),
    running: few('running'),
    failed: few('failed'),
    done: many('done'),
    discarded: many('discarded'),
  };
}

function prepareList(db: Db, name: string, condition: string) {
  return db.prepare<[number, number], JobColumns>(name, `SELECT ${COLUMNS} FROM jobs WHERE ${condition} LIMIT ?`);
}

function toRow(row: JobColumns): JobRow {
  return { ...row, payload: JSON.parse(row.payload) };
}

/**
 * In a database that was restored: jobs of the kinds that may run again do, as if no worker had begun them; the others
 * may have been done since the backup was made, and are discarded. Returns how many those are.
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
