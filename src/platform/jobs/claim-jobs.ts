import { randomUUID } from 'node:crypto';
import { SECOND, type Clock } from '../clock.ts';
import { isStorageTrouble, type Db } from '../db/open-database.ts';
import { createReplacement } from './job-records.ts';
import { createOwnerTurns, type JobColumns } from './take-turns.ts';

/** A claimed job. Only the worker that holds `leaseToken` may finish the job. */
export type Job = Omit<JobColumns, 'payload'> & {
  payload: unknown;
  attempts: number; // including the current one
  leaseToken: string;
};

type DueColumns = JobColumns & { runAt: number };
type LeasedColumns = JobColumns & { leaseToken: string };
type Outlook = { due: number; owned: number; expired: number; farOff: number };

type OnDeadLettered = (job: Job, error: Error) => void;

export type Claim = ReturnType<typeof createClaim>;

/** Claims jobs for a worker, for `lease` ms. */
export function createClaim(db: Db, clock: Clock, lease: number) {
  const sql = prepareClaim(db);
  const takeTurns = createOwnerTurns(db);
  const claimDue = db.transaction('claim jobs', claimInTransaction);
  const deadLetterAbandoned = createDeadLettering(db, clock, lease);

  function claimInTransaction(kind: string, limit: number, outlook: Outlook): Job[] {
    const now = clock();
    const token = randomUUID();
    if (outlook.farOff) sql.shorten.run(now + lease, now + lease + SECOND);
    const expired = outlook.expired ? sql.expired.all(kind, now, limit) : [];
    const claimed = expired.map((row) => take(row, token, now + lease));
    const room = limit - claimed.length;
    if (!outlook.due || room <= 0) return claimed;
    const due = outlook.owned
      ? takeTurns(kind, room, now, (row) => take(row, token, now + lease))
      : takeDue(kind, room, now, token);
    return [...claimed, ...due];
  }

  function takeDue(kind: string, limit: number, now: number, token: string): Job[] {
    const claimed: Job[] = [];
    const lanes = new Set<string>();
    let after = { runAt: -1, id: 0 };
    while (claimed.length < limit) {
      const pageSize = limit - claimed.length;
      const page = sql.due.all(kind, now, after.runAt, after.id, pageSize);
      const free = page.filter(({ lane }) => lane === null || (!lanes.has(lane) && lanes.add(lane)));
      for (const row of free) claimed.push(take(row, token, now + lease));
      const last = page.at(-1);
      if (!last || page.length < pageSize) break;
      after = last;
    }
    return claimed;
  }

  function take(row: JobColumns, token: string, leaseExpiresAt: number): Job {
    sql.take.run(token, leaseExpiresAt, row.id);
    return toJob({ ...row, attempts: row.attempts + 1 }, token);
  }

  return {
    /**
     * Claims up to `limit` jobs, first those whose lease ran out, then due ones; never two with the same `lane`. A job
     * whose lease ran out in its last attempt is dead-lettered; an error of `onDeadLettered` is rethrown. Shortens
     * leases that end too far in the future because the clock was set back.
     */
    claim(kind: string, limit: number, onDeadLettered: OnDeadLettered = () => {}): Job[] {
      if (limit <= 0) return [];
      const now = clock();
      const outlook = sql.outlook.get({ kind, now, furthest: now + lease + SECOND });
      if (!outlook || (!outlook.due && !outlook.expired && !outlook.farOff)) return [];
      if (outlook.expired) deadLetterAbandoned(kind, onDeadLettered);
      return claimDue(kind, limit, outlook);
    },
  };
}

