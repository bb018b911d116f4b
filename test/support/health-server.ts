import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { healthRoutes } from '../../src/features/health/health-routes.ts';
import { createHealthStore } from '../../src/features/health/health-store.ts';
import { serviceFamilies } from '../../src/features/health/service-families.ts';
import { readStorageSizes } from '../../src/features/health/storage-sizes.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import { problemReply } from '../../src/platform/http/problem.ts';
import { createResponseCache } from '../../src/platform/http/response-cache.ts';
import { createHubServer } from '../../src/platform/http/server.ts';
import { createLog } from '../../src/platform/log.ts';
import type { Family } from '../../src/platform/metrics/exposition.ts';
import { createHttpMetrics } from '../../src/platform/metrics/http-metrics.ts';
import { createProcessMetrics } from '../../src/platform/metrics/process-metrics.ts';
import { migratedDatabase } from './migrated-database.ts';
import { NO_BACKUPS } from './service-series.ts';

export const START = Date.UTC(2026, 0, 15);

export type HealthServer = {
  db: Db;
  address: string;
  server: Server;
  passTime(ms: number): void;
  /** What was said to be unreadable, and why. */
  unreadable: unknown[];
};

export type HealthOptions = { metricsToken?: string | null; extraFamilies?: Family[] };

/** Health and metrics alone, over HTTP, on a fresh database and a clock that the test moves. */
export async function startHealth(
  t: TestContext,
  { metricsToken = null, extraFamilies = [] }: HealthOptions = {},
): Promise<HealthServer> {
  const { db, path } = migratedDatabase(t);
  let now = START;
  const clock = (): number => now;
  const store = createHealthStore(db, clock);
  const http = createHttpMetrics();
  const ofProcess = createProcessMetrics({ startedAtSeconds: START / 1000 });
  const build = { version: '1.2.3', node: process.version, sqlite: store.sqliteVersion };
  const unreadable: unknown[] = [];
  const routes = healthRoutes({
    isRestoring: () => false,
    readHealth: () => ({ ...store.readHealth(), lastBackup: null, lastVerifiedBackup: null }),
    families: () => [
      ...serviceFamilies(build, store.readService(), readStorageSizes(path), 0, NO_BACKUPS),
      ...http.families(),
      ...ofProcess.families(), ...extraFamilies,
    ],
    metricsToken,
    onUnreadable: (error) => unreadable.push(error),
  });
  const server = createHubServer({
    routes,
    log: createLog('test', 'error', clock, () => {}),
    cache: createResponseCache(() => 0),
    baseUrl: 'http://127.0.0.1',
    trustedProxies: [],
    authenticate: () => ({ viewer: null, hasCookie: false }),
    renderPage: () => '',
    errorPage: problemReply,
    observe: (method, route, status, seconds) => http.observe(method, route?.path, status, seconds),
    onError: () => {},
  });
  const address = await listen(t, server);
  t.after(() => ofProcess.close());
  return { db, address, server, unreadable, passTime: (ms) => { now += ms; } };
}

/** Where the server listens, until the end of the test: host and port. */
export async function listen(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
