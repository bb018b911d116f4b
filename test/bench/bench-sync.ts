import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import type { BenchRow } from './bench-row.ts';
import { processorMs, residentMiB, startWorker, stop } from './bench-servers.ts';

const FEEDS = 10_000;
const FEEDS_OF_OWN_LINKS = 4_000;
const CONCURRENCY = 8; // SYNC_CONCURRENCY's default
const MEMORY_LIMIT_MIB = 150;
const MIGRATIONS = join(import.meta.dirname, '../../migrations');

/** `shared`: the feeds of `answer` have 15 links in common, which thousands of sources then share. */
type Links = 'shared' | 'own';

/**
 * A real worker synchronises feeds, each on a host of its own (127.x.y.z) of one local server; every other one is
 * unchanged (304), the others have 15 posts of about 700 bytes. Beside it: the requests alone, as many at a time,
 * nothing read, stored or planned.
 */
export async function benchSync(): Promise<BenchRow[]> {
  return [...await syncAll(FEEDS, 'shared'), ...await syncAll(FEEDS_OF_OWN_LINKS, 'own')];
}

async function syncAll(feeds: number, links: Links): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-sync-'));
  const server = createServer(links === 'own' ? answerOwn : answer).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const urls = Array.from({ length: feeds }, (_, index) => feedUrl(server, index));
  const db = openDatabase(join(folder, 'hub.db'));
  try {
    follow(db, urls);
    const ours = await syncOurs(folder, db, feeds);
    const bare = await syncBare(urls);
    const name = `sync of ${feeds.toLocaleString('en')} feeds, half of them unchanged${links === 'own' ? ', links of their own' : ''}`;
    return [
      {
        name, ours: ours.rate, unit: 'feeds/s', peer: 'the requests alone', peerFigure: bare.rate,
        ratio: ours.rate / bare.rate, want: 'as reported',
      },
      {
        name: `${name}: processor time of the worker`, ours: ours.busy, unit: 'ms/feed',
        peer: 'the requests alone, with their server', peerFigure: bare.busy, ratio: bare.busy / ours.busy, want: 'as reported',
      },
      {
        name: `${name}: peak memory of the worker`, ours: ours.memory, unit: 'MiB', peer: 'the limit',
        peerFigure: MEMORY_LIMIT_MIB, ratio: MEMORY_LIMIT_MIB / ours.memory, want: '>= 1',
      },
    ];
  } finally {
    db.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  }
}

/** `rate`: feeds a second; `busy`: ms of a processor for each feed; `memory`: MiB. */
async function syncOurs(folder: string, db: Db, feeds: number): Promise<{ rate: number; busy: number; memory: number }> {
  const started = performance.now();
  const worker = startWorker(folder);
  await untilSynced(db, feeds);
  const rate = perSecond(feeds, started);
  const memory = residentMiB(worker.pid ?? 0, 'VmHWM');
  const busy = processorMs(worker.pid ?? 0) / feeds;
  await stop(worker);
  return { rate, busy, memory };
}

async function syncBare(urls: string[]): Promise<{ rate: number; busy: number }> {
  const [started, before] = [performance.now(), process.cpuUsage()];
  await requestAll(urls);
  const { user, system } = process.cpuUsage(before);
  return { rate: perSecond(urls.length, started), busy: (user + system) / 1_000 / urls.length };
}

/** The address of a feed of that server, on a host of its own. */
export function feedUrl(server: Server, index: number): string {
  const { port } = server.address() as AddressInfo;
  const host = `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  return `http://${host}:${port}/${index % 2 === 0 ? 'changed' : 'unchanged'}/${index}`;
}

const SENTENCE = 'Some words with a &lt;a href="/x"&gt;link&lt;/a&gt; in them. ';
const ITEMS = Array.from({ length: 15 }, (_, index) => `<item>
  <guid isPermaLink="false">g${index}</guid><title>Post ${index}</title>
  <link>https://example.org/${index}</link><pubDate>Mon, 0${1 + (index % 9)} Jan 2024 10:00:00 GMT</pubDate>
  <description>&lt;p&gt;${SENTENCE.repeat(10)}&lt;/p&gt;</description></item>`).join('');

/** Sends a feed, or says that it is unchanged. All feeds have the same links. */
export function answer(req: IncomingMessage, res: ServerResponse): void {
  send(ITEMS, req, res);
}

function answerOwn(req: IncomingMessage, res: ServerResponse): void {
  send(ITEMS.replaceAll('<link>https://example.org', `$&${req.url}`), req, res);
}

function send(items: string, req: IncomingMessage, res: ServerResponse): void {
  if (req.url?.startsWith('/unchanged/')) return void res.writeHead(304, { etag: '"1"' }).end();
  res.writeHead(200, { 'content-type': 'application/rss+xml', etag: '"1"' });
  const head = `<title>Feed ${req.url}</title><link>https://example.org/</link>`;
  res.end(`<rss version="2.0"><channel>${head}${items}</channel></rss>`);
}

/** Makes a hub's database whose only account has these feeds, due at `nextSyncAt`. */
export function follow(db: Db, urls: string[], nextSyncAt = 1): void {
  migrate(db, readMigrations(MIGRATIONS), Date.now);
  db.exec(`INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
    VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0)`);
  const source = db.prepare<[number, number]>('source', `
    INSERT INTO sources (id, owner_id, kind, title, next_sync_at, created_at, updated_at)
    VALUES (?, 1, 'feed', 'Feed', ?, 0, 0)`);
  const feed = db.prepare<[number, string, string]>('feed', `
    INSERT INTO feeds (source_id, url, host, etag) VALUES (?, ?, ?, '"1"')`);
  db.transaction('follow', () => urls.forEach((url, index) => {
    source.run(index + 1, nextSyncAt);
    feed.run(index + 1, url, new URL(url).host);
  }))();
  // Only a feed that was read before is asked whether it is unchanged.
  db.exec(`UPDATE sources SET last_success_at = 1
    WHERE id IN (SELECT source_id FROM feeds WHERE url LIKE '%/unchanged/%')`);
}

/** Resolves once so many synchronisations are counted. */
export async function untilSynced(db: Db, feeds: number): Promise<void> {
  const done = db.prepare<[], { value: number }>('runs',
    `SELECT SUM(value) AS value FROM counts WHERE metric = 'sync_runs_total'`);
  while ((done.get()?.value ?? 0) < feeds) await sleep(20);
}

async function requestAll(urls: string[]): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let url = urls[next++]; url !== undefined; url = urls[next++]) {
      const [response] = await once(request(url, { agent: false }).end(), 'response');
      for await (const chunk of response) void chunk;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, one));
}

function perSecond(count: number, started: number): number {
  return count / ((performance.now() - started) / 1000);
}