function createDeadLettering(db: Db, clock: Clock, lease: number) {
  const sql = prepareDeadLettering(db);
  const replaceEarlier = createReplacement(db, clock);
  const deadLetter = db.transaction('dead-letter abandoned job', deadLetterInTransaction);

  function deadLetterInTransaction(row: LeasedColumns, onDeadLettered: OnDeadLettered): void {
    const error = new Error(`worker died or lost the job in attempt ${row.attempts} of ${row.maxAttempts}`);
    const now = clock();
    const { changes } = sql.deadLetter.run(error.message, now, row.id, row.leaseToken, now);
    if (changes === 0) return;
    replaceEarlier(row);
    onDeadLettered(toJob(row, row.leaseToken), error);
  }

  /** If `onDeadLettered` throws, the job is postponed by one lease, lest it block others; not if the storage fails. */
  function deadLetterOrPostpone(row: LeasedColumns, onDeadLettered: OnDeadLettered): void {
    try {
      deadLetter(row, onDeadLettered);
    } catch (error) {
      if (!isStorageTrouble(error)) sql.postpone.run(clock() + lease, row.id, row.leaseToken);
      throw error;
    }
  }

  return function deadLetterAbandoned(kind: string, onDeadLettered: OnDeadLettered): void {
    for (const row of sql.abandoned.all(kind, clock())) deadLetterOrPostpone(row, onDeadLettered);
  };
}

const COLUMNS = 'id, kind, payload, dedupe_key AS dedupeKey, lane, attempts, max_attempts AS maxAttempts';

function prepareClaim(db: Db) {
  return {
    // This query takes no write lock, so that an idle worker never blocks a writer.
    outlook: db.prepare<[{ kind: string; now: number; furthest: number }], Outlook>('outlook of jobs', `
      SELECT EXISTS (SELECT 1 FROM jobs
                      WHERE kind = @kind AND state IN ('queued', 'retrying') AND run_at <= @now) AS due,
             EXISTS (SELECT 1 FROM jobs WHERE kind = @kind AND state IN ('queued', 'retrying') AND owner > 0) AS owned,
             EXISTS (SELECT 1 FROM jobs
                      WHERE kind = @kind AND state = 'running' AND lease_expires_at <= @now) AS expired,
             EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND lease_expires_at > @furthest) AS farOff`),
    expired: db.prepare<[string, number, number], JobColumns>('expired leases', `
      SELECT ${COLUMNS} FROM jobs
       WHERE kind = ? AND state = 'running' AND lease_expires_at <= ? AND attempts < max_attempts
       ORDER BY lease_expires_at, id LIMIT ?`),
    due: db.prepare<[string, number, number, number, number], DueColumns>('due jobs', `
      SELECT ${COLUMNS}, run_at AS runAt FROM jobs
       WHERE kind = ? AND state IN ('queued', 'retrying') AND run_at <= ? AND (run_at, id) > (?, ?)
         AND (lane IS NULL OR NOT EXISTS
               (SELECT 1 FROM jobs AS busy WHERE busy.lane = jobs.lane AND busy.state = 'running'))
       ORDER BY run_at, id LIMIT ?`),
    take: db.prepare<[string, number, number]>('take job', `
      UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_token = ?, lease_expires_at = ? WHERE id = ?`),
    shorten: db.prepare<[number, number]>('shorten leases', `
      UPDATE jobs SET lease_expires_at = ? WHERE state = 'running' AND lease_expires_at > ?`),
  };
}

function prepareDeadLettering(db: Db) {
  return {
    abandoned: db.prepare<[string, number], LeasedColumns>('abandoned jobs', `
      SELECT ${COLUMNS}, lease_token AS leaseToken FROM jobs
       WHERE kind = ? AND state = 'running' AND lease_expires_at <= ? AND attempts >= max_attempts`),
    postpone: db.prepare<[number, number, string]>('postpone dead-lettering', `
      UPDATE jobs SET lease_expires_at = ? WHERE id = ? AND lease_token = ?`),
    deadLetter: db.prepare<[string, number, number, string, number]>('dead-letter abandoned job', `
      UPDATE jobs
         SET state = 'failed', last_error = ?, finished_at = ?, lease_token = NULL, lease_expires_at = NULL
       WHERE id = ? AND lease_token = ? AND lease_expires_at <= ?`),
  };
}

function toJob({ id, kind, payload, dedupeKey, lane, attempts, maxAttempts }: JobColumns, leaseToken: string): Job {
  return { id, kind, payload: JSON.parse(payload), dedupeKey, lane, attempts, maxAttempts, leaseToken };
}
