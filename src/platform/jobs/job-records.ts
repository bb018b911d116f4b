import { DAY, HOUR, SECOND, type Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import { createTimeRepair, type StoredTime } from './scheduler.ts';

/** Those that need attention first, the final ones last. */
export const JOB_STATES = ['failed', 'retrying', 'queued', 'running', 'done', 'discarded'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** A job as shown to administrators. Times are unix ms. */
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
  progress: number | null;
  progressTotal: number | null;
  createdAt: number;
  finishedAt: number | null;
};

/** `before`: the id of the last job on the previous page. */
type JobFilter = { state?: JobState | undefined; limit?: number; before?: number | undefined };

type JobColumns = Omit<JobRow, 'payload'> & { payload: string };

const COLUMNS = `id, kind, payload, dedupe_key AS dedupeKey, lane, state, run_at AS runAt, attempts,
  max_attempts AS maxAttempts, lease_expires_at AS leaseExpiresAt, last_error AS lastError, progress,
  progress_total AS progressTotal, created_at AS createdAt, finished_at AS finishedAt`;

const LONGEST_PAUSE = DAY + HOUR;

/** Due times of waiting jobs, for `createTimeRepair`. */
export function dueTimes(furthest: number, kind?: string): StoredTime {
  const ofKind = kind === undefined ? '' : ` AND kind = '${kind}'`;
  return { table: 'jobs', column: 'run_at', furthest, where: `state IN ('queued', 'retrying')${ofKind}` };
}

export type JobRecords = ReturnType<typeof createJobRecords>;

/** Finds and changes stored jobs. Workers claim and end them in claim-jobs.ts and finish-jobs.ts. */
export function createJobRecords(db: Db, clock: Clock) {
  const sql = prepareStatements(db);

  return {
    list({ state, limit = 30, before = Number.MAX_SAFE_INTEGER }: JobFilter = {}): JobRow[] {
      const rows = state ? sql.listState[state].all(before, limit) : sql.list.all(before, limit);
      return rows.map(toRow);
    },
    find(id: number): JobRow | undefined {
      const row = sql.find.get(id);
      return row && toRow(row);
    },
    /** Queues a failed job with all attempts. Returns false if the job is not failed, or its key is in use. */
    retry: (id: number): boolean => sql.retry.run(clock(), id).changes === 1,
    /** Stores a job's progress (`total` is null if unknown), in a transaction that the job makes anyway. */
    noteProgress: (id: number, progress: number, total: number | null): void =>
      void sql.noteProgress.run(progress, total, id),
    /** Makes the waiting job with this key due now. Returns false if no such job is waiting. */
    hurry: (kind: string, dedupeKey: string): boolean => sql.hurry.run(clock(), kind, dedupeKey).changes === 1,
    bringBackTimes: createTimeRepair(db, clock, [dueTimes(LONGEST_PAUSE)]),
    /** Discards failed jobs whose work has been done since, or is no longer wanted. Returns how many. */
    settleFailed: (kind: string, dedupeKey: string): number => sql.settleFailed.run(clock(), kind, dedupeKey).changes,
    /** Discards up to `limit` failures that hubs before 2.1.0 kept beside a later one of the same kind and key. */
    discardReplaced: (limit: number): number => sql.discardReplaced.run(clock(), limit).changes,
    discard: (id: number): boolean => sql.discard.run(clock(), id).changes === 1,
    /** Removes up to `limit` jobs done or discarded before `before` (unix ms). Returns how many. */
    prune: sql.prune.change,
  };
}

function prepareStatements(db: Db) {
  return {
    list: prepareList(db, 'list jobs', 'id < ? ORDER BY id DESC'),
    listState: prepareListsByState(db),
    find: db.prepare<[number], JobColumns>('find job', `SELECT ${COLUMNS} FROM jobs WHERE id = ?`),
    // Rank 0: a user asked for the job (RANKS in job-queue.ts).
    retry: db.prepare<[number, number]>('retry failed job', `
      UPDATE jobs SET state = 'queued', rank = 0, run_at = ?, attempts = 0, finished_at = NULL
       WHERE id = ? AND state = 'failed'
         AND NOT EXISTS (SELECT 1 FROM jobs AS live
                          WHERE live.kind = jobs.kind AND live.dedupe_key = jobs.dedupe_key
                            AND live.state IN ('queued', 'retrying', 'running'))`),
    noteProgress: db.prepare<[number, number | null, number]>('note progress of job',
      'UPDATE jobs SET progress = ?, progress_total = ? WHERE id = ?'),
    hurry: db.prepare<[number, string, string]>('hurry job', `
      UPDATE jobs SET rank = 0, run_at = MIN(run_at, ?)
       WHERE kind = ? AND dedupe_key = ? AND state IN ('queued', 'retrying')`),
    settleFailed: db.prepare<[number, string, string]>('settle failed jobs', `
      UPDATE jobs SET state = 'discarded', finished_at = ? WHERE kind = ? AND dedupe_key = ? AND state = 'failed'`),
    discardReplaced: db.prepare<[number, number]>('discard replaced failures of old hubs', `
      UPDATE jobs SET state = 'discarded', finished_at = ? WHERE id IN
        (SELECT id FROM jobs WHERE state = 'failed' AND EXISTS
          (SELECT 1 FROM jobs AS later WHERE later.kind = jobs.kind AND later.dedupe_key = jobs.dedupe_key
              AND later.state = 'failed' AND later.id > jobs.id) LIMIT ?)`),
    discard: db.prepare<[number, number]>('discard job', `
      UPDATE jobs SET state = 'discarded', finished_at = ?
       WHERE id = ? AND state IN ('queued', 'retrying', 'failed')`),
    prune: db.prepare<[before: number, limit: number]>('prune jobs', `
      DELETE FROM jobs WHERE id IN
        (SELECT id FROM jobs WHERE state IN ('done', 'discarded') AND finished_at < ? LIMIT ?)`),
  };
}

/**
 * The SQL spells out each state, because a bound parameter cannot use a partial index. The unary + keeps SQLite from
 * scanning all ids, past every finished job, to find the few waiting, running or failed jobs.
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

/** Returns a function with which a failed job takes the place of the earlier failures of its kind and dedupe key. */
export function createReplacement(db: Db, clock: Clock): (job: Pick<JobRow, 'id' | 'kind' | 'dedupeKey'>) => void {
  const discard = db.prepare<[number, string, string | null, number]>('discard replaced failures', `
    UPDATE jobs SET state = 'discarded', finished_at = ?
     WHERE kind = ? AND dedupe_key = ? AND state = 'failed' AND id <> ?`);
  return ({ id, kind, dedupeKey }) => void discard.run(clock(), kind, dedupeKey, id);
}

function toRow(row: JobColumns): JobRow {
  return { ...row, payload: JSON.parse(row.payload) };
}

export type JobFigures = ReturnType<typeof createJobFigures>;

/** In units of the job's own choice; `total` is null if the job does not know it. */
export type JobProgress = { done: number; total: number | null };

/** Queue figures for health checks, metrics and the worker, by indices, so that they stay fast as `jobs` grows. */
export function createJobFigures(db: Db, clock: Clock) {
  const failed = db.prepare<[string], { value: number }>('failed jobs', `
    SELECT value FROM counts WHERE metric = 'jobs' AND label = ? || ',failed'`);
  const firstFailed = db.prepare<[string], { at: number }>('job that failed first', `
    SELECT finished_at AS at FROM jobs INDEXED BY jobs_failed_at
     WHERE state = 'failed' AND finished_at > 0 AND kind <> ? ORDER BY finished_at LIMIT 1`);
  const lastDone = db.prepare<[], { at: number }>('job that was done last', `
    SELECT finished_at AS at FROM jobs INDEXED BY jobs_finished
     WHERE state IN ('done', 'discarded') ORDER BY finished_at DESC LIMIT 1`);
  const underWay = db.prepare<[string, string, number], { id: number }>('job under way', `
    SELECT id FROM jobs WHERE kind = ? AND dedupe_key = ? AND state IN ('queued', 'retrying', 'running')
       AND (state = 'running' OR run_at <= ?)`);
  const leaseEnd = db.prepare<[number, string], { at: number }>('end of lease', `
    SELECT lease_expires_at AS at FROM jobs WHERE id = ? AND lease_token = ?`);
  const firstDue = db.prepare<[string, number], { at: number }>('first due job', `
    SELECT run_at AS at FROM jobs WHERE kind = ? AND state IN ('queued', 'retrying') AND run_at > ?
     ORDER BY run_at LIMIT 1`);
  const firstOfOwner = db.prepare<[string, number, number], { at: number | null }>('first due job of an owner', `
    SELECT MIN(run_at) AS at FROM jobs WHERE kind = ? AND rank = ? AND owner = ? AND state IN ('queued', 'retrying')`);
  const firstLeaseEnd = db.prepare<[string, number], { at: number }>('first end of a lease', `
    SELECT lease_expires_at AS at FROM jobs WHERE kind = ? AND state = 'running' AND lease_expires_at > ?
     ORDER BY lease_expires_at LIMIT 1`);

  return {
    /** The number of failed jobs of a kind that nobody has retried, discarded or settled. */
    failedCount: (kind: string): number => failed.get(kind)?.value ?? 0,
    /** When the first failed job of a kind other than `except` failed, unix ms; null if no such job is failed. */
    failedSince: (except: string): number | null => firstFailed.get(except)?.at ?? null,
    /** When the last job was done or discarded, unix ms; null if no job was. */
    lastDoneAt: (): number | null => lastDone.get()?.at ?? null,
    isUnderWay: (kind: string, dedupeKey: string): boolean => underWay.get(kind, dedupeKey, clock()) !== undefined,
    isLive: db.prepare<[kind: string, dedupeKey: string], { id: number }>('live job', `
      SELECT id FROM jobs WHERE kind = ? AND dedupe_key = ? AND state IN ('queued', 'retrying', 'running')`).has,
    /** The progress of the live job with this key; undefined if no such job reports progress. */
    progressOf: db.prepare<[kind: string, dedupeKey: string], JobProgress>('progress of job', `
      SELECT progress AS done, progress_total AS total FROM jobs WHERE kind = ? AND dedupe_key = ?
         AND state IN ('queued', 'retrying', 'running') AND progress IS NOT NULL`).get,
    /** When the lease of a claimed job ends, unix ms; null if the lease was lost. */
    leaseEnd: ({ id, leaseToken }: { id: number; leaseToken: string }): number | null =>
      leaseEnd.get(id, leaseToken)?.at ?? null,

    /** How long the oldest due job of the kind has waited; 0 if no job is due. */
    oldestDueSeconds(kind: string): number {
      const first = firstDue.get(kind, -1);
      return first ? Math.max(0, (clock() - first.at) / SECOND) : 0;
    },

    /** How long the oldest due job of the kind, rank and owner has waited, in ms; 0 if no such job is due. */
    waitOfOwner(kind: string, rank: number, owner: number): number {
      return Math.max(0, clock() - (firstOfOwner.get(kind, rank, owner)?.at ?? Infinity));
    },

    /** The first time later than `after` at which a job falls due or a lease ends; null if no such time is stored. */
    nextDueAt(kinds: string[], after = -1): number | null {
      const moments = kinds.flatMap((kind) => [firstDue.get(kind, after), firstLeaseEnd.get(kind, after)]);
      const times = moments.flatMap((moment) => (moment ? [moment.at] : []));
      return times.length > 0 ? Math.min(...times) : null;
    },
  };
}
