// Protects the connection: durable settings, real transactions, and slow statements and disk trouble that are told.
import Database from 'better-sqlite3';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isBusy, isStorageTrouble, openDatabase, type Db, type OpenOptions } from '../../../src/platform/db/open-database.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

const SETTINGS = {
  journal_mode: 'wal',
  synchronous: 2, // FULL
  foreign_keys: 1,
  busy_timeout: 5_000,
  trusted_schema: 0,
  cell_size_check: 1,
  secure_delete: 1,
  temp_store: 2, // MEMORY
  cache_size: -16_000,
  journal_size_limit: 67_108_864,
};

function startFile(t: TestContext) {
  const path = join(temporaryFolder(t), 'hub.db');
  const connect = (options: OpenOptions = {}): Db => {
    const db = openDatabase(path, options);
    t.after(() => db.close());
    return db;
  };
  return { path, connect };
}

function settings(db: Db): Record<string, unknown> {
  return Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, db.pragma(name)]));
}

function withCounter(db: Db) {
  db.exec('CREATE TABLE counter (value INTEGER NOT NULL) STRICT; INSERT INTO counter VALUES (0)');
  return counterOf(db);
}

function counterOf(db: Db) {
  const select = db.prepare<[], { value: number }>('read counter', 'SELECT value FROM counter');
  const update = db.prepare<[number]>('write counter', 'UPDATE counter SET value = ?');
  return { read: (): number => select.get()?.value ?? NaN, write: (value: number) => void update.run(value) };
}

test('every connection has the settings that durability and safety need, also after it has written', (t) => {
  const { connect } = startFile(t);
  const db = connect();
  withCounter(db).write(1);
  assert.deepEqual(settings(db), SETTINGS);

  const second = connect();
  assert.equal(counterOf(second).read(), 1);
  counterOf(second).write(2);
  assert.deepEqual(settings(second), SETTINGS);

  const reader = connect({ readonly: true });
  assert.equal(counterOf(reader).read(), 2);
  assert.deepEqual(settings(reader), SETTINGS);
});

