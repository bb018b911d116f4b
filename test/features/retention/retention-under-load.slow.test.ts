// Protects visitors and writers while a million old rows are removed.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { retentionRuns } from '../../../src/features/retention/retention-store.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { createCounters } from '../../../src/platform/metrics/counters.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { countRows } from '../../support/stored-rows.ts';
import { fillWithOldHistory, watchRemovals } from '../../support/old-history.ts';
import { waitUntil } from '../../support/wait-until.ts';

const ROWS = 1_000_000;
const LARGEST_STEP = 5_000; // rows

test('while a million old rows go, web answers and others write as if nothing was, also when the worker is replaced', async (t) => {
  const dataDir = temporaryDataDir(t);
  const path = join(dataDir, 'hub.db');
  fillWithOldHistory(path, ROWS);
  const address = await startHubProcess(t, 'web', dataDir).address();
  const db = openDatabase(path);
  t.after(() => db.close());
  const stepsSoFar = watchRemovals(db);
  const left = (): number => countRows({ db }, 'reading_history');
  const run = retentionRuns({ db, clock: Date.now });
  const counters = createCounters(db);

  const statuses = new Map<number, number>();
  const stepsSeen = new Set<number>();
  const useUntil = (what: string, isDone: () => boolean): Promise<void> => waitUntil(what, async () => {
    for (const page of ['/', '/api/posts', '/posts/7', '/api/health']) {
      const { status } = await fetch(address + page).then(async (answer) => (await answer.text(), answer));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    counters.add('test', '', 1); // throws when it has to wait for too long
    stepsSeen.add(stepsSoFar().length);
    await sleep(30); // as readers come and go; without a pause the test would take the processor from the hub
    return isDone();
  }, 150_000);

  const first = startHubProcess(t, 'worker', dataDir);
  await useUntil('some thousands of rows are removed', () => stepsSoFar().length > 20);
  assert.equal(await first.end('SIGTERM'), 0, 'it stops in the middle of the work');
  const cutOff = run.find();
  assert.equal(cutOff?.finishedAt, null);
  assert.deepEqual(cutOff.removed, { readingHistory: ROWS - left() }, 'what it did is known to the row');
  assert.ok(left() > 0);

  const second = startHubProcess(t, 'worker', dataDir);
  await useUntil('all old rows are removed', () => run.find()?.finishedAt !== null);
  assert.equal(await second.end('SIGTERM'), 0);

  const steps = stepsSoFar();
  t.diagnostic(`${steps.length} steps, the largest ${Math.max(...steps)} rows; used between ${stepsSeen.size} of them`);
  assert.equal(left(), 0);
  assert.deepEqual(run.find()?.removed, { readingHistory: ROWS });
  assert.equal(steps.reduce((sum, removed) => sum + removed, 0), ROWS, 'no row went but in a step');
  assert.ok(Math.max(...steps) <= LARGEST_STEP, `one transaction removed ${Math.max(...steps)} rows`);
  assert.deepEqual([...statuses.keys()], [200]);
  assert.ok(stepsSeen.size > 50, `the hub was used between ${stepsSeen.size} of ${steps.length} steps`);
  assert.equal(db.pragma('quick_check(1)'), 'ok');
});
