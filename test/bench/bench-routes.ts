import { request } from 'node:http';
import { join } from 'node:path';
import { hubRoutes } from '../../src/app/routes.ts';
import { accounts } from '../../src/features/accounts/account-store.ts';
import { sessionCookie } from '../../src/features/accounts/authenticate.ts';
import { sessions } from '../../src/features/accounts/credential-store.ts';
import type { Route } from '../../src/platform/http/router.ts';
import { createClient, cookieOf } from '../support/client.ts';
import type { Hub } from '../support/hub.ts';
import { makeWebhook } from '../support/webhooks.ts';
import { addWorstRows } from '../support/worst-rows.ts';
import { benchFolder, hubInProcess } from './bench-hub.ts';
import { limitRow, type BenchRow } from './bench-row.ts';
import { fillSearch } from './fill-search.ts';
import { madeUpWords } from './made-up-words.ts';
import { worstRequests, type WorstRequest } from './worst-requests.ts';

const POSTS = 1_000_000;
const LIMIT_MS = 50;
const PROBE_MS = 100;
const ROOMY = { SOURCES_MAX: '100000', DISK_RESERVE_BYTES: '1' };

/** The first call compiles; the best of the others is what the route itself needs, whatever else the machine does. */
const CALLS = 4;

/** Characters of a post at its longest, each of which takes several bytes in a page. */
const WORST_POST = `<p>${'&amp;'.repeat(400_000)}</p>`;

/**
 * Every route of the hub with the worst data and requests that its limits allow, and then in a hub of a million posts:
 * the longest time in one go for which it keeps the main thread busy. A new route is called by being in the list;
 * `worst-requests.ts` says what else to send it.
 */
export async function benchRoutes(posts = POSTS): Promise<BenchRow[]> {
  return [...await inFullHub(), ...await inOldHub(posts)].sort((one, other) => one.ratio - other.ratio);
}

async function inFullHub(): Promise<BenchRow[]> {
  await using full = await hubInProcess(ROOMY);
  await full.hub.person('ada'); // whom the rows belong to
  addWorstRows(full.hub, WORST_POST);
  return await rowsOf(full.hub, 'worst rows');
}

async function inOldHub(posts: number): Promise<BenchRow[]> {
  using folder = benchFolder('routes');
  fillSearch(join(folder.path, 'hub.db'), posts);
  await using old = await hubInProcess({ ...ROOMY, DATA_DIR: folder.path });
  const probe = await probeBesideSearches(old.hub, `${posts} posts`);
  return [...await rowsOf(old.hub, `${posts} posts`), probe];
}

async function rowsOf(hub: Hub, data: string): Promise<BenchRow[]> {
  const hook = await makeWebhook(await hub.person('ada'));
  const rows: BenchRow[] = [];
  for (const route of inOrder(hubRoutes(hub.handle))) {
    for (const asked of worstRequests(hub, route, hook)) rows.push(await rowOf(hub, route, asked, data));
  }
  return rows;
}

/** The longest wait of a probe while four visitors search for what is rare, common, or only in old posts. */
async function probeBesideSearches(hub: Hub, data: string): Promise<BenchRow> {
  let isOver = false;
  const { all: [common = '', second = ''] } = madeUpWords(3);
  const searches = [`${common} ${second}`, 'onceword', 'evenly oddly', common.slice(0, 3)];
  const visitors = searches.map(async (q, n) => {
    for (let round = 0; !isOver; round++) {
      await send(`${hub.address}/api/posts?q=${encodeURIComponent(q)}&limit=${1 + round % 100}`, { method: 'GET', headers: { 'x-n': String(n) } });
    }
  });
  const waits: number[] = [];
  for (let probes = 0; probes < 100; probes++) {
    const begun = performance.now();
    await send(`${hub.address}/api/health?probe=live`, { method: 'GET', headers: {} });
    waits.push(performance.now() - begun);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  isOver = true;
  await Promise.all(visitors);
  return limitRow(`${data}: the live probe while four visitors search`, Math.max(...waits), PROBE_MS, 'ms');
}

/** Reading first, deleting last: what one route deletes, another may have to show. */
function inOrder(routes: Route[]): Route[] {
  const deletes = ({ method, path }: Route): boolean =>
    method === 'DELETE' || /\/(delete|discard|clear|forget|unfollow|hand-over|transfer|several)$/.test(path);
  const turn = (route: Route): number => (route.method === 'GET' ? 0 : deletes(route) ? 2 : 1);
  return routes.toSorted((one, other) => turn(one) - turn(other));
}

async function rowOf(hub: Hub, { method, path }: Route, asked: WorstRequest, data: string): Promise<BenchRow> {
  const stretches: number[] = [];
  const statuses = new Set<number>();
  for (let call = 0; call < CALLS; call++) {
    const { status, longest } = await longestStretch(hub, method, asked);
    statuses.add(status);
    stretches.push(longest);
  }
  const name = `${data}: ${method} ${path} ${asked.what} (${[...statuses].join(', ')})`;
  return limitRow(name, Math.min(...stretches.slice(1)), LIMIT_MS, 'ms');
}

/** Sends one request; the longest turn of the event loop meanwhile, in ms of the main thread's processor time. */
async function longestStretch(hub: Hub, method: string, asked: WorstRequest) {
  const headers = { ...asked.headers, ...(!asked.isAnonymous && { cookie: freshSession(hub) }) };
  await new Promise((resolve) => setTimeout(resolve, 20)); // what the call before has left to do
  const turns = measureTurns();
  const status = await send(hub.address + asked.path, { method, headers }, asked.body);
  await new Promise((resolve) => setTimeout(resolve, 5));
  return { status, longest: turns.end() };
}

/** Measures each turn of the event loop until `end`, which returns the longest. */
function measureTurns(): { end(): number } {
  let [longest, isOver] = [0, false];
  let before = threadMs();
  const measure = (): void => {
    const now = threadMs();
    longest = Math.max(longest, now - before);
    before = now;
    if (!isOver) setImmediate(measure);
  };
  setImmediate(measure);
  return { end: () => ((isOver = true), longest) };
}

/** Processor time that this thread has used, in ms: other programs on the machine do not count. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** A session of its own for each call: some routes end it. */
function freshSession(hub: Hub): string {
  const account = accounts(hub.handle).findByName('ada');
  const client = createClient(hub.address);
  client.keep(sessionCookie(hub.handle, sessions(hub.handle).start(account?.id ?? 0))['set-cookie']);
  return cookieOf(client);
}

/** The status; the answer is read and thrown away, so that reading it does not count. */
function send(url: string, options: { method: string; headers: Record<string, string> }, body?: Buffer) {
  return new Promise<number>((resolve, reject) => {
    const headers = { 'sec-fetch-site': 'same-origin', ...options.headers };
    const sent = request(url, { ...options, headers, agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    // The hub cuts a body off that it refuses to read.
    sent.once('error', (error) => ('code' in error && error.code === 'ECONNRESET' ? resolve(0) : reject(error))).end(body);
  });
}