test('foreign keys are kept, and a reading connection cannot write', (t) => {
  const { connect } = startFile(t);
  const db = connect();
  db.exec('CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT');
  db.exec('CREATE TABLE children (id INTEGER REFERENCES parents (id)) STRICT');

  assert.throws(() => db.exec('INSERT INTO children VALUES (1)'), { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' });
  assert.throws(() => connect({ readonly: true }).exec('INSERT INTO parents VALUES (1)'), { code: 'SQLITE_READONLY' });
});

test('a transaction has the write lock before it reads, so that what it read still holds when it writes', (t) => {
  const { connect } = startFile(t);
  const [db, other] = [connect(), connect()];
  const [mine, theirs] = [withCounter(db), counterOf(other)];
  other.pragma('busy_timeout = 0');
  const addOne = db.transaction('add one', (meanwhile: () => void) => {
    const before = mine.read();
    meanwhile();
    mine.write(before + 1);
  });

  addOne(() => assert.throws(() => theirs.write(100), (error) => isBusy(error)));
  theirs.write(theirs.read() + 1);
  assert.equal(mine.read(), 2);

  db.exec('BEGIN DEFERRED');
  mine.read();
  theirs.write(100);
  assert.throws(() => mine.write(3), { code: 'SQLITE_BUSY_SNAPSHOT' }, 'this is what a deferred one would meet');
  db.exec('ROLLBACK');
});

test('an error undoes the whole transaction, goes on to the caller as it is, and leaves the connection usable', (t) => {
  const db = startFile(t).connect();
  const { read, write } = withCounter(db);
  const trouble = new Error('trouble');
  const change = db.transaction('change', (value: number, end: () => void) => {
    write(value);
    end();
    return value;
  });

  assert.throws(() => change(1, () => { throw trouble; }), (error) => error === trouble);
  assert.throws(() => change(2, () => db.exec('INSERT INTO counter VALUES (NULL)')), { code: 'SQLITE_CONSTRAINT_NOTNULL' });
  assert.deepEqual([read(), db.inTransaction], [0, false]);

  assert.equal(change(3, () => assert.equal(db.inTransaction, true)), 3);
  assert.deepEqual([read(), db.inTransaction], [3, false]);
});

test('a transaction inside another is undone alone when its error is caught, and with the outer one in any case', (t) => {
  const db = startFile(t).connect();
  const { read, write } = withCounter(db);
  const inner = db.transaction('inner', (value: number, fails: boolean) => {
    write(value);
    if (fails) throw new Error('inner');
  });
  const outer = db.transaction('outer', (fails: boolean) => {
    write(1);
    assert.throws(() => inner(2, true), /inner/);
    assert.equal(read(), 1);
    inner(3, false);
    if (fails) throw new Error('outer');
  });

  assert.throws(() => outer(true), /outer/);
  assert.equal(read(), 0);
  outer(false);
  assert.equal(read(), 3);
});

test('a statement or transaction of more than 50 ms is told by its name, a quick one is not', (t) => {
  const slow: [string, number][] = [];
  const db = startFile(t).connect({ onSlow: (name, milliseconds) => slow.push([name, milliseconds]) });
  const count = db.prepare<[], { one: number }>('count', 'SELECT 1 AS one');
  const countTwice = db.transaction('count twice', () => [count.get(), count.all()]);
  const failSlowly = db.transaction('fails slowly', () => db.exec('no SQL'));
  let [now, each] = [0, 51]; // milliseconds that pass between two looks at the watch
  t.mock.method(performance, 'now', () => (now += each));

  count.get();
  assert.deepEqual(slow.splice(0), [['count', 51]]);
  each = 20;
  countTwice();
  assert.deepEqual(slow.splice(0), [['count twice', 100]]);
  each = 51;
  assert.throws(failSlowly, { code: 'SQLITE_ERROR' });
  assert.equal(slow.splice(0).at(-1)?.[0], 'fails slowly');
  each = 50;
  count.get();
  assert.deepEqual(slow, []);
});

test('a statement is planned once, not for each value; signs of parameters in texts and comments stay what they are', (t) => {
  const { connect, path } = startFile(t);
  const db = connect();
  db.exec(`CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
    CREATE INDEX queued ON jobs (at) WHERE state = 'queued'`);
  const sql = 'EXPLAIN QUERY PLAN SELECT id FROM jobs WHERE state = ? AND at > 5';
  const bare = new Database(path);
  t.after(() => bare.close());
  const [planned] = bare.prepare<[string], { detail: string }>(sql).all('queued');
  assert.match(planned?.detail ?? '', /queued/, 'SQLite itself looks at the value');
  assert.deepEqual(db.prepare<[string], { detail: string }>('plan', sql).all('queued').map(({ detail }) => detail), ['SCAN jobs']);

  const select = db.prepare<[{ at: number }], object>('texts', `
    SELECT 'who? o''clock @noon' AS text, -- why?
      -@at AS less, 1+@at AS more, 'é' || @at AS joined LIMIT @at`);
  assert.deepEqual(select.get({ at: 5 }), { text: "who? o'clock @noon", less: -5, more: 6, joined: 'é5.0' });
});

test('what is no database, has no folder or cannot have a write-ahead log is refused', (t) => {
  const { path } = startFile(t);
  writeFileSync(path, 'not a database, but long enough to be looked at as if it were one'.repeat(20));

  assert.throws(() => openDatabase(path), { code: 'SQLITE_NOTADB' });
  assert.throws(() => openDatabase(join(path, 'hub.db')), /directory|unable to open/i);
  assert.throws(() => openDatabase(':memory:'), /journal mode stays "memory"/);
});

test('trouble with the storage is told apart from wrong statements and from a lock', (t) => {
  const db = startFile(t).connect();
  db.exec('CREATE TABLE t (a INTEGER NOT NULL, b BLOB) STRICT');
  const errorOf = (sql: string): unknown => {
    try {
      db.exec(sql);
    } catch (error) {
      return error;
    }
  };
  db.pragma(`max_page_count = ${Number(db.pragma('page_count'))}`);
  const full = errorOf('INSERT INTO t VALUES (1, zeroblob(100000))');

  assert.deepEqual([isStorageTrouble(full), isBusy(full)], [true, false]);
  const wrong = [errorOf('INSERT INTO t VALUES (NULL, NULL)'), errorOf('SELEC 1')];
  for (const error of [...wrong, new Error('SQLITE_FULL'), null, 'SQLITE_BUSY']) {
    assert.deepEqual([isStorageTrouble(error), isBusy(error)], [false, false], String(error));
  }
});

test('the first rows that pass a test are read, and no rows after them, while the test reads other rows', (t) => {
  const { connect } = startFile(t);
  const db = connect();
  const [numbers, half] = [db.prepare<[], { n: number }>('numbers', `SELECT value AS n FROM json_each('[1,2,3,4,5,6]')`),
    db.prepare<[number], { isEven: number }>('half', 'SELECT ? % 2 = 0 AS isEven')];
  const read: number[] = [];
  const found = numbers.first(2, ({ n }) => (read.push(n), half.get(n)?.isEven === 1));
  assert.deepEqual([found.map(({ n }) => n), read], [[2, 4], [1, 2, 3, 4]]);
  db.write('write afterwards', () => db.exec('CREATE TABLE t (x)'));
});
