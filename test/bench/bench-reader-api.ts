import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SESSION_COOKIE } from '../../src/features/accounts/authenticate.ts';
import { apiTokens, sessions } from '../../src/features/accounts/credential-store.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import type { BenchRow } from './bench-row.ts';
import { residentMiB, startPeer, startWeb, type RunningServer } from './bench-servers.ts';
import { median } from './median.ts';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');
const POSTS = 12_000;
const SOURCES = 40;
const ROUNDS = 5;
const PEER = 'Fastify + better-sqlite3';
const PROBED_MS = 5_000;

type App = { server: RunningServer; headers: Record<string, string> };

/**
 * A first synchronisation of 10,000 items, and later ones with 50 new items, in the calls of RSS Guard: answers per
 * second of web beside Fastify. And while 12,000 items go out: the memory of web, and how long others wait for a page.
 */
export async function benchReaderApi(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-reader-'));
  const servers: RunningServer[] = [];
  try {
    const { password, session } = fill(join(folder, 'hub.db'));
    const web = await startWeb(folder);
    servers.push(web);
    const fastify = await startPeer('reader-peer.ts', [join(folder, 'hub.db')]);
    servers.push(fastify);
    const apps: [App, App] = [{ server: web, headers: { authorization: `GoogleLogin auth=${password}` } }, { server: fastify, headers: {} }];
    const idle = residentMiB(web.pid, 'VmRSS');
    const { peak, p99 } = await whileOthersRead(apps[0], session);
    const [name, limit] = ['web while 12,000 items go out, above idle', 30];
    const peerIdle = residentMiB(fastify.pid, 'VmRSS');
    const peerPeak = await peakWhile(fastify, async () => {
      for (let n = 0; n < 10; n++) await contents(apps[1], everyId(), POSTS);
    });
    const memory = { ours: peak - idle, peerFigure: peerPeak - peerIdle };
    return [
      { name: `${name}, beside Fastify`, ...memory, peer: PEER, unit: 'MiB', ratio: memory.peerFigure / memory.ours, want: '>= 2' },
      { name, ours: peak - idle, peer: 'the limit', peerFigure: limit, unit: 'MiB', ratio: limit / Math.max(1, peak - idle), want: '>= 1' },
      { name: 'p99 of another member’s page meanwhile', ours: p99, peer: 'the limit', peerFigure: 50, unit: 'ms', ratio: 50 / p99, want: '>= 1' },
      await row('first synchronisation of 10,000 items', apps, 1, firstSync),
      await row('later synchronisation of 50 items', apps, 10, laterSync),
    ];
  } finally {
    for (const server of servers) await server.stop();
    rmSync(folder, { recursive: true });
  }
}

async function row(name: string, apps: [App, App], times: number, sync: (app: App) => Promise<number>): Promise<BenchRow> {
  const rates: [number[], number[]] = [[], []];
  for (let round = -1; round < ROUNDS; round++) {
    for (const [index, app] of apps.entries()) {
      const started = performance.now();
      let answers = 0;
      for (let n = 0; n < times; n++) answers += await sync(app);
      if (round >= 0) rates[index]?.push((answers / (performance.now() - started)) * 1_000);
    }
  }
  const [ours, peerFigure] = [median(rates[0]), median(rates[1])];
  return { name, ours, peer: PEER, peerFigure, unit: 'answers/s', ratio: ours / peerFigure, want: '>= 0.8' };
}

/** The calls of a first synchronisation; returns how many there were. */
async function firstSync(app: App): Promise<number> {
  await lists(app);
  const ids = await idsOf(app, 's=user/-/state/com.google/reading-list&xt=user/-/state/com.google/read&n=200000');
  await contents(app, ids, 10_000);
  return 4;
}

async function laterSync(app: App): Promise<number> {
  await lists(app);
  const ids = await idsOf(app, `s=user/-/state/com.google/reading-list&n=200000&ot=${POSTS - 49}`);
  await contents(app, ids, 50);
  return 4;
}

