import type { Server } from 'node:http';
import type { TestContext } from 'node:test';
import { showHealth, showMetrics } from '../../src/features/health/health-routes.ts';
import { httpMetrics, processMetrics, turnWaits } from '../../src/features/hub/hub.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import { html } from '../../src/platform/http/html.ts';
import { tryLater } from '../../src/platform/http/http-error.ts';
import { problemReply, type Reply } from '../../src/platform/http/reply.ts';
import { createResponseCache } from '../../src/platform/http/response-cache.ts';
import { route } from '../../src/platform/http/router.ts';
import { createHubServer } from '../../src/platform/http/server.ts';
import { createLog } from '../../src/platform/log.ts';
import { renderOpenMetrics, renderPrometheus, type Family } from '../../src/platform/metrics/exposition.ts';
import { migratedDatabase } from './migrated-database.ts';
import { listen } from './ports.ts';
import { handleOf } from './service-series.ts';

export const START = Date.UTC(2026, 0, 15);

type HealthServer = {
  db: Db;
  path: string; // of the database
  address: string;
  server: Server;
  passTime(ms: number): void;
  /** What was said to be unreadable, and why. */
  unreadable: unknown[];
};

type HealthOptions = { metricsToken?: string | null; extraFamilies?: Family[] };

/** Health and metrics alone, over HTTP, on a fresh database and a clock that the test moves. */
export async function startHealth(
  t: TestContext,
  { metricsToken = null, extraFamilies = [] }: HealthOptions = {},
): Promise<HealthServer> {
  const { db, path } = migratedDatabase(t);
  let now = START;
  const clock = (): number => now;
  const unreadable: unknown[] = [];
  const log = createLog('test', 'error', clock, () => {});
  const noting = { ...log, error: (_event: string, fields?: object) => void unreadable.push(JSON.stringify(fields)) };
  const hub = { ...handleOf(db, path, clock, { metricsToken }), log: noting };
  const routes = [
    route('GET /api/health', 'public', 'Health', (req) => showHealth(hub, req)),
    route('GET /api/metrics', 'public', 'Metrics', (req) => withMore(showMetrics(hub, req), extraFamilies), { checksBearer: true }),
  ];
  const server = createHubServer({
    routes,
    log,
    cache: createResponseCache(() => 0),
    baseUrl: 'http://127.0.0.1',
    trustedProxies: [],
    hostNames: null,
    scriptHash: 'sha256-none',
    metLimit: (_limit, seconds, reason) => tryLater(503, seconds, reason),
    authenticate: () => ({ viewer: null, hasCookie: false }),
    accountOf: () => undefined,
    admitUrgent: () => true,
    observeWait: (client, seconds) => turnWaits(hub).observe(client, seconds),
    admitWrite: () => {},
    renderPage: () => html``,
    errorPage: problemReply,
    observe: (method, route, status, seconds) => httpMetrics(hub).observe(method, route?.path, status, seconds),
    onError: () => {},
  });
  const address = `127.0.0.1:${await listen(t, server)}`;
  t.after(() => processMetrics(hub).close());
  return { db, path, address, server, unreadable, passTime: (ms) => { now += ms; } };
}

/** The same scrape with more families at its end. */
function withMore(reply: Reply, families: Family[]): Reply {
  const text = String(reply.body);
  const body = text.endsWith('# EOF\n')
    ? text.slice(0, -'# EOF\n'.length) + renderOpenMetrics(families)
    : text + renderPrometheus(families);
  return { ...reply, body };
}
