// Protects transactions that many callers share: nobody is told of a write that is not committed.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { batchingWrites } from '../../../src/platform/db/batched-writes.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';
import { stopWatch } from '../../support/stopped-watch.ts';

/** A table to write to, how many transactions have been begun, and `passTime`, which moves the stopped watch on. */
function startBatching(t: TestContext) {
  const passTime = stopWatch(t);
  const { db, connect } = migratedDatabase(t);
  db.exec('CREATE TABLE written (n INTEGER PRIMARY KEY) STRICT');
  let transactions = 0;
  const counting: Db = {
    ...db,
    get inTransaction() {
      return db.inTransaction;
    },
    transaction(name, work) {
      const run = db.transaction(name, work);
      return (...args) => {
        if (!db.inTransaction) transactions++;
        return run(...args);
      };
    },
  };
  const insert = db.prepare<[number]>('write', 'INSERT INTO written (n) VALUES (?)');
  const other = connect();
  const select = other.prepare<[], { n: number }>('written', 'SELECT n FROM written ORDER BY n');
  const undoable = db.transaction('one of a batch', (work: () => unknown) => void work());
  return {
    db, other, insert, passTime,
    write: batchingWrites(counting, () => ({ write: undoable, end() {} })),
    transactions: () => transactions,
    written: () => select.all().map(({ n }) => n),
  };
}

test('what is written in the same turn shares one transaction, and is committed before anybody is told', async (t) => {
  const { write, insert, written, transactions } = startBatching(t);
  const seen: number[] = [];
  await Promise.all([1, 2, 3].map(async (n) => {
    await write(() => insert.run(n));
    seen.push(written().length);
  }));

  assert.deepEqual(seen, [3, 3, 3]);
  assert.equal(transactions(), 1);
});

test('the end of a batch is in its transaction, and undoes it all when it throws', async (t) => {
  const { db, insert, written } = startBatching(t);
  let isBroken = true;
  const end = (): void => {
    insert.run(100);
    if (isBroken) throw new Error('broken at the end');
  };
  const write = batchingWrites<number>(db, () => ({ write: (n) => void insert.run(n), end }));
  const results = await Promise.allSettled([write(1), write(2)]);

  assert.deepEqual(results.map(({ status }) => status), ['rejected', 'rejected']);
  assert.deepEqual(written(), []);
  isBroken = false;
  await Promise.all([write(1), write(2)]);
  assert.deepEqual(written(), [1, 2, 100]);
});

test('one that throws is undone and told so, and the others are committed', async (t) => {
  const { write, insert, written, transactions } = startBatching(t);
  const results = await Promise.allSettled([
    write(() => insert.run(1)),
    write(() => {
      insert.run(2);
      throw new Error('broken half-way');
    }),
    write(() => insert.run(1)), // the same key again
    write(() => insert.run(4)),
  ]);

  assert.deepEqual(results.map(({ status }) => status), ['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  assert.deepEqual(written(), [1, 4]);
  assert.equal(transactions(), 1);
});

test('when another process holds the lock for too long all are told, nothing is written, and later ones work', async (t) => {
  const { db, other, write, insert, written } = startBatching(t);
  db.pragma('busy_timeout = 20');
  other.exec('BEGIN IMMEDIATE');
  const results = await Promise.allSettled([1, 2].map((n) => write(() => insert.run(n))));
  other.exec('ROLLBACK');

  assert.deepEqual(results.map(({ status }) => status), ['rejected', 'rejected']);
  assert.match(String(results.map((result) => result.status === 'rejected' && result.reason)), /locked/);
  assert.deepEqual(written(), []);
  await write(() => insert.run(3));
  assert.deepEqual(written(), [3]);
});

test('a batch that takes long is divided, so that others come to write in between', async (t) => {
  const { write, insert, written, transactions, passTime } = startBatching(t);
  const slowly = (n: number): void => {
    passTime(15); // as a large post does
    insert.run(n);
  };
  await Promise.all([1, 2, 3, 4, 5, 6].map((n) => write(() => slowly(n))));

  assert.deepEqual(written(), [1, 2, 3, 4, 5, 6]);
  assert.equal(transactions(), 3, 'a batch ends after 25 ms');
});

test('what is asked for while a batch is told of its end comes into the next one', async (t) => {
  const { write, insert, written, transactions } = startBatching(t);
  await write(() => insert.run(1)).then(() => Promise.all([2, 3].map((n) => write(() => insert.run(n)))));

  assert.deepEqual(written(), [1, 2, 3]);
  assert.equal(transactions(), 2);
});
