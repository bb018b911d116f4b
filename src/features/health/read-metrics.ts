import { SECOND } from '../../platform/clock.ts';
import { sqliteVersion } from '../../platform/db/open-database.ts';
import type { CountsReading } from '../../platform/metrics/counters.ts';
import type { HistogramSample } from '../../platform/metrics/exposition.ts';
import {
  createHttpMetrics, createProcessMetrics, type ProcessReading,
} from '../../platform/metrics/process-metrics.ts';
import { readBackupStatus, type BackupStatus } from '../backups/backup-status.ts';
import { syncSource } from '../feeds/sync-source.ts';
import { bufferedCounts, counts, heartbeats, jobs, once, type Hub } from '../hub/hub.ts';
import { syncState } from '../sources/sync-state-store.ts';
import { wholeSeconds } from './read-health.ts';
import { readStorageSizes, type StorageSizes } from './storage-sizes.ts';

/** What a scrape reads of the database and of a few small files. Ages are whole seconds, 0 where there is nothing. */
export type ServiceReading = {
  build: { version: string; node: string; sqlite: string };
  counts: CountsReading;
  workerSeenAt: number | null; // unix ms
  oldestDueSyncSeconds: number;
  oldestSuccessSeconds: number;
  cacheMaxBytes: number;
  storage: StorageSizes;
  backups: BackupStatus;
};

export type MetricsReading = ServiceReading & { http: readonly HistogramSample[]; process: ProcessReading };

/** The answers of this process. */
export const httpMetrics = once((_hub: Hub) => createHttpMetrics());

/** This process itself, from the first call on. */
export const processMetrics = once(({ clock }: Hub) => createProcessMetrics({ startedAtSeconds: clock() / SECOND }));

const versions = once(({ db, config }: Hub) =>
  ({ version: config.version, node: process.version, sqlite: sqliteVersion(db) }));

/** All that a scrape says, read once. What was counted in memory is written before. */
export function readMetrics(hub: Hub): MetricsReading {
  bufferedCounts(hub).flush();
  return { ...readService(hub), http: httpMetrics(hub).read(), process: processMetrics(hub).read() };
}

/** Kept counts and single rows by index: no statement here takes longer as the data grows. */
export function readService(hub: Hub): ServiceReading {
  const { clock, config } = hub;
  const behindSince = syncState(hub).mostBehindSince() ?? clock();
  return {
    build: versions(hub),
    counts: counts(hub).read(),
    workerSeenAt: heartbeats(hub).lastSeen('worker'),
    oldestDueSyncSeconds: Math.floor(jobs(hub).oldestDueSeconds(syncSource.name)),
    oldestSuccessSeconds: wholeSeconds(clock() - behindSince),
    cacheMaxBytes: config.attachmentCacheMaxBytes,
    storage: readStorageSizes(config.databasePath),
    backups: readBackupStatus(config.dataDir),
  };
}
