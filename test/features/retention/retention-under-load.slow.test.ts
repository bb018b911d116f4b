// Protects visitors and writers while a million old rows are removed.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, type Db } from '../../../src/platform/db/open-database.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { fillWithOldHistory } from '../../support/old-history.ts';
import { waitUntil } from '../../support/wait-until.ts';

const ROWS = 1_000_000;
const LARGEST_STEP = 5_000; // rows

/** Has the database note what each transaction of the removal took; gives the rows of each so far. */
function watchSteps(db: Db): () => number[] {
  db.exec(`
    CREATE TABLE steps (id INTEGER PRIMARY KEY, removed INTEGER NOT NULL) STRICT;
    CREATE TRIGGER note_step AFTER UPDATE OF removed ON retention_runs BEGIN
      INSERT INTO steps (removed) VALUES (json_extract(NEW.removed, '$.readingHistory')
                                          - COALESCE(json_extract(OLD.removed, '$.readingHistory'), 0));
    END`);
  const select = db.prepare<[], { removed: number }>('steps', 'SELECT removed FROM steps ORDER BY id');
  return () => select.all().map(({ removed }) => removed);
}

function readRun(db: Db): { removed: Record<string, number>; finishedAt: number | null } | undefined {
  const row = db.prepare<[], { removed: string; finishedAt: number | null }>('run',
    'SELECT removed, finished_at AS finishedAt FROM retention_runs').get();
  return row && { ...row, removed: JSON.parse(row.removed) as Record<string, number> };
}

test('while a million old rows go, web answers and others write as if nothing was, also when the worker is replaced', async (t) => {
  const dataDir = temporaryDataDir(t);
  const path = join(dataDir, 'hub.db');
  fillWithOldHistory(path, ROWS);
  const address = await startHubProcess(t, 'web', dataDir).address();
  const db = openDatabase(path);
  t.after(() => db.close());
  const stepsSoFar = watchSteps(db);
  const left = (): number =>
    db.prepare<[], { n: number }>('count', 'SELECT COUNT(*) AS n FROM reading_history').get()?.n ?? NaN;
  const touch = db.prepare<[number]>('touch', `
    INSERT INTO rate_limits (key, arrives_at) VALUES ('test', ?) ON CONFLICT DO UPDATE SET arrives_at = excluded.arrives_at`);

  const statuses = new Map<number, number>();
  const stepsSeen = new Set<number>();
  const useUntil = (what: string, isDone: () => boolean): Promise<void> => waitUntil(what, async () => {
    for (const page of ['/', '/api/posts', '/posts/7', '/api/health']) {
      const { status } = await fetch(address + page).then(async (answer) => (await answer.text(), answer));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    touch.run(Date.now()); // throws when it has to wait for too long
    stepsSeen.add(stepsSoFar().length);
    await sleep(30); // as readers come and go; without a pause the test would take the processor from the hub
    return isDone();
  }, 150_000);

  const first = startHubProcess(t, 'worker', dataDir);
  await useUntil('some thousands of rows are removed', () => stepsSoFar().length > 20);
  assert.equal(await first.end('SIGTERM'), 0, 'it stops in the middle of the work');
  const cutOff = readRun(db);
  assert.equal(cutOff?.finishedAt, null);
  assert.deepEqual(cutOff.removed, { readingHistory: ROWS - left() }, 'what it did is known to the row');
  assert.ok(left() > 0);

  const second = startHubProcess(t, 'worker', dataDir);
  await useUntil('all old rows are removed', () => readRun(db)?.finishedAt !== null);
  assert.equal(await second.end('SIGTERM'), 0);

  const steps = stepsSoFar();
  t.diagnostic(`${steps.length} steps, the largest ${Math.max(...steps)} rows; used between ${stepsSeen.size} of them`);
  assert.equal(left(), 0);
  assert.deepEqual(readRun(db)?.removed, { readingHistory: ROWS });
  assert.equal(steps.reduce((sum, removed) => sum + removed, 0), ROWS, 'no row went but in a step');
  assert.ok(Math.max(...steps) <= LARGEST_STEP, `one transaction removed ${Math.max(...steps)} rows`);
  assert.deepEqual([...statuses.keys()], [200]);
  assert.ok(stepsSeen.size > 50, `the hub was used between ${stepsSeen.size} of ${steps.length} steps`);
  assert.equal(db.pragma('quick_check(1)'), 'ok');
});
