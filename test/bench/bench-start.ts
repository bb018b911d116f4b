import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { standardEvent } from '../support/signed-events.ts';
import { sendEvent } from '../support/webhooks.ts';
import type { BenchRow } from './bench-row.ts';
import { residentMiB, startPeer, startWeb, startWorker, stop, type RunningServer } from './bench-servers.ts';
import { median } from './median.ts';

const ROUNDS = 7;
const IDLE_MS = 3_000;
const MIGRATIONS = join(import.meta.dirname, '../../migrations');

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
  const folder = mkdtempSync(join(tmpdir(), 'bench-start-'));
  try {
    prepare(join(folder, 'hub.db'));
    const startEmpty = () => startPeer('empty-peer.ts', [join(folder, 'empty.db')]);
    const peer = 'empty node:http with better-sqlite3';
    const rows: BenchRow[] = [];
    for (const [first, ask] of Object.entries(FIRST)) {
      const [ours, empty]: [number[], number[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        ours.push(await timeTo(ask, () => startWeb(folder)));
        empty.push(await timeTo(askForPage, startEmpty));
      }
      const times = { ours: median(ours), peerFigure: median(empty) };
      const ratio = times.peerFigure / times.ours;
      rows.push({ name: `start of web to ${first}`, ...times, peer, unit: 'ms', ratio, want: 'as reported' });
    }
    const memory = await idleMemory(folder, startEmpty);
    return [
      ...rows,
      ...(['web', 'worker'] as const).map((name) => ({
        name: `idle memory of ${name}`, ours: memory[name], peer, peerFigure: memory.empty, unit: 'MiB',
        ratio: memory.empty / memory[name], want: 'as reported',
      })),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A hub with an account and a webhook. */
function prepare(path: string): void {
  const db = openDatabase(path);
  migrate(db, readMigrations(MIGRATIONS), Date.now);
  db.exec(`
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0);
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
  const server = await start();
  const { status } = await ask(`http://127.0.0.1:${server.port}`);
  const took = performance.now() - started;
  await server.stop();
  if (status !== 200 && status !== 202) throw new Error(`${server.name} was not ready: ${status}`);
  return took;
}

async function idleMemory(folder: string, startEmpty: () => Promise<RunningServer>) {
  const web = await startWeb(folder);
  const empty = await startEmpty();
  const worker = startWorker(folder);
  await sleep(IDLE_MS);
  const memory = {
    web: residentMiB(web.pid, 'VmRSS'),
    worker: residentMiB(worker.pid ?? 0, 'VmRSS'),
    empty: residentMiB(empty.pid, 'VmRSS'),
  };
  await Promise.all([web.stop(), empty.stop(), stop(worker)]);
  return memory;
}

