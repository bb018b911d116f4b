import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runProgram } from '../support/run-program.ts';
import { benchFolder, PROJECT } from './bench-hub.ts';
import { lessRow, limitRow, type BenchRow } from './bench-row.ts';
import {
  residentMiB, runClient, startClient, startPeer, startWeb, startWorker, type RunningServer,
} from './bench-servers.ts';
import { firstSync } from './first-sync.ts';

const P99_LIMIT_MS = 50;
const LIMIT_OF_SHARES_MS = 100; // while others may have half of the processor, and for a member's list
const MEMORY_LIMIT_MIB: Record<string, number> = { web: 350, worker: 300 };
const PASSWORD = 'correct horse battery';
const IDLE_MS = 4_000;
const ATTACK_MS = 10_000;
const PRIVATE_POSTS = 46_000;
const PUBLIC_POSTS = 50; // of 20 kB, so that an output feed takes its time

/** The address from which an attacker comes as a proxy does, and names others. */
const PROXY = '127.0.0.2';

const CONNECTIONS = '1,500 connections with 1 MiB each';

/** What one account or visitor does, as `fairness-attacks.ts` names it. */
const ATTACKS = [
  // First what needs sources: others use up what an account may have.
  '100 images of a post on hosts that hang', 'OPML of 3,000 dead hosts',
  'OPML with an address of 80,000 dots', 'a feed of 10 MB of 0x92 in windows-1252',
  'a feed of 2,000 items with 60 images each', '30 posts of 400,000 characters at once',
  '20 readers of long posts by the API', '20 searches',
  '60 uploads left open', CONNECTIONS, '100 wrong passwords', 'eight feeds of 10 MiB at once',
  '100 rules of 20 words with stars, and their previews', '20 saved searches of 20 words with stars',
  '100 readers of the longest draft who read nothing', 'readers of the longest draft who go at once',
];

/** The same that only shares the hub's time: here one client, or many, ask for what is theirs to ask for. */
const FOR_SHARES = [
  'a feed that is not kept, 12 times a second', 'a feed that is not kept, from one address',
  'a feed that is not kept, from 100 IPv6 /64s of four /48s', 'floods of health and metrics',
  '10 exports of an account', '10 edits of a long post at once',
];

type Member = { cookie: string; source: number };
type Probe = { source: number; secret: string; cookie: string };
type Times = { page: number; event: number; list: number };

/**
 * What others wait for while one account or visitor asks for as much as it can: the 99th percentile of `GET /`, of a
 * signed event and of a member's list under each attack, beside the same on the idle hub; the highest memory of web
 * and worker in the end; and what a writer waits for during a first synchronisation.
 */
export async function benchFairness(): Promise<BenchRow[]> {
  using folder = benchFolder('fairness');
  await using web = await startWeb(folder.path, { TRUSTED_PROXIES: PROXY });
  await using worker = startWorker(folder.path);
  const ada = await joinHub(web, folder.path, 'ada');
  const mallory = await joinHub(web, folder.path, 'mallory');
  const probe = await addWebhook(web, ada);
  await fillPrivatePosts(web, mallory);
  await fillPublicPosts(web, ada);
  await measure(web, probe, IDLE_MS); // warms up
  const idle = await measure(web, probe, IDLE_MS);
  const rows: BenchRow[] = [];
  const wanted = process.env['BENCH_FAIRNESS'] ?? '';
  const attacks = [...ATTACKS, ...FOR_SHARES].filter((name) => name.includes(wanted));
  for (const attack of attacks) rows.push(...await underAttack(web, probe, mallory, attack, idle));
  for (const [name, { pid }] of Object.entries({ web, worker })) {
    rows.push(limitRow(`peak memory of ${name}`, residentMiB(pid, 'VmHWM'), MEMORY_LIMIT_MIB[name] ?? NaN, 'MiB'));
  }
  return 'first synchronisation'.includes(wanted) ? [...rows, ...await firstSync()] : rows;
}

async function underAttack(
  web: RunningServer, probe: Probe, member: Member, attack: string, idle: Times,
): Promise<BenchRow[]> {
  const loaded = await attacked(web, probe, member, attack);
  await untilCalm(web);
  const limit = FOR_SHARES.includes(attack) ? LIMIT_OF_SHARES_MS : P99_LIMIT_MS;
  const rows = [
    row(`${attack}: GET / p99`, loaded.page, idle.page, limit),
    row(`${attack}: webhook p99`, loaded.event, idle.event, limit),
    row(`${attack}: a member's list p99`, loaded.list, idle.list, LIMIT_OF_SHARES_MS),
  ];
  return attack === CONNECTIONS ? [...rows, ...await besideBare(probe, member, loaded)] : rows;
}

