import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { html } from '../../src/platform/http/html.ts';
import { DEFAULT_PREFERENCES } from '../../src/features/hub/preferences.ts';
import { HttpError, tryLater } from '../../src/platform/http/http-error.ts';
import { page } from '../../src/platform/http/reply.ts';
import { createResponseCache } from '../../src/platform/http/response-cache.ts';
import type { Viewer } from '../../src/platform/http/router.ts';
import { closeServer } from '../../src/platform/http/connections.ts';
import { createHubServer, type ServerOptions } from '../../src/platform/http/server.ts';
import { createLog } from '../../src/platform/log.ts';
import { createClient } from './client.ts';
import { rawConnection } from './raw-exchange.ts';

export const ADA: Viewer = { id: 1, username: 'ada', displayName: 'Ada', role: 'member', via: 'session', credentialId: 1,
  preferences: DEFAULT_PREFERENCES };

/** A server over these routes, with what it logged, counted and was told of. The cookie `s=ada` is Ada’s. */
export async function startBareServer(t: TestContext, options: Partial<ServerOptions> & Pick<ServerOptions, 'routes'>) {
  const lines: string[] = [];
  const observed: { method: string; path: string | undefined; status: number }[] = [];
  const faults: unknown[] = [];
  const log = createLog('test', 'debug', Date.now, (written) => lines.push(...written.trimEnd().split('\n')));
  const server = createHubServer({
    log,
    cache: createResponseCache(() => 1),
    baseUrl: 'http://hub.example',
    trustedProxies: [],
    hostNames: null,
    scriptHash: 'sha256-ofTheScript=',
    metLimit: (limit, seconds, reason) =>
      limit === 'body-size' ? new HttpError(413, reason) : tryLater(503, seconds, reason),
    authenticate: ({
      headers,
    }) => ({ viewer: headers.cookie === 's=ada' ? ADA : null, hasCookie: headers.cookie !== undefined }),
    accountOf: ({ headers }) => (headers.cookie === 's=ada' ? ADA.id : undefined),
    admitUrgent: () => true,
    observeWait: () => {},
    admitWrite: () => {},
    renderPage: ({ title, main }) => {
      if (title === 'unrenderable') throw new Error('no such page');
      return html`<!doctype html><title>${title}</title>${main}`;
    },
    errorPage: ({ status, message, headers }) => page(
      { title: String(status), main: html`<h1>${message}</h1>` }, status, headers,
    ),
    observe: (method, found, status) => void observed.push({ method, path: found?.path, status }),
    onError: (error) => void faults.push(error),
    ...options,
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(async () => {
    server.closeAllConnections();
    await closeServer(server, 100);
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const logged = (): Record<string, unknown>[] => {
    log.flush();
    return lines.map((line) => JSON.parse(line));
  };
  return {
    server, address, client: createClient(address), connect: () => rawConnection(address), logged, observed, faults,
  };
}
