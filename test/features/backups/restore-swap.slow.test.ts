// Protects the swap of a restore when it is cut off at any move: all old or all new after recovery.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { DATA_ITEMS, itemsIn, swapBack, swapIn, type Move, type Places } from '../../../src/features/backups/swap-data.ts';

/** What there was before a restore. */
const OLD: Record<string, string[]> = {
  'a database and attachments': ['hub.db', 'uploads'],
  'the same of a hub that sends to restic': ['hub.db', 'uploads', 'offsite-hub.json'],
  'a database with its log, too damaged to fold it': ['hub.db', 'hub.db-wal', 'hub.db-shm', 'uploads'],
  'a database with a journal, and no attachments': ['hub.db', 'hub.db-journal'],
  'attachments without a database': ['uploads'],
  'nothing, on the first install': [],
};

type Attempt = { places: Places; old: string[] };

function lay(folder: string, old: string[]): Attempt {
  rmSync(folder, { recursive: true, force: true });
  const places = { live: join(folder, 'live'), staged: join(folder, 'staged'), kept: join(folder, 'kept') };
  for (const path of [places.live, places.staged]) mkdirSync(path, { recursive: true });
  for (const item of old) put(places.live, item, 'old');
  for (const item of ['hub.db', 'uploads', 'offsite-hub.json']) put(places.staged, item, 'new');
  return { places, old: itemsIn(places.live) };
}

/** Attachments as a folder with one file. */
function put(folder: string, item: string, content: string): void {
  if (item === 'uploads') mkdirSync(join(folder, item));
  writeFileSync(contentPath(folder, item), content);
}

function contentPath(folder: string, item: string): string {
  return item === 'uploads' ? join(folder, item, 'file') : join(folder, item);
}

function contentsOf(folder: string): Record<string, string> {
  const there = DATA_ITEMS.filter((item) => existsSync(contentPath(folder, item)));
  return Object.fromEntries(there.map((item) => [item, readFileSync(contentPath(folder, item), 'utf8')]));
}

/** Stops at the n-th move, before or after it is done. False when it came to its end. */
async function stopped(work: (move: Move) => Promise<void>, n: number, isDone: boolean): Promise<boolean> {
  let moves = 0;
  const stop = new Error('stopped');
  const move: Move = async (from, to) => {
    const isLast = ++moves === n;
    if (isLast && !isDone) throw stop;
    assert.ok(!existsSync(to), `${to} would be overwritten`);
    await rename(from, to);
    if (isLast) throw stop;
  };
  return work(move).then(() => false, (error: unknown) => {
    if (error === stop) return true;
    throw error;
  });
}

const DIRECTIONS = { in: swapIn, back: swapBack };
type Direction = keyof typeof DIRECTIONS;

function assertWhole({ places, old }: Attempt, direction: Direction, what: string): void {
  const expected = direction === 'in' ? { 'hub.db': 'new', 'offsite-hub.json': 'new', uploads: 'new' } : all(old, 'old');
  assert.deepEqual(sorted(contentsOf(places.live)), sorted(expected), what);
  const kept = direction === 'in' ? all(old, 'old') : {};
  assert.deepEqual(sorted(contentsOf(places.kept)), sorted(kept), what);
}

function all(items: string[], content: string): Record<string, string> {
  return Object.fromEntries(items.map((item) => [item, content]));
}

function sorted(contents: Record<string, string>): [string, string][] {
  return Object.entries(contents).sort();
}

/** Every old item is there once, in place or kept. */
function assertOldIsThere({ places, old }: Attempt, what: string): void {
  for (const item of old) {
    const found = [places.live, places.kept].filter((folder) => contentsOf(folder)[item] === 'old');
    assert.equal(found.length, 1, `${what}: the old ${item}`);
  }
}

function scratch(t: TestContext): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hub-swap-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

for (const [name, items] of Object.entries(OLD)) {
  test(`case 62: stopped at every move, and again while recovering, either way: all old or all new (${name})`, async (t) => {
    const folder = scratch(t);
    let combinations = 0;

    /** Stops at every pair of moves, in every pair of directions, then ends it in either. */
    for (const isDone of [false, true]) {
      for (let n = 1, more = true; more; n++) {
        for (const second of ['in', 'back'] as const) {
          for (let m = 1, again = true; again; m++) {
            for (const last of ['in', 'back'] as const) {
              const what = `move ${n}${isDone ? ' done' : ''}, then ${second} to move ${m}, then ${last}`;
              const attempt = lay(folder, items);
              more = await stopped((move) => swapIn(attempt.places, attempt.old, move), n, isDone);
              assertOldIsThere(attempt, what);
              again = await stopped((move) => DIRECTIONS[second](attempt.places, attempt.old, move), m, isDone);
              assertOldIsThere(attempt, what);
              await DIRECTIONS[last](attempt.places, attempt.old);
              assertWhole(attempt, last, what);
              combinations++;
            }
          }
        }
      }
    }
    assert.ok(combinations > 30, `${combinations} combinations`);
  });
}

test('case 62: what the hub wrote beside the new database goes away with it, stopped at every move', async (t) => {
  const folder = scratch(t);
  for (let n = 1, more = true; more; n++) {
    const attempt = lay(folder, ['hub.db', 'hub.db-wal', 'uploads']);
    await swapIn(attempt.places, attempt.old);
    for (const item of ['hub.db-wal', 'hub.db-shm']) put(attempt.places.live, item, 'new');
    more = await stopped((move) => swapBack(attempt.places, attempt.old, move), n, true);
    await swapBack(attempt.places, attempt.old);
    assertWhole(attempt, 'back', `move ${n}`);
  }
});
