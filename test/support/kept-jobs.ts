import type { Db } from '../../src/platform/db/open-database.ts';
import type { JobRow } from '../../src/platform/jobs/job-records.ts';
import { createJobQueue } from '../../src/platform/jobs/job-queue.ts';

type NewJob = Pick<JobRow, 'id' | 'kind' | 'payload' | 'state' | 'runAt' | 'dedupeKey' | 'lane' | 'lastError'>;

/** A job in any state but `running`, as if the hub had brought it there. Returns its id. */
export function addJob({ db }: { db: Db }, job: Partial<NewJob> = {}): number {
  const row = { id: null, kind: 'sync-source', state: 'queued', runAt: 0, dedupeKey: null, lane: null, lastError: null, ...job };
  return db.prepare<[object]>('add job', `
    INSERT INTO jobs (id, kind, payload, state, run_at, dedupe_key, lane, last_error, max_attempts, created_at)
    VALUES (@id, @kind, @payload, @state, @runAt, @dedupeKey, @lane, @lastError, 5, 0)`)
    .run({ ...row, payload: JSON.stringify(job.payload ?? {}) }).lastInsertRowid;
}

/** All jobs, or those of that kind, the oldest first. */
export function storedJobs({ db }: { db: Db }, kind?: string): JobRow[] {
  const all = createJobQueue(db, Date.now).list({ limit: 100_000 }).reverse();
  return kind === undefined ? all : all.filter((job) => job.kind === kind);
}

/** All jobs of that kind have failed for good. */
export function failJobs({ db }: { db: Db }, kind: string): void {
  db.prepare<[string]>('fail jobs', `
    UPDATE jobs SET state = 'failed', finished_at = 1, last_error = 'x' WHERE kind = ?`).run(kind);
}

/** Jobs of a worker that was killed are free as after their lease, with tries left. */
export function endLeases({ db }: { db: Db }): void {
  db.exec(`UPDATE jobs SET lease_expires_at = 0, attempts = 1 WHERE state = 'running'`);
}

/** How far jobs of a kind said to be from now on, each time that they said it. */
export function watchProgress({ db }: { db: Db }): (kind: string) => [progress: number, total: number | null][] {
  db.exec(`CREATE TEMP TABLE said (kind TEXT, progress INTEGER, total INTEGER);
    CREATE TEMP TRIGGER says AFTER UPDATE OF progress ON main.jobs
    BEGIN INSERT INTO said VALUES (NEW.kind, NEW.progress, NEW.progress_total); END`);
  const read = db.prepare<[string], { progress: number; total: number | null }>('said', 'SELECT progress, total FROM said WHERE kind = ?');
  return (kind) => read.all(kind).map(({ progress, total }) => [progress, total]);
}
