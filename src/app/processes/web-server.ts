import type { Server } from 'node:http';
import { accountOf, authenticate } from '../../features/accounts/authenticate.ts';
import { noteError } from '../../features/errors/error-store.ts';
import { admitProbe, ownCheckSecret } from '../../features/health/answer-probes.ts';
import { requireDatabase } from '../../features/hub/database-file.ts';
import { requireRoom } from '../../features/hub/disk-reserve.ts';
import { canonicalReaderPath } from '../../features/reader-api/reader-request.ts';
import { bufferedCounts, httpMetrics, metLimit, processMetrics, turnWaits, type Hub } from '../../features/hub/hub.ts';
import { requireNoTrial } from '../../features/hub/trial.ts';
import { openDatabase } from '../../platform/db/open-database.ts';
import { createContentVersion, createResponseCache } from '../../platform/http/response-cache.ts';
import { createHubServer } from '../../platform/http/server.ts';
import { assets } from '../frame/assets.ts';
import { errorPage, renderPage } from '../frame/page-frame.ts';
import { hubRoutes } from '../routes.ts';

/** Returns a hub's HTTP server, not yet listening. After closing it, call `release`, which stores its last counts. */
export function createWebServer(hub: Hub): { server: Server; release(): void } {
  const { config, log } = hub;
  const { close: closeMetrics } = processMetrics(hub);
  ownCheckSecret(hub); // writes the secret of the hub's own probes before the server listens
  const reader = openDatabase(config.databasePath, { readonly: true });

  const server = createHubServer({
    routes: hubRoutes(hub),
    canonicalPath: canonicalReaderPath,
    log,
    cache: createResponseCache(createContentVersion(reader)),
    baseUrl: config.baseUrl,
    trustedProxies: config.trustedProxies,
    hostNames: config.hostNames,
    metLimit: (limit, seconds, reason) => metLimit(hub, limit, seconds, reason),
    discardBytes: 8 * config.uploadMaxBytes, // about twice the largest request
    scriptHash: assets(hub).script.hash,
    pageScripts: { write: assets(hub).writeScript.hash },
    authenticate: (req) => authenticate(hub, req),
    accountOf: (req) => accountOf(hub, req),
    admitUrgent: (req) => admitProbe(hub, req),
    observeWait: (kind, seconds) => turnWaits(hub).observe(kind, seconds),
    admitWrite: (route, viewer) => {
      requireDatabase(hub);
      requireNoTrial(hub);
      requireRoom(hub, route, viewer);
    },
    renderPage: (page, viewer, target) => renderPage(hub, page, viewer, target),
    errorPage: (problem, request) => errorPage(hub, problem, request),
    observe: (method, route, status, seconds) => httpMetrics(hub).observe(method, route?.path, status, seconds),
    onError: (error) => noteError(hub, error),
  });

  function release(): void {
    bufferedCounts(hub).flush();
    closeMetrics();
    reader.close();
  }

  return { server, release };
}
