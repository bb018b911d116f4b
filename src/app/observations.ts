import { readBackupStatus } from '../features/backups/backup-status.ts';
import { isRestoreUnderWay } from '../features/backups/restore-state.ts';
import { bufferedCounts } from '../features/hub/hub.ts';
import type { BackupHealth } from '../features/health/health-routes.ts';
import { createHealthStore } from '../features/health/health-store.ts';
import { serviceFamilies } from '../features/health/service-families.ts';
import { readStorageSizes } from '../features/health/storage-sizes.ts';
import { createHttpMetrics } from '../platform/metrics/http-metrics.ts';
import { createProcessMetrics } from '../platform/metrics/process-metrics.ts';
import { errorFields } from '../platform/log.ts';
import { SECOND } from '../platform/clock.ts';
import type { App } from './app.ts';

export type Observations = ReturnType<typeof createObservations>;

/** What health and metrics say: kept counts of the database, and what this process counts in memory. */
export function createObservations({ db, clock, config, log, hub }: App) {
  const store = createHealthStore(db, clock);
  const http = createHttpMetrics();
  const own = createProcessMetrics({ startedAtSeconds: clock() / SECOND });
  const build = { version: config.version, node: process.version, sqlite: store.sqliteVersion };

  /** Of the files of backup runs: what a database says of its own backups would be old after a restore. */
  function readBackups(): BackupHealth {
    const { newest, newestVerified } = readBackupStatus(config.dataDir);
    const ageOf = ({ createdAt }: { createdAt: number }): number =>
      Math.max(0, Math.floor((clock() - createdAt) / SECOND));
    return {
      lastBackup: newest && { ageSeconds: ageOf(newest), verified: newest.verified },
      lastVerifiedBackup: newestVerified && { ageSeconds: ageOf(newestVerified) },
    };
  }

  return {
    readHealth: () => ({ ...store.readHealth(), ...readBackups() }),
    isRestoring: () => isRestoreUnderWay(config.dataDir),
    families() {
      bufferedCounts(hub).flush();
      const storage = readStorageSizes(config.databasePath);
      const backups = readBackupStatus(config.dataDir);
      return [
        ...serviceFamilies(build, store.readService(), storage, config.attachmentCacheMaxBytes, backups),
        ...http.families(),
        ...own.families(),
      ];
    },
    observe: http.observe,
    onUnreadable: (error: unknown) => log.error('database not readable', errorFields(error)),
    close() {
      bufferedCounts(hub).flush();
      own.close();
    },
  };
}
