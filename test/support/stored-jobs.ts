import assert from 'node:assert/strict';
import { createJobRecords, type JobRow } from '../../src/platform/jobs/job-records.ts';
import type { WorkerQueue } from '../../src/platform/jobs/worker-queue.ts';
import type { Stored } from './stored-rows.ts';

/** Every job, of one kind or all, oldest first. */
export function storedJobs({ db }: Stored, wanted?: string): JobRow[] {
  const all = createJobRecords(db, Date.now).list({ limit: 100_000 }).reverse();
  return all.filter(({ kind }) => wanted === undefined || kind === wanted);
}

/** Lets a job of source 1 fail for good, as a worker does. Returns its id. */
export function addFailedJob(queue: WorkerQueue, dedupeKey: string, error: string): number {
  queue.enqueue({ kind: 'sync-source', payload: { sourceId: 1 }, dedupeKey, maxAttempts: 1 });
  const [job] = queue.claim('sync-source', 1);
  assert.ok(job);
  queue.fail(job, new Error(error));
  return job.id;
}

type LeftJob = Pick<JobRow, 'kind' | 'state'> &
  Partial<Pick<JobRow, 'payload' | 'dedupeKey' | 'lane' | 'leaseExpiresAt'>>;

/** A job as a worker that is gone left it after five attempts; a running one has its lease until then. */
export function putJob({ db }: Stored, { payload = {}, leaseExpiresAt = 1, ...job }: LeftJob): void {
  const lease = job.state === 'running' ? leaseExpiresAt : null;
  db.prepare<[object]>('put job', `
    INSERT INTO jobs (kind, payload, dedupe_key, lane, state, run_at, attempts, max_attempts, created_at, lease_token,
                      lease_expires_at, finished_at)
    VALUES (@kind, @payload, @dedupeKey, @lane, @state, 0, 5, 5, 0, iif(@lease IS NULL, NULL, 'gone'), @lease,
            iif(@state = 'failed', 0, NULL))`)
    .run({ dedupeKey: null, lane: null, ...job, payload: JSON.stringify(payload), lease });
}

/** Takes running jobs from their worker once the post with that guid is stored; returns what ends that. */
export function loseLeasesAt({ db }: Stored, guid: string): () => void {
  db.exec(`CREATE TRIGGER lose AFTER INSERT ON posts WHEN NEW.guid = '${guid}' BEGIN
    UPDATE jobs SET lease_token = 'another' WHERE state = 'running'; END`);
  return () => db.exec('DROP TRIGGER lose');
}
