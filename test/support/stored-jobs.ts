import assert from 'node:assert/strict';
import { createJobRecords, type JobRow } from '../../src/platform/jobs/job-records.ts';
import type { WorkerQueue } from '../../src/platform/jobs/worker-queue.ts';
import type { Stored } from './stored-rows.ts';

type NewJob = Omit<JobRow, 'maxAttempts' | 'progress' | 'progressTotal' | 'createdAt' | 'finishedAt'>;

/** A job in any state, as if the hub had brought it there; the worker of a running one is gone. Returns its id. */
export function addJob({ db }: Stored, job: Partial<NewJob> = {}): number {
  const row = {
    id: null, kind: 'sync-source', state: 'queued', runAt: 0, dedupeKey: null, lane: null, lastError: null, attempts: 0,
    leaseExpiresAt: job.state === 'running' ? 1 : null, ...job, payload: JSON.stringify(job.payload ?? {}),
  };
  return db.prepare<[object]>('add job', `
    INSERT INTO jobs (id, kind, payload, state, run_at, dedupe_key, lane, last_error, attempts, max_attempts, created_at,
                      lease_token, lease_expires_at, finished_at)
    VALUES (@id, @kind, @payload, @state, @runAt, @dedupeKey, @lane, @lastError, @attempts, 5, 0,
            iif(@leaseExpiresAt IS NULL, NULL, 'gone'), @leaseExpiresAt, iif(@state = 'failed', 0, NULL))`)
    .run(row).lastInsertRowid;
}

/** Lets a job of source 1 fail for good, as a worker does. Returns its id. */
export function addFailedJob(queue: WorkerQueue, dedupeKey: string, error: string): number {
  queue.enqueue({ kind: 'sync-source', payload: { sourceId: 1 }, dedupeKey, maxAttempts: 1 });
  const [job] = queue.claim('sync-source', 1);
  assert.ok(job);
  queue.fail(job, new Error(error));
  return job.id;
}

/** Every job, of one kind or all, oldest first. */
export function storedJobs({ db }: Stored, wanted?: string): JobRow[] {
  const all = createJobRecords(db, Date.now).list({ limit: 100_000 }).reverse();
  return all.filter(({ kind }) => wanted === undefined || kind === wanted);
}

/** All jobs of that kind have failed for good. */
export function failJobs({ db }: Stored, kind: string): void {
  db.prepare<[string]>('fail jobs', `
    UPDATE jobs SET state = 'failed', finished_at = 1, last_error = 'x' WHERE kind = ?`).run(kind);
}

/** Jobs of a worker that was killed are free as after their lease, with tries left unless `attempts` still count. */
export function endLeases({ db }: Stored, attempts: 'forgotten' | 'counted' = 'forgotten'): void {
  db.exec(`UPDATE jobs SET lease_expires_at = 0 ${attempts === 'forgotten' ? ', attempts = 1' : ''} WHERE state = 'running'`);
}

/** Takes running jobs from their worker once the post with that guid is stored; returns what ends that. */
export function loseLeasesAt({ db }: Stored, guid: string): () => void {
  db.exec(`CREATE TRIGGER lose AFTER INSERT ON posts WHEN NEW.guid = '${guid}' BEGIN
    UPDATE jobs SET lease_token = 'another' WHERE state = 'running'; END`);
  return () => db.exec('DROP TRIGGER lose');
}

/** How far jobs of a kind said to be from now on, each time that they said it. */
export function watchProgress({ db }: Stored): (kind: string) => [progress: number, total: number | null][] {
  db.exec(`CREATE TEMP TABLE said (kind TEXT, progress INTEGER, total INTEGER);
    CREATE TEMP TRIGGER says AFTER UPDATE OF progress ON main.jobs
    BEGIN INSERT INTO said VALUES (NEW.kind, NEW.progress, NEW.progress_total); END`);
  const read = db.prepare<[string], { progress: number; total: number | null }>('said', 'SELECT progress, total FROM said WHERE kind = ?');
  return (kind) => read.all(kind).map(({ progress, total }) => [progress, total]);
}
