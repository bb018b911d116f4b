// Protects other writers from long removals: many small transactions with a pause after each.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { createThrottledWrites } from '../../../src/platform/db/batched-writes.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';
import { stopWatch } from '../../support/stopped-watch.ts';

const PAUSE_MS = 25;
const SHORT_PAUSE_MS = 5;
const SECOND = 1_000;
const LARGEST_STEP = 5_000; // rows

/**
 * A table with so many rows, and what removes them. `steps` has the rows of each transaction, and how long it was waited
 * after it (ms); nothing waits in fact, and the watch stands still.
 */
function startRemoving(t: TestContext, rows: number, isTight = () => false) {
  const pass = stopWatch(t);
  const { setTimeout: later } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (run: () => void, waited: number) => {
    const step = steps.at(-1);
    return later(() => (step && (step.waited = waited), run()), 0);
  });
  const { db, path, connect } = migratedDatabase(t);
  db.exec(`
    CREATE TABLE old (n INTEGER PRIMARY KEY) STRICT;
    WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < ${rows})
      INSERT INTO old SELECT n FROM count`);
  const remove = db.prepare<[number]>('remove', 'DELETE FROM old WHERE n IN (SELECT n FROM old LIMIT ?)');
  const count = db.prepare<[], { n: number }>('count', 'SELECT COUNT(*) AS n FROM old');
  const steps: { rows: number; before: number | undefined; waited: number }[] = [];
  const noting: typeof db = {
    ...db,
    transaction: (name, work) => {
      const run = db.transaction(name, work);
      return (...args) => {
        const before = left();
        const result = run(...args);
        steps.push({ rows: before - left(), before: steps.at(-1)?.waited, waited: 0 });
        return result;
      };
    },
  };
  const left = (): number => count.get()?.n ?? NaN;
  const logBytes = (): number => statSync(`${path}-wal`).size;
  return {
    paced: createThrottledWrites(noting, isTight), removeSome: (limit: number) => remove.run(limit).changes, left, steps,
    logBytes, pass, connect,
  };
}

/** How long was waited after each step that did something, by when the next began (ms). */
function pauses(steps: { rows: number; before: number | undefined }[]): (number | undefined)[] {
  return steps.slice(1).flatMap(({ before }, index) => (steps[index]?.rows ? [before] : []));
}

test('much is done in many transactions with a pause after each', async (t) => {
  const { paced, removeSome, left, steps } = startRemoving(t, 50_000);

  assert.equal(await paced('remove', removeSome), true);
  assert.equal(left(), 0);
  assert.ok(steps.length >= 50_000 / LARGEST_STEP, `${steps.length} transactions`);
  assert.ok(steps.every(({ rows }) => rows <= LARGEST_STEP));
  assert.deepEqual(new Set(pauses(steps)), new Set([PAUSE_MS]));
});

test('a pause is as long as the transaction was', async (t) => {
  const { paced, removeSome, steps, pass } = startRemoving(t, 300);
  const slowly = (limit: number): number => (pass(40), removeSome(limit));

  assert.equal(await paced('remove', slowly), true);
  assert.deepEqual(steps.map(({ rows, waited }) => [rows, waited]), [[100, 40], [100, 40], [100, 40], [0, 0]]);
});

test('pauses are short while no other process has written for a second, and long for a second after a write', async (t) => {
  const { paced, removeSome, steps, pass, connect } = startRemoving(t, 100);
  const other = connect();
  const step = async (before: () => unknown): Promise<number | undefined> => {
    before();
    await paced('remove', () => removeSome(10));
    await paced('nothing', () => 0); // begins after the pause
    return steps.at(-2)?.waited;
  };
  other.exec('CREATE TABLE others (n INTEGER) STRICT');

  assert.equal(await step(() => {}), PAUSE_MS, 'at first nobody knows who writes');
  assert.equal(await step(() => pass(SECOND)), SHORT_PAUSE_MS, 'its own writes do not count');
  assert.equal(await step(() => other.exec('INSERT INTO others VALUES (1)')), PAUSE_MS);
  assert.equal(await step(() => pass(SECOND - 10)), PAUSE_MS);
  assert.equal(await step(() => pass(10)), SHORT_PAUSE_MS);
});

test('what is asked for at the same time takes turns, so that there is a pause after every transaction', async (t) => {
  const { paced, removeSome, left, steps } = startRemoving(t, 20_000);

  await Promise.all([paced('remove', removeSome), paced('remove', removeSome), paced('remove', removeSome)]);
  assert.equal(left(), 0);
  assert.ok(steps.length > 4);
  assert.deepEqual(new Set(pauses(steps)), new Set([PAUSE_MS]));
});

test('what has nothing to do keeps nobody waiting', async (t) => {
  const { paced, steps } = startRemoving(t, 1);

  await Promise.all(Array.from({ length: 400 }, () => paced('nothing', () => 0)));
  assert.equal(steps.length, 400);
  assert.ok(steps.every(({ waited }) => waited === 0), 'there is no pause after any');
});

test('it stops between two transactions when it is told to, and can be gone on with', async (t) => {
  const { paced, removeSome, left, steps } = startRemoving(t, 30_000);

  assert.equal(await paced('remove', removeSome, () => steps.length === 3), false);
  assert.equal(steps.length, 3);
  assert.equal(left(), 30_000 - steps.reduce((sum, { rows }) => sum + rows, 0));
  assert.ok(left() > 0);
  assert.equal(await paced('remove', removeSome), true);
  assert.equal(left(), 0);
});

test('a step that fails is undone and told, and others go on', async (t) => {
  const { paced, removeSome, left } = startRemoving(t, 1_000);
  let calls = 0;
  const failing = (limit: number): number => {
    if (++calls === 3) throw new Error('a fault');
    return removeSome(limit);
  };
  const outcomes = await Promise.allSettled([paced('fail', failing), paced('nothing', () => 0)]);

  assert.deepEqual(outcomes.map(({ status }) => status), ['rejected', 'fulfilled']);
  assert.equal(left() % 100, 0, 'whole portions only');
  assert.ok(left() > 0);
  assert.equal(await paced('remove', removeSome), true);
  assert.equal(left(), 0);
});

test('on a disk that is nearly full each step is ten rows, and the log is empty before the next', async (t) => {
  let isTight = true;
  const { paced, removeSome, left, steps, logBytes } = startRemoving(t, 20_000, () => isTight);
  const lengths: number[] = [];
  const some = (limit: number): number => {
    if (isTight) lengths.push(logBytes());
    if (steps.length === 19) isTight = false;
    return removeSome(limit);
  };

  assert.equal(await paced('remove', some), true);
  assert.equal(left(), 0);
  assert.deepEqual(steps.slice(0, 19).map(({ rows }) => rows), Array(19).fill(10));
  assert.deepEqual(lengths.slice(1), Array(lengths.length - 1).fill(0));
  assert.ok((steps[21]?.rows ?? 0) >= 100, 'with room, steps are as large as before');
});

test('a step that finds the log in use goes on without emptying it', async (t) => {
  const { db, connect } = migratedDatabase(t);
  db.exec('CREATE TABLE old (n INTEGER PRIMARY KEY) STRICT; INSERT INTO old VALUES (1), (2)');
  const reader = connect();
  reader.exec('BEGIN; SELECT count(*) FROM old');
  const remove = db.prepare<[]>('remove one', 'DELETE FROM old WHERE n IN (SELECT n FROM old LIMIT 1)');
  assert.equal(await createThrottledWrites(db, () => true)('remove', () => remove.run().changes), true);
  reader.exec('COMMIT');
});
