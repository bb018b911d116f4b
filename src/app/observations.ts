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
export function createObservations({ db, clock, config, log }: App) {
  const store = createHealthStore(db, clock);
  const http = createHttpMetrics();
  const own = createProcessMetrics({ startedAtSeconds: clock() / SECOND });
  const build = { version: config.version, node: process.version, sqlite: store.sqliteVersion };

  return {
    readHealth: store.readHealth,
    families: () => [
      ...serviceFamilies(build, store.readService(), readStorageSizes(config.databasePath), 0),
      ...http.families(),
      ...own.families(),
    ],
    observe: http.observe,
    onUnreadable: (error: unknown) => log.error('database not readable', errorFields(error)),
    close: own.close,
  };
}
