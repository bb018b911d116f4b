import { SECOND, type Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { createJobReadings } from '../../platform/jobs/job-records.ts';
import { type CountsReading, createKeptCounts } from '../../platform/metrics/kept-counts.ts';

export const SYNC_JOB = 'sync-source';

const WORKER_ALIVE_SECONDS = 30;

export type Health = {
  ok: true;
  failedJobs: number;
  database: 'ok';
  worker: { ok: boolean; lastSeenSeconds: number | null };
  schemaVersion: number;
  oldestDueJobSeconds: number;
};

/** What a scrape needs from the database. Ages are whole seconds, 0 where there is nothing of the kind. */
export type ServiceReading = {
  counts: CountsReading;
  workerSeenAt: number | null; // unix ms
  oldestDueSyncSeconds: number;
  oldestSuccessSeconds: number;
};

export type HealthStore = {
  /** Throws when the database is not readable. */
  readHealth(): Health;
  readService(): ServiceReading;
  sqliteVersion: string;
};

/** Reads kept counts and single rows by index: no statement here takes longer as the data grows. */
export function createHealthStore(db: Db, clock: Clock): HealthStore {
  const kept = createKeptCounts(db);
  const jobs = createJobReadings(db, clock);
  const sqliteVersion = db.prepare<[], { version: string }>('version of SQLite',
    'SELECT sqlite_version() AS version').get();
  const schemaVersion = db.prepare<[], { version: number | null }>('newest migration',
    'SELECT MAX(version) AS version FROM schema_migrations');
  const workerSeen = db.prepare<[], { seenAt: number }>('when the worker was seen', `
    SELECT seen_at AS seenAt FROM heartbeats WHERE program = 'worker'`);
  // Left to itself, SQLite sorts the whole table once ANALYZE has told it that nearly every row is in the index.
  const mostBehind = db.prepare<[], { at: number }>('source that is most behind', `
    SELECT COALESCE(last_success_at, created_at) AS at FROM sources INDEXED BY sources_behind
    WHERE kind = 'feed' AND state <> 'paused' ORDER BY COALESCE(last_success_at, created_at) LIMIT 1`);

  /** Never negative: clocks may be set back. */
  function secondsSince(at: number): number {
    return Math.max(0, Math.floor((clock() - at) / SECOND));
  }

  function oldestDueSeconds(kind: string): number {
    return Math.floor(jobs.oldestDueSeconds(kind));
  }

  function readHealth(): Health {
    const counts = kept.read();
    const seenAt = workerSeen.get()?.seenAt;
    const lastSeenSeconds = seenAt === undefined ? null : secondsSince(seenAt);
    return {
      ok: true,
      failedJobs: counts.value('jobs', `${SYNC_JOB},failed`),
      database: 'ok',
      worker: { ok: lastSeenSeconds !== null && lastSeenSeconds <= WORKER_ALIVE_SECONDS, lastSeenSeconds },
      schemaVersion: schemaVersion.get()?.version ?? 0,
      oldestDueJobSeconds: Math.max(0, ...jobKinds(counts).map(oldestDueSeconds)),
    };
  }

  function readService(): ServiceReading {
    const behind = mostBehind.get();
    return {
      counts: kept.read(),
      workerSeenAt: workerSeen.get()?.seenAt ?? null,
      oldestDueSyncSeconds: oldestDueSeconds(SYNC_JOB),
      oldestSuccessSeconds: behind ? secondsSince(behind.at) : 0,
    };
  }

  return { readHealth, readService, sqliteVersion: sqliteVersion?.version ?? '' };
}

/** The kinds that have ever been queued, from the labels `kind,state` of the kept counts. */
function jobKinds(counts: CountsReading): string[] {
  return [...new Set(counts.labels('jobs').map((label) => label.slice(0, label.lastIndexOf(','))))];
}
