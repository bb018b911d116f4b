import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isBusy, openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { fillWithOldEvents, fillWithOldHistory } from '../support/old-history.ts';
import type { BenchRow } from './bench-row.ts';
import { startWorker, stop } from './bench-servers.ts';
import { startDeleting } from './delete-peer.ts';

const ROWS = 1_000_000;
const EVENTS = 200_000;
const GAP_MS = 3;

/** Enough for all of it on a machine that does nothing else; on a busy one the rest is like what was seen. */
const WATCHED_MS = 45_000;

type Waits = { longest: number; usual: number };

/** What is to be removed: how it is made, and how one asks whether any is left. */
type Old = { fill(path: string): void; any: string };

/**
 * How long a writer waits while a million old rows of the reading history go: removed by the hub's own worker, and by
 * one DELETE in another process. The writer commits a row every few milliseconds, as the web process may. Beside that,
 * the same writer alone, which shows what the disk and the machine do to it by themselves; and ids of webhook events,
 * which lie in no order of time.
 */
export async function benchRetention(rows = ROWS): Promise<BenchRow[]> {
  const history = { fill: (path: string) => fillWithOldHistory(path, rows), any: 'SELECT 1 FROM reading_history LIMIT 1' };
  const ids = { fill: (path: string) => fillWithOldEvents(path, EVENTS), any: 'SELECT 1 FROM webhook_events LIMIT 1' };
  const alone = await measure(history, undefined, WATCHED_MS / 3);
  const plain = await measure(history, (folder) => startDeleting(join(folder, 'hub.db')));
  const ours = await measure(history, startWorker);
  const events = await measure(ids, startWorker);
  const row = (which: keyof Waits, name: string, peer: string, other: Waits, want: string): BenchRow => ({
    name, ours: ours[which], peer, peerFigure: other[which], unit: 'ms', ratio: other[which] / ours[which], want,
  });
  return [
    row('longest', 'longest wait of a writer, a million old rows', 'one DELETE', plain, '>= 10; ours at most 50 ms'),
    row('longest', 'the same', 'a writer alone', alone, 'no bound'),
    row('usual', 'wait of 999 writes in 1,000', 'a writer alone', alone, 'no bound'),
    { ...row('longest', 'longest wait, 200,000 old ids of webhook events', 'a writer alone', alone, 'ours at most 50 ms'),
      ours: events.longest, ratio: alone.longest / events.longest },
  ];
}

async function measure(
  old: Old, start?: (folder: string) => ChildProcess, watchedMs: number = WATCHED_MS,
): Promise<Waits> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-retention-'));
  try {
    old.fill(join(folder, 'hub.db'));
    const db = openDatabase(join(folder, 'hub.db'));
    const remover = start?.(folder);
    const waits = await write(db, old, watchedMs);
    if (remover) await stop(remover);
    db.close();
    return { longest: waits.at(-1) ?? NaN, usual: waits[Math.floor(waits.length * 0.999)] ?? NaN };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Milliseconds of each write, shortest first, until no old row is left or the time is up. */
async function write(db: Db, { any }: Old, watchedMs: number): Promise<number[]> {
  const anyOld = db.prepare<[], object>('any old row', any);
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
