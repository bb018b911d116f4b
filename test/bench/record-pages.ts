import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { hubOf, openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { createWebServer } from '../../src/app/processes/web-server.ts';
import { sessionCookie } from '../../src/features/accounts/authenticate.ts';
import { sessions } from '../../src/features/accounts/credential-store.ts';
import { openStores } from '../../src/features/hub/hub.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import type { Db, Statement } from '../../src/platform/db/open-database.ts';
import { createLog } from '../../src/platform/log.ts';
import { hubEnvironment } from '../support/hub-process.ts';

/** `first` reads the first `rows` rows. */
export type RecordedCall = { sql: string; kind: 'get' | 'all' | 'first' | 'run'; rows: number; params: unknown[] };

/** An answer of the hub, and all that it asked the database for it. */
export type RecordedPage = { headers: string[]; body: Buffer; compressed: Buffer; calls: RecordedCall[] };

/** node:http adds these itself to each answer. */
export const OWN_HEADERS = new Set(['date', 'connection', 'keep-alive']);

/**
 * Signs an account in, and records what it is sent at these addresses, and at those of the assets that the pages name.
 * Each is asked for three times: what is written at the first is no part of the work.
 */
export async function recordPages(
  dataDir: string, accountId: number, targets: string[],
): Promise<{ cookie: string; pages: Map<string, RecordedPage> }> {
  const config = loadConfig(hubEnvironment(dataDir));
  const db = openHubDatabase(config);
  const calls: RecordedCall[] = [];
  const hub = hubOf('web', config, recording(db, calls), createLog('web', 'error', Date.now, () => {}));
  openStores(hub);
  const { server, release } = createWebServer(hub);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cookie = sessionCookie(hub, sessions(hub).start(accountId))['set-cookie'].split(';', 1)[0] ?? '';

  async function record(target: string): Promise<RecordedPage> {
    for (let time = 0; time < 2; time++) await (await fetch(address + target, { headers: { cookie } })).text();
    calls.length = 0;
    const answer = await fetch(address + target, { headers: { cookie, 'accept-encoding': 'gzip' } });
    const body = Buffer.from(await answer.arrayBuffer());
    if (answer.status !== 200) throw new Error(`${target}: ${answer.status}`);
    const headers = [...answer.headers].filter(([name]) => !OWN_HEADERS.has(name)).flat();
    const isCompressed = answer.headers.get('content-encoding') === 'gzip';
    return { headers, body, compressed: isCompressed ? gzipSync(body) : body, calls: [...calls] };
  }

  const pages = new Map<string, RecordedPage>();
  for (const target of targets) pages.set(target, await record(target));
  const assets = [...pages.values()].flatMap(({ body }) => [...body.toString().matchAll(/"(\/assets\/[^"]+)"/g)]);
  for (const [, target = ''] of assets) if (!pages.has(target)) pages.set(target, await record(target));
  server.closeAllConnections();
  server.close();
  release();
  db.close();
  return { cookie, pages };
}

function recording(db: Db, calls: RecordedCall[]): Db {
  function prepare<Params extends unknown[], Row>(name: string, sql: string): Statement<Params, Row> {
    const statement = db.prepare<Params, Row>(name, sql);
    const note = (kind: RecordedCall['kind'], params: Params, rows = 0): void => void calls.push({ sql, kind, params, rows });
    return {
      get: (...params) => (note('get', params), statement.get(...params)),
      all: (...params) => (note('all', params), statement.all(...params)),
      first(limit, passes, ...params) {
        let rows = 0;
        const found = statement.first(limit, (row) => (rows++, passes(row)), ...params);
        note('first', params, rows);
        return found;
      },
      has: (...params) => (note('get', params), statement.has(...params)),
      count: (...params) => (note('get', params), statement.count(...params)),
      run: (...params) => (note('run', params), statement.run(...params)),
      change: (...params) => (note('run', params), statement.change(...params)),
    };
  }
  return { ...db, prepare, get inTransaction() { return db.inTransaction; } };
}
