// Protects the schema: migrations apply once, in order and whole, and nothing runs on a schema that is not known.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { migrate, pendingMigrations, schemaVersion } from '../../../src/platform/db/migrate.ts';
import { readMigrations, SchemaError } from '../../../src/platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../../src/platform/db/open-database.ts';
import { startProgram } from '../../support/child-program.ts';
import { sha256 } from '../../support/sha256.ts';
import { temporaryFolder, writeFiles } from '../../support/temporary-project.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PEOPLE = `-- safe: yes
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
CREATE TABLE letters (
  id INTEGER PRIMARY KEY, person_id INTEGER NOT NULL REFERENCES people (id) ON DELETE CASCADE
) STRICT;
INSERT INTO people VALUES (1, 'Ada');
INSERT INTO letters VALUES (1, 1);
`;
const TOWNS = '-- safe: yes\nCREATE TABLE towns (name TEXT PRIMARY KEY) STRICT;\n';

const FIRST_OF_0_1_0 = 'ad7ad3bc0726638dd79de087755cdd712739a1a69eff86c8d0af42923cc86082';

type Row = { version: number; applied_at: number; name: string; checksum: string };

/** A file and a folder of migrations, written anew by `put`. */
function start(t: TestContext) {
  const home = temporaryFolder(t);
  const folder = join(home, 'migrations');
  const path = join(home, 'hub.db');
  const db = openDatabase(path);
  t.after(() => db.close());

  function put(files: Record<string, string>): void {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    writeFiles(folder, files);
  }

  const read = () => readMigrations(folder);
  const apply = (allowUnsafe = false, at = 5) => migrate(db, read(), () => at, allowUnsafe).map(({ name }) => name);
  return { db, path, folder, put, apply, read };
}

function history(db: Db): Row[] {
  return db.prepare<[], Row>('history',
    'SELECT version, applied_at, name, checksum FROM schema_migrations ORDER BY version').all();
}

/** Everything that must be as before when a migration did not go through. */
function contents(db: Db): unknown {
  const schema = db.prepare<[], { sql: string }>('schema', 'SELECT name, sql FROM sqlite_schema ORDER BY name').all();
  const people = db.prepare<[], { name: string }>('people', 'SELECT id, name FROM people').all();
  const letters = db.prepare<[], { id: number }>('letters', 'SELECT id, person_id FROM letters').all();
  return { schema, people, letters, history: history(db), integrity: db.pragma('integrity_check') };
}

function refuses(work: () => unknown, message: RegExp): void {
  assert.throws(work, (error) => error instanceof SchemaError && message.test(error.message), String(message));
}

test('migrations are applied in order, each with its row, and a second run applies nothing', (t) => {
  const { db, put, apply, read } = start(t);
  put({ '0001_people.sql': PEOPLE });
  assert.equal(schemaVersion(db), 0);
  assert.deepEqual(apply(false, 1000), ['people']);

  put({ '0001_people.sql': PEOPLE, '0002_towns.sql': TOWNS, 'README.md': 'not one', '0009_old.sql~': 'nor this' });
  assert.deepEqual(pendingMigrations(db, read()).map(({ version }) => version), [2]);
  assert.deepEqual(apply(false, 2000), ['towns']);
  assert.deepEqual(apply(false, 3000), []);

  assert.deepEqual(history(db), [
    { version: 1, applied_at: 1000, name: 'people', checksum: sha256(PEOPLE) },
    { version: 2, applied_at: 2000, name: 'towns', checksum: sha256(TOWNS) },
  ]);
  assert.equal(schemaVersion(db), 2);
  assert.deepEqual([db.pragma('foreign_keys'), db.pragma('busy_timeout')], [1, 5_000]);
});

for (const [why, files, message] of [
  ['a gap', { '0001_a.sql': TOWNS, '0003_c.sql': TOWNS }, /0003_c\.sql is out of sequence: 0002_/],
  ['a number twice', { '0001_a.sql': TOWNS, '0001_b.sql': TOWNS }, /0001_b\.sql is out of sequence: 0002_/],
  ['a start at nothing', { '0000_a.sql': TOWNS }, /0000_a\.sql is out of sequence: 0001_/],
  ['a short number', { '1_a.sql': TOWNS }, /1_a\.sql is out of sequence/],
  ['a capital letter', { '0001_Add.sql': TOWNS }, /0001_Add\.sql is out of sequence/],
  ['a dash', { '0001-add.sql': TOWNS }, /0001-add\.sql is out of sequence/],
  ['no header', { '0001_a.sql': 'CREATE TABLE t (a) STRICT;' }, /0001_a\.sql must begin with the line/],
  ['a header further down', { '0001_a.sql': '\n-- safe: yes\nCREATE TABLE t (a) STRICT;' }, /must begin with the line/],
  ['a header that says neither', { '0001_a.sql': '-- safe: maybe\nCREATE TABLE t (a);' }, /must begin with the line/],
  ['a safe one that drops', { '0001_a.sql': '-- safe: yes\nDROP TABLE t;' }, /not purely additive: DROP TABLE t/],
  ['a COMMIT', { '0001_a.sql': '-- safe: no\nDROP TABLE t;\nCOMMIT;' }, /must not control its transaction: COMMIT/],
] as const) {
  test(`refused before anything is done: ${why}`, (t) => {
    const { put, read } = start(t);
    put(files);
    refuses(read, message);
  });
}

test('an unsafe migration stops the start with the command to run, and is applied when the operator allows it', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_people.sql': PEOPLE });
  apply();
  const before = contents(db);
  const drop = '-- safe: no\nDROP TABLE letters;\n';
  const last = TOWNS.replace('towns', 'c');
  put({ '0001_people.sql': PEOPLE, '0002_towns.sql': TOWNS, '0003_no_letters.sql': drop, '0004_c.sql': last });

  refuses(apply, /migration 3 \(no_letters\) .*nothing was started\. .*\.\/scripts\/hubctl migrate --allow-unsafe$/);
  assert.deepEqual(contents(db), before);

  assert.deepEqual(apply(true), ['towns', 'no_letters', 'c']);
  assert.deepEqual(apply(), []);
});

test('a schema that is newer than the program is refused and left alone', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_people.sql': PEOPLE, '0002_towns.sql': TOWNS, '0003_seas.sql': '-- safe: yes\nCREATE TABLE seas (id INTEGER) STRICT;\n' });
  apply();
  const before = contents(db);
  put({ '0001_people.sql': PEOPLE });

  refuses(apply, /schema version 3 \(seas\), this program knows only up to 1: start the newer version/);
  refuses(() => apply(true), /knows only up to 1/);
  assert.deepEqual(contents(db), before);
});

test('an applied migration whose file was edited, even by one space, stops the start', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_people.sql': PEOPLE });
  apply();
  const before = contents(db);
  put({ '0001_people.sql': `${PEOPLE} `, '0002_towns.sql': TOWNS });

  refuses(apply, /migration 1 \(people\) was applied with other content .*never edited/);
  assert.deepEqual(contents(db), before);
});

test('a database of 0.1.0 is refused with what to do, also where unsafe migrations are allowed', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_people.sql': PEOPLE });
  apply();
  db.exec(`UPDATE schema_migrations SET name = 'platform', checksum = '${FIRST_OF_0_1_0}'`);
  const before = contents(db);

  for (const allowUnsafe of [false, true]) {
    refuses(() => apply(allowUnsafe), /made by version 0\.1\.0, .*: keep version 0\.1\.0, or export .* an empty DATA_DIR$/);
  }
  assert.deepEqual(contents(db), before);
});

const TOYS = `-- safe: yes
CREATE TABLE toys (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT) STRICT;
INSERT INTO toys (id, name) VALUES (1, 'ball'), (7, 'kite');
`;

test('a table that a migration has rebuilt never gives an id a second time', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_toys.sql': TOYS });
  apply();
  db.exec('DELETE FROM toys WHERE id = 7');
  const rebuild = `-- safe: no
    CREATE TABLE new_toys (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT;
    INSERT INTO new_toys SELECT id, name FROM toys;
    DROP TABLE toys;
    ALTER TABLE new_toys RENAME TO toys;`;
  put({ '0001_toys.sql': TOYS, '0002_names.sql': rebuild });
  apply(true);

  db.exec(`INSERT INTO toys (name) VALUES ('top')`);
  assert.deepEqual(db.prepare<[], object>('toys', 'SELECT id, name FROM toys').all(),
    [{ id: 1, name: 'ball' }, { id: 8, name: 'top' }]);

  const emptied = rebuild.replace('INSERT INTO new_toys SELECT id, name FROM toys;', '');
  put({ '0001_toys.sql': TOYS, '0002_names.sql': rebuild, '0003_none.sql': emptied });
  apply(true);
  db.exec(`INSERT INTO toys (name) VALUES ('drum')`);
  assert.deepEqual(db.prepare<[], object>('toys', 'SELECT id FROM toys').all(), [{ id: 9 }]);
});

test('a rebuilt table that would number its rows from the highest one on is refused', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_toys.sql': TOYS });
  apply();
  put({ '0001_toys.sql': TOYS, '0002_names.sql': `-- safe: no
    CREATE TABLE new_toys (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
    INSERT INTO new_toys SELECT id, name FROM toys;
    DROP TABLE toys;
    ALTER TABLE new_toys RENAME TO toys;` });

  refuses(() => apply(true), /^migration names takes AUTOINCREMENT from toys, .* nothing was changed$/);
  assert.equal(schemaVersion(db), 1);
});

test('a table that is dropped needs no ids any more', (t) => {
  const { put, apply } = start(t);
  put({ '0001_toys.sql': TOYS });
  apply();
  put({ '0001_toys.sql': TOYS, '0002_none.sql': '-- safe: no\nDROP TABLE toys;' });
  assert.deepEqual(apply(true), ['none']);
});

test('a history with a hole is refused', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_people.sql': PEOPLE, '0002_towns.sql': TOWNS });
  apply();
  db.exec('DELETE FROM schema_migrations WHERE version = 1');

  refuses(apply, /the migration history lacks migration 1: restore a backup/);
});

test('a migration that fails half-way changes nothing, and those before it stay', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_people.sql': PEOPLE });
  apply();
  const before = contents(db);
  const broken = `-- safe: no
    CREATE TABLE half (a TEXT) STRICT; DELETE FROM people; DROP TABLE letters; INSERT INTO nowhere VALUES (1);`;
  put({ '0001_people.sql': PEOPLE, '0002_broken.sql': broken, '0003_towns.sql': TOWNS });

  refuses(() => apply(true), /migration 2 \(broken\) failed and changed nothing: no such table: nowhere/);
  assert.deepEqual(contents(db), before);
  assert.deepEqual([db.pragma('foreign_keys'), db.inTransaction], [1, false]);

  put({ '0001_people.sql': PEOPLE, '0002_towns.sql': TOWNS });
  assert.deepEqual(apply(), ['towns']);
});

test('a table can be rebuilt without losing the rows that refer to it', (t) => {
  const { db, put, apply } = start(t);
  const rebuild = `-- safe: no
    CREATE TABLE new_people (id INTEGER PRIMARY KEY, name TEXT NOT NULL CHECK (name <> '')) STRICT;
    INSERT INTO new_people SELECT id, name FROM people;
    DROP TABLE people;
    ALTER TABLE new_people RENAME TO people;`;
  put({ '0001_people.sql': PEOPLE, '0002_rebuild.sql': rebuild });
  apply(true);

  const letters = db.prepare<[], { id: number }>('letters', 'SELECT id FROM letters');
  assert.equal(letters.all().length, 1);
  db.exec('DELETE FROM people');
  assert.equal(letters.all().length, 0, 'and its keys work again');
});

test('a migration that leaves a row without its parent is refused', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_people.sql': PEOPLE });
  apply();
  const before = contents(db);

  for (const orphan of ['-- safe: yes\nINSERT INTO letters VALUES (2, 99);', '-- safe: no\nDELETE FROM people;']) {
    put({ '0001_people.sql': PEOPLE, '0002_orphan.sql': orphan });
    refuses(() => apply(true), /migration orphan leaves rows of letters without a parent row; nothing was changed/);
    assert.deepEqual(contents(db), before);
  }
});

test('a full disk while migrating is told as what it is, and leaves the old schema', (t) => {
  const { db, put, apply } = start(t);
  put({ '0001_people.sql': PEOPLE });
  apply();
  const before = contents(db);
  const large = '-- safe: yes\nCREATE TABLE large (a BLOB) STRICT; INSERT INTO large VALUES (zeroblob(1000000));';
  put({ '0001_people.sql': PEOPLE, '0002_large.sql': large });

  db.pragma(`max_page_count = ${Number(db.pragma('page_count'))}`);
  assert.throws(() => apply(), { code: 'SQLITE_FULL' });
  assert.deepEqual(contents(db), before);

  db.pragma('max_page_count = 1000000');
  assert.deepEqual(apply(), ['large']);
});

test('a process killed half-way through a migration leaves the old schema, and the next start applies it', async (t) => {
  const { db, path, folder, put, apply } = start(t);
  // More rows than the cache holds, so that the log beside the file grows; then long work, in which the kill falls.
  const long = `-- safe: yes
    CREATE TABLE many (a BLOB) STRICT;
    INSERT INTO many SELECT zeroblob(1000) FROM (
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 20000) SELECT n FROM numbers);
    INSERT INTO people SELECT 2, 'Bo ' || max(n) FROM (
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 4000000) SELECT n FROM numbers);
  `;
  put({ '0001_people.sql': PEOPLE });
  apply();
  const before = contents(db);
  put({ '0001_people.sql': PEOPLE, '0002_long.sql': long, '0003_towns.sql': TOWNS });

  const program = startProgram(t, 'migrating-process.ts', path, folder);
  await waitUntil('the log has grown', () => statSync(`${path}-wal`).size > 1_000_000);
  await program.end('SIGKILL');

  assert.deepEqual([program.child.signalCode, program.stderr()], ['SIGKILL', '']);
  assert.deepEqual(contents(db), before);
  assert.deepEqual(apply(), ['long', 'towns']);
  assert.deepEqual(history(db).map(({ version }) => version), [1, 2, 3]);
  assert.equal(db.pragma('integrity_check'), 'ok');
});

test('four processes that start at once on a new file apply every migration once', async (t) => {
  const { db, path, folder, put } = start(t);
  const files = Array.from({ length: 12 }, (_, n) => {
    const number = String(n + 1).padStart(4, '0');
    return [`${number}_t.sql`, `-- safe: yes\nCREATE TABLE t${n} (a INTEGER) STRICT; INSERT INTO t${n} VALUES (1);\n`];
  });
  put(Object.fromEntries(files));
  db.close();
  rmSync(path);

  const programs = Array.from({ length: 4 }, () => startProgram(t, 'migrating-process.ts', path, folder));
  await Promise.all(programs.map(({ ended }) => ended));

  assert.deepEqual(programs.map(({ child, stderr }) => [child.exitCode, stderr()]), Array(4).fill([0, '']));
  const after = openDatabase(path);
  t.after(() => after.close());
  assert.deepEqual(history(after).map(({ version }) => version), files.map((_, n) => n + 1));
  for (let n = 0; n < files.length; n++) {
    assert.deepEqual(after.prepare<[], { a: number }>('rows', `SELECT a FROM t${n}`).all(), [{ a: 1 }]);
  }
});