async function attacked(
  server: RunningServer, probe: Probe, { cookie, source }: Member, attack: string,
): Promise<Times> {
  const child = startClient('fairness-attacks.ts', [attack, server.port, cookie, source, ATTACK_MS]);
  await once(child.stdout, 'data');
  const loaded = await measure(server, probe, ATTACK_MS);
  if (child.exitCode === null) await once(child, 'exit');
  if (child.exitCode !== 0) throw new Error(`the attack failed: ${attack}`);
  return loaded;
}

/** What the same costs on this machine whatever the server does: attack, probe and kernel share its processors. */
async function besideBare(probe: Probe, member: Member, ours: Times): Promise<BenchRow[]> {
  await using server = await startPeer('bare-peers.ts', ['refusing']);
  await measure(server, probe, IDLE_MS); // warms up
  const bare = await attacked(server, probe, member, CONNECTIONS);
  const row = (what: string, own: number, peerFigure: number): BenchRow => lessRow({
    name: `${CONNECTIONS}: ${what} p99 beside a bare server`, ours: own, peer: 'node:http that only refuses',
    peerFigure, unit: 'ms', want: '>= 0.5',
  });
  return [row('GET /', ours.page, bare.page), row('webhook', ours.event, bare.event)];
}

/** Waits until what an attack has left to do is done: one attack is not measured under another. */
async function untilCalm({ port }: RunningServer): Promise<void> {
  for (let calm = 0; calm < 20; calm++) {
    const started = performance.now();
    await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
    if (performance.now() - started > P99_LIMIT_MS / 2) calm = 0;
    await sleep(100);
  }
}

function row(name: string, ours: number, peerFigure: number, limit: number): BenchRow {
  return { name, ours, peer: 'idle', peerFigure, unit: 'ms', ratio: limit / ours, want: `>= 1, which is ${limit} ms` };
}

async function measure(web: RunningServer, { source, secret, cookie }: Probe, milliseconds: number): Promise<Times> {
  return JSON.parse(await runClient('probe-client.ts', [web.port, source, secret, milliseconds, cookie])) as Times;
}

/** A member with a source of own posts. */
async function joinHub({ port }: RunningServer, dataDir: string, username: string): Promise<Member> {
  const env = { ...process.env as Record<string, string>, DATA_DIR: dataDir, PORT: String(port) };
  const { stdout } = await runProgram(process.execPath, [join(PROJECT, 'src/bin/hubctl.ts'), 'invite'], { env });
  const invitation = stdout.trim().split('/').pop();
  const joined = await post(port, '/api/accounts', { invitation, username, password: PASSWORD });
  const cookie = joined.headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
  const made = await post(port, '/api/sources', { kind: 'native', title: `Of ${username}` }, cookie);
  return { cookie, source: ((await made.json()) as { id: number }).id };
}

async function addWebhook({ port }: RunningServer, { cookie }: Member): Promise<Probe> {
  const made = await post(port, '/api/sources', { kind: 'webhook', title: 'Probe', visibility: 'private' }, cookie);
  const { id, webhook } = (await made.json()) as { id: number; webhook: { secret: string } };
  return { source: id, secret: webhook.secret, cookie };
}

async function fillPublicPosts({ port }: RunningServer, { cookie, source }: Member): Promise<void> {
  const content = '<p>some <b>bold</b> text of a post</p>'.repeat(20_000 / 38);
  for (let n = 0; n < PUBLIC_POSTS; n++) {
    await post(port, '/api/posts', { sourceId: source, title: `Post ${n}`, content, contentType: 'text/html' }, cookie);
  }
}

async function fillPrivatePosts(web: RunningServer, member: Member): Promise<void> {
  const sources = await Promise.all(Array.from({ length: 8 }, () => addWebhook(web, member)));
  for (const { source, secret } of sources) {
    await runClient('webhook-client.ts', [web.port, secret, source, 1, PRIVATE_POSTS / sources.length, 16, 'posts']);
  }
}

async function post(port: number, path: string, value: object, cookie = ''): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', ...(cookie && { cookie }) };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: JSON.stringify(value) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}