async function lists(app: App): Promise<void> {
  for (const call of ['tag/list', 'subscription/list']) await ask(app, call);
}

async function idsOf(app: App, query: string): Promise<string[]> {
  const { itemRefs } = JSON.parse(await ask(app, `stream/items/ids?${query}`)) as { itemRefs: { id: string }[] };
  return itemRefs.map(({ id }) => id);
}

async function contents(app: App, ids: string[], wanted: number): Promise<void> {
  const text = await ask(app, 'stream/items/contents', ids.map((id) => `i=${id}`).join('&'));
  const found = text.split('"crawlTimeMsec"').length - 1;
  if (ids.length !== wanted || found !== wanted) throw new Error(`${ids.length} ids and ${found} items instead of ${wanted}`);
}

/** Asks for plain answers, because Fastify compresses none. */
async function ask({ server, headers: own }: App, call: string, body?: string): Promise<string> {
  const headers = { ...own, 'accept-encoding': 'identity' };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const response = await fetch(`http://127.0.0.1:${server.port}/reader/api/0/${call}`,
    body === undefined ? { headers } : { method: 'POST', headers: { ...headers, ...form }, body });
  if (response.status !== 200) throw new Error(`${call} was answered with ${response.status}`);
  return response.text();
}

/** 12,000 items again and again: the highest memory of web, and the 99th percentile of another member's page (ms). */
async function whileOthersRead(app: App, session: string): Promise<{ peak: number; p99: number }> {
  const cookie = `${SESSION_COOKIE}=${session}`;
  const probe = spawn(process.execPath, [join(import.meta.dirname, 'page-probe.ts'), String(app.server.port), cookie, String(PROBED_MS)],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  const state = { isOver: false, printed: '' };
  probe.stdout.on('data', (text) => (state.printed += text));
  const ended = once(probe, 'exit').then(() => (state.isOver = true));
  const peak = await peakWhile(app.server, async () => {
    while (!state.isOver) await contents(app, everyId(), POSTS);
  });
  await ended;
  return { peak, p99: Number(state.printed) };
}

function everyId(): string[] {
  return Array.from({ length: POSTS }, (_, n) => String(10 ** 15 + n + 1));
}

/** The highest resident memory of a server in MiB while `work` runs. */
async function peakWhile(server: RunningServer, work: () => Promise<void>): Promise<number> {
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, residentMiB(server.pid, 'VmRSS'))), 10);
  await work();
  clearInterval(watch);
  return peak;
}

/** Posts that arrived one a second from the beginning of 1970, with an account that has read none but the first 2,000. */
function fill(path: string): { password: string; session: string } {
  const db = openDatabase(path);
  migrate(db, readMigrations(MIGRATIONS), Date.now);
  db.exec(`
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0), (2, 'bob', 'Bob', 'member', '', 0, 0);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${SOURCES})
      INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at) SELECT i, 1, 'feed', 'Source ' || i, 0, 0 FROM n;
    INSERT INTO feeds (source_id, url, host) SELECT id, 'https://example.org/' || id, 'example.org' FROM sources;
    INSERT INTO follows (account_id, source_id, read_up_to, created_at) SELECT a.id, s.id, 2000, 0 FROM accounts a, sources s;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${POSTS})
      INSERT INTO posts (source_id, owner_id, guid, is_public, title, url, author, content_html, summary, content_hash,
                         published_at, updated_at, created_at)
      SELECT 1 + i % ${SOURCES}, 1, i, 1, 'Title of post ' || i, 'https://example.org/' || i, 'Author ' || (i % 50),
             '<p>' || substr(hex(zeroblob(400)), 1, 600) || '</p>', substr(hex(zeroblob(150)), 1, 280), i,
             i * 1000, i * 1000, i * 1000 FROM n;
    PRAGMA optimize;`);
  const hub = { db, clock: Date.now };
  const made = { password: apiTokens(hub).create(1, 'bench', 'reader', null).token, session: sessions(hub).start(2) };
  db.close();
  return made;
}
