import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../src/platform/db/open-database.ts';
import { benchFolder, newHub } from './bench-hub.ts';
import { lessRow, limitRow, moreRow, processorMsSince, type BenchRow } from './bench-row.ts';
import { processorMs, residentMiB, startWorker } from './bench-servers.ts';

const FEEDS = 10_000;
const FEEDS_OF_OWN_LINKS = 4_000;
const CONCURRENCY = 8; // SYNC_CONCURRENCY's default
const MEMORY_LIMIT_MIB = 150;

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
  using folder = benchFolder('sync');
  await using server = createServer(links === 'own' ? answerOwn : answer).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const urls = Array.from({ length: feeds }, (_, index) => feedUrl(server, index));
  const db = hubOfFeeds(join(folder.path, 'hub.db'), urls);
  const ours = await syncOurs(folder.path, db, feeds);
  const bare = await syncBare(urls);
  db.close();
  server.closeAllConnections();
  const name = `sync of ${feeds.toLocaleString('en')} feeds, half of them unchanged${links === 'own' ? ', links of their own' : ''}`;
  return [
    moreRow({
      name, ours: ours.rate, unit: 'feeds/s', peer: 'the requests alone', peerFigure: bare.rate, want: 'as reported',
    }),
    lessRow({
      name: `${name}: processor time of the worker`, ours: ours.busy, unit: 'ms/feed',
      peer: 'the requests alone, with their server', peerFigure: bare.busy, want: 'as reported',
    }),
    limitRow(`${name}: peak memory of the worker`, ours.memory, MEMORY_LIMIT_MIB, 'MiB'),
  ];
}

/** `rate`: feeds a second; `busy`: ms of a processor for each feed; `memory`: MiB. */
async function syncOurs(folder: string, db: Db, feeds: number): Promise<{ rate: number; busy: number; memory: number }> {
  const started = performance.now();
  await using worker = startWorker(folder);
  await untilSynced(db, feeds);
  const rate = perSecond(feeds, started);
  return { rate, busy: processorMs(worker.pid) / feeds, memory: residentMiB(worker.pid, 'VmHWM') };
}

async function syncBare(urls: string[]): Promise<{ rate: number; busy: number }> {
  const [started, before] = [performance.now(), process.cpuUsage()];
  await requestAll(urls);
  return { rate: perSecond(urls.length, started), busy: processorMsSince(before) / urls.length };
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

/** A new hub's database whose only account has these feeds, due at `nextSyncAt`. */
export function hubOfFeeds(path: string, urls: string[], nextSyncAt = 1): Db {
  const db = newHub(path);
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
  return db;
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
