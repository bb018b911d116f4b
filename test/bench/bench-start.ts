import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import type { BenchRow } from './bench-row.ts';
import { residentMiB, startPeer, startWeb, startWorker, stop, type RunningServer } from './bench-servers.ts';
import { median } from './median.ts';

const ROUNDS = 7;
const IDLE_MS = 3_000;
const MIGRATIONS = join(import.meta.dirname, '../../migrations');

/**
 * From starting web to its first 200 of readiness, and the memory of web and worker when they have nothing to do,
 * beside a Node process with an empty node:http server and an open better-sqlite3.
 */
export async function benchStart(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-start-'));
  try {
    const db = openDatabase(join(folder, 'hub.db'));
    migrate(db, readMigrations(MIGRATIONS), Date.now);
    db.close();
    const startEmpty = () => startPeer('empty-peer.ts', [join(folder, 'empty.db')]);
    const ours: number[] = [];
    const empty: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(await timeToReady(() => startWeb(folder)));
      empty.push(await timeToReady(startEmpty));
    }
    const peer = 'empty node:http with better-sqlite3';
    const start = { name: 'start of web to readiness', ours: median(ours), peer, peerFigure: median(empty), unit: 'ms' };
    const memory = await idleMemory(folder, startEmpty);
    return [
      { ...start, ratio: start.peerFigure / start.ours, want: 'as reported' },
      ...(['web', 'worker'] as const).map((name) => ({
        name: `idle memory of ${name}`, ours: memory[name], peer, peerFigure: memory.empty, unit: 'MiB',
        ratio: memory.empty / memory[name], want: 'as reported',
      })),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function timeToReady(start: () => Promise<RunningServer>): Promise<number> {
  const started = performance.now();
  const server = await start();
  const response = await fetch(`http://127.0.0.1:${server.port}/api/health`);
  await response.text();
  const took = performance.now() - started;
  await server.stop();
  if (response.status !== 200) throw new Error(`${server.name} was not ready: ${response.status}`);
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

