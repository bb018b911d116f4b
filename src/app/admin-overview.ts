import type { Overview } from '../features/admin/overview-views.ts';
import { readBackupStatus } from '../features/backups/backup-status.ts';
import { readStorageSizes } from '../features/health/storage-sizes.ts';
import { createKeptCounts } from '../platform/metrics/kept-counts.ts';
import type { App } from './app.ts';
import type { Observations } from './observations.ts';
import { isStale, leastFree } from './trouble-bounds.ts';

/** What the administrators' first page shows, out of kept counts and a few small files. */
export function readingOverview(
  { db, clock, config }: App, { readHealth }: Pick<Observations, 'readHealth'>,
): () => Overview {
  const counts = createKeptCounts(db);

  return () => {
    const { worker, failedJobs, oldestDueJobSeconds, schemaVersion } = readHealth();
    const kept = counts.read();
    const jobs = kept.labels('jobs').map((label) => {
      const [kind = '', state = ''] = label.split(',');
      return { kind, state, count: kept.value('jobs', label) };
    });
    return {
      version: config.version, schemaVersion, worker, failedJobs, oldestDueJobSeconds,
      jobs: jobs.filter(({ count }) => count > 0),
      backup: backupOf(config.dataDir, clock()),
      storage: storageOf(config.databasePath, kept.value('uploads_bytes')),
    };
  };
}

function backupOf(dataDir: string, now: number): Overview['backup'] {
  const { lastSuccessAt, lastVerifiedAt, lastBackup, lastVerification, ...state } = readBackupStatus(dataDir);
  const failed = state.lastBackupFailed ? lastBackup : state.lastVerifyFailed ? lastVerification : null;
  return {
    lastAt: lastSuccessAt,
    verifiedAt: lastVerifiedAt,
    isStale: isStale(state.newestVerified, now),
    problem: failed && (failed.problem ?? 'the last run failed'),
  };
}

function storageOf(databasePath: string, uploadsBytes: number): Overview['storage'] {
  const sizes = readStorageSizes(databasePath);
  return { ...sizes, uploadsBytes, isLow: sizes.freeBytes < leastFree(sizes.databaseBytes, uploadsBytes) };
}
