import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy, openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { fillWithOldHistory } from '../support/old-history.ts';
import type { BenchRow } from './bench-row.ts';
import { startWorker, stop } from './bench-servers.ts';
import { startDeleting } from './delete-peer.ts';

const ROWS = 1_000_000;
const GAP_MS = 3;

/** Enough for all of it on a machine that does nothing else; on a busy one the rest is like what was seen. */
const WATCHED_MS = 45_000;

type Waits = { longest: number; usual: number };

/**
 * How long a writer waits while a million old rows of the reading history go: removed by the hub's own worker, and by
 * one DELETE in another process. The writer commits a row every few milliseconds, as the web process may. Beside that,
 * the same writer alone, which shows what the disk and the machine do to it by themselves.
 */
export async function benchRetention(rows = ROWS): Promise<BenchRow[]> {
  const alone = await measure(rows, undefined, WATCHED_MS / 3);
  const plain = await measure(rows, (folder) => startDeleting(join(folder, 'hub.db')));
  const ours = await measure(rows, startWorker);
  const row = (which: keyof Waits, name: string, peer: string, other: Waits, want: string): BenchRow => ({
    name, ours: ours[which], peer, peerFigure: other[which], unit: 'ms', ratio: other[which] / ours[which], want,
  });
  return [
    row('longest', 'longest wait of a writer, a million old rows', 'one DELETE', plain, '>= 10; ours at most 50 ms'),
    row('longest', 'the same', 'a writer alone', alone, 'no bound'),
    row('usual', 'wait of 999 writes in 1,000', 'a writer alone', alone, 'no bound'),
  ];
}

async function measure(
  rows: number, start?: (folder: string) => ChildProcess, watchedMs: number = WATCHED_MS,
): Promise<Waits> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-retention-'));
  try {
    fillWithOldHistory(join(folder, 'hub.db'), rows);
    const db = openDatabase(join(folder, 'hub.db'));
    const remover = start?.(folder);
    const waits = await write(db, watchedMs);
    if (remover) await stop(remover);
    db.close();
    return { longest: waits.at(-1) ?? NaN, usual: waits[Math.floor(waits.length * 0.999)] ?? NaN };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Milliseconds of each write, shortest first, until no old row is left or the time is up. */
async function write(db: Db, watchedMs: number): Promise<number[]> {
  const anyOld = db.prepare<[], { at: number }>('any old row', 'SELECT read_at AS at FROM reading_history LIMIT 1');
  const touch = db.prepare<[number]>('touch', `
    INSERT INTO rate_limits (key, arrives_at) VALUES ('bench', ?)
    ON CONFLICT DO UPDATE SET arrives_at = excluded.arrives_at`);
  const waits: number[] = [];
  const until = performance.now() + watchedMs;
  while (performance.now() < until && anyOld.get()) {
    waits.push(timed(() => touch.run(8.64e15)));
    await sleep(GAP_MS);
  }
  return waits.sort((a, b) => a - b);
}

/** A write that is given up after the hub's five seconds has waited for so long, too. */
function timed(work: () => void): number {
  const started = performance.now();
  try {
    work();
  } catch (error) {
    if (!isBusy(error)) throw error;
  }
  return performance.now() - started;
}
