import { join } from 'node:path';
import { SESSION_COOKIE } from '../../src/features/accounts/authenticate.ts';
import { apiTokens, sessions } from '../../src/features/accounts/credential-store.ts';
import { benchFolder, newHub } from './bench-hub.ts';
import { alternate, lessRow, limitRow, moreRow, type BenchRow } from './bench-row.ts';
import { residentMiB, runClient, startPeer, startWeb, type RunningServer } from './bench-servers.ts';

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
  using folder = benchFolder('reader');
  const { password, session } = fill(join(folder.path, 'hub.db'));
  await using web = await startWeb(folder.path);
  await using fastify = await startPeer('fastify-peer.ts', [join(folder.path, 'hub.db')]);
  const app: App = { server: web, headers: { authorization: `GoogleLogin auth=${password}` } };
  const peerApp: App = { server: fastify, headers: {} };
  const idle = residentMiB(web.pid, 'VmRSS');
  const { peak, wait } = await whileOthersRead(app, session);
  const peerIdle = residentMiB(fastify.pid, 'VmRSS');
  const peerPeak = await peakWhile(fastify, async () => {
    for (let n = 0; n < 10; n++) await contents(peerApp, everyId(), POSTS);
  });
  const name = 'web while 12,000 items go out, above idle';
  const ours = Math.max(1, peak - idle);
  return [
    lessRow({
      name: `${name}, beside Fastify`, ours, peer: PEER, peerFigure: peerPeak - peerIdle, unit: 'MiB', want: '>= 2',
    }),
    limitRow(name, ours, 30, 'MiB'),
    limitRow('p99 of another member’s page meanwhile', wait, 50, 'ms'),
    await row('first synchronisation of 10,000 items', [app, peerApp], 1, firstSync),
    await row('later synchronisation of 50 items', [app, peerApp], 10, laterSync),
  ];
}

async function row(name: string, apps: App[], times: number, sync: (app: App) => Promise<number>): Promise<BenchRow> {
  const [ours = NaN, peerFigure = NaN] = await alternate(apps.map((app) => async () => {
    const started = performance.now();
    let answers = 0;
    for (let n = 0; n < times; n++) answers += await sync(app);
    return (answers / (performance.now() - started)) * 1_000;
  }), ROUNDS);
  return moreRow({ name, ours, peer: PEER, peerFigure, unit: 'answers/s', want: '>= 0.8' });
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
async function whileOthersRead(app: App, session: string): Promise<{ peak: number; wait: number }> {
  let isOver = false;
  const probe = runClient('page-probe.ts', [app.server.port, `${SESSION_COOKIE}=${session}`, PROBED_MS]);
  void probe.finally(() => (isOver = true));
  const peak = await peakWhile(app.server, async () => {
    while (!isOver) await contents(app, everyId(), POSTS);
  });
  return { peak, wait: Number(await probe) };
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
  const db = newHub(path);
  db.exec(`
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      VALUES (2, 'bob', 'Bob', 'member', '', 0, 0);
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
