import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { standardEvent } from '../support/signed-events.ts';
import { sendEvent } from '../support/webhooks.ts';
import { benchFolder, newHub } from './bench-hub.ts';
import { alternate, lessRow, type BenchRow } from './bench-row.ts';
import { residentMiB, startPeer, startWeb, startWorker, type RunningServer } from './bench-servers.ts';

const ROUNDS = 7;
const IDLE_MS = 3_000;

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

type Ask = (address: string) => Promise<{ status: number }>;

const askForPage: Ask = (address) => get(`${address}/`);

const FIRST: Record<string, Ask> = {
  'readiness': (address) => get(`${address}/api/health`),
  'the first page': askForPage,
  'the first API answer': (address) => get(`${address}/api/posts`),
  'the first signed event': (address) => sendEvent(address, 1, standardEvent(SECRET, {
    id: `msg_${Date.now()}`, timestamp: Math.floor(Date.now() / 1_000),
    body: JSON.stringify({ type: 'build.finished', timestamp: new Date().toISOString(), data: {} }),
  })),
};

/**
 * From starting web to its first good answer of several kinds, and the memory of web and worker when they have nothing
 * to do, beside a Node process with an empty node:http server and an open better-sqlite3.
 */
export async function benchStart(): Promise<BenchRow[]> {
  using folder = benchFolder('start');
  prepare(join(folder.path, 'hub.db'));
  const startEmpty = () => startPeer('bare-peers.ts', ['empty', join(folder.path, 'empty.db')]);
  const row = (name: string, ours = NaN, peerFigure = NaN, unit = 'ms'): BenchRow =>
    lessRow({ name, ours, peer: 'empty node:http with better-sqlite3', peerFigure, unit, want: 'as reported' });
  const rows: BenchRow[] = [];
  for (const [first, ask] of Object.entries(FIRST)) {
    const starts = [() => timeTo(ask, () => startWeb(folder.path)), () => timeTo(askForPage, startEmpty)];
    rows.push(row(`start of web to ${first}`, ...await alternate(starts, ROUNDS, 0)));
  }
  const memory = await idleMemory(folder.path, startEmpty);
  for (const name of ['web', 'worker'] as const) {
    rows.push(row(`idle memory of ${name}`, memory[name], memory.empty, 'MiB'));
  }
  return rows;
}

/** A hub with an account and a webhook. */
function prepare(path: string): void {
  const db = newHub(path);
  db.exec(`
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at) VALUES (1, 1, 'webhook', 'Hook', 0, 0);
    INSERT INTO webhooks (source_id, secret, quiet_since_at, created_at) VALUES (1, 'plain:${SECRET}', 0, 0)`);
  db.close();
}

async function get(url: string): Promise<Response> {
  const response = await fetch(url);
  await response.text();
  return response;
}

async function timeTo(ask: Ask, start: () => Promise<RunningServer>): Promise<number> {
  const started = performance.now();
  await using server = await start();
  const { status } = await ask(`http://127.0.0.1:${server.port}`);
  const took = performance.now() - started;
  if (status !== 200 && status !== 202) throw new Error(`${server.name} was not ready: ${status}`);
  return took;
}

async function idleMemory(folder: string, startEmpty: () => Promise<RunningServer>) {
  await using web = await startWeb(folder);
  await using empty = await startEmpty();
  await using worker = startWorker(folder);
  await sleep(IDLE_MS);
  const memoryOf = ({ pid }: { pid: number }): number => residentMiB(pid, 'VmRSS');
  return { web: memoryOf(web), worker: memoryOf(worker), empty: memoryOf(empty) };
}

