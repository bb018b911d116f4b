// Protects the check that a migration marked safe only adds, however its SQL is written.
import assert from 'node:assert/strict';
import Database from 'better-sqlite3';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readMigrations, SchemaError, splitStatements } from '../../../src/platform/db/migration-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'hub-migrations-'));
after(() => rmSync(folder, { recursive: true }));

/** What a migration with that SQL is refused for, and its first statement that is at fault; null for one that is read. */
function refusalOf(sql: string, safe: 'yes' | 'no' = 'yes'): string | null {
  writeFileSync(join(folder, '0001_tried.sql'), `-- safe: ${safe}\n${sql}`);
  try {
    readMigrations(folder);
    return null;
  } catch (error) {
    assert.ok(error instanceof SchemaError);
    return error.message.replace('migration 0001_tried.sql ', '');
  }
}

const UNSAFE = 'is marked safe but not purely additive: ';
const STEERING = 'must not control its transaction: ';

const HOUSE = `
  CREATE TABLE kept (id INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT;
  CREATE INDEX kept_name ON kept (name);
  CREATE VIEW all_kept AS SELECT name FROM kept;
  CREATE TRIGGER kept_mark AFTER DELETE ON kept BEGIN SELECT 1; END;
  CREATE VIRTUAL TABLE words USING fts5 (body, content = '', contentless_delete = 1);
  INSERT INTO kept VALUES (1, 'a'), (2, 'b');
  INSERT INTO words (rowid, body) VALUES (1, 'found');
`;

function house(): Database.Database {
  const db = new Database(':memory:');
  db.exec(HOUSE);
  return db;
}

/** What is there of what the house began with: its schema, its rows, what a search finds. */
function inventory(db: Database.Database): unknown {
  const read = (sql: string): unknown => {
    try {
      return db.prepare(sql).all();
    } catch (error) {
      return String(error);
    }
  };
  return [
    read(`SELECT type, name FROM sqlite_schema WHERE name LIKE '%kept%' OR name LIKE 'words%'`),
    read('SELECT id, name FROM kept WHERE id IN (1, 2)'),
    read(`SELECT rowid FROM words WHERE words MATCH 'found'`),
  ];
}

const REFUSED = [
  'DROP TABLE kept',
  'DROP TABLE IF EXISTS kept',
  'DROP INDEX kept_name',
  'DROP TRIGGER kept_mark',
  'DROP VIEW all_kept',
  'ALTER TABLE kept DROP COLUMN name',
  'ALTER TABLE kept DROP name',
  'ALTER TABLE kept RENAME TO other',
  'ALTER TABLE kept RENAME COLUMN name TO title',
  'ALTER TABLE kept RENAME name TO title',
  'ALTER TABLE kept RENAME COLUMN name TO "ADD COLUMN"',
  'ALTER TABLE kept ALTER COLUMN name SET NOT NULL',
  'ALTER TABLE kept ADD CONSTRAINT short CHECK (length(name) < 9)',
  'DELETE FROM kept',
  `UPDATE kept SET name = 'c'`,
  `REPLACE INTO kept VALUES (1, 'c')`,
  `INSERT OR REPLACE INTO kept VALUES (1, 'c')`,
  `INSERT INTO kept VALUES (1, 'c') ON CONFLICT DO UPDATE SET name = 'c'`,
  `INSERT INTO kept VALUES (1, 'c') ON CONFLICT (id) WHERE id > 0 DO UPDATE SET name = excluded.name`,
  `INSERT INTO kept SELECT 1, 'c' WHERE true ON CONFLICT (id) DO NOTHING ON CONFLICT DO UPDATE SET name = 'c'`,
  'WITH gone AS (SELECT 1 AS id) DELETE FROM kept WHERE id IN (SELECT id FROM gone)',
  'WITH new (n) AS (SELECT 1) UPDATE kept SET name = (SELECT n FROM new)',
  `WITH new (n) AS (SELECT 3) INSERT INTO kept SELECT n, 'c' FROM new`,
  'VACUUM',
  'REINDEX',
  'ANALYZE',
  'PRAGMA writable_schema = ON',
  'PRAGMA foreign_keys = OFF',
  `ATTACH 'other.db' AS other`,
  'DETACH other',
  'SELECT 1',
  'EXPLAIN SELECT 1',
  'BEGIN',
  'COMMIT',
  'CREATE TEMP TABLE t (a)',
  'CREATE TEMPORARY TRIGGER t AFTER INSERT ON kept BEGIN SELECT 1; END',
  'nonsense',
];

for (const statement of REFUSED) {
  test(`not safe: ${statement}`, () => {
    const refusal = UNSAFE + statement.split(';')[0]?.slice(0, 80);
    assert.equal(refusalOf(`${statement};\n`), refusal);
    assert.equal(refusalOf(`/* first */ ${statement.toLowerCase()}`)?.toLowerCase(), refusal.toLowerCase());
    assert.equal(refusalOf(`CREATE TABLE t (a) STRICT; ${statement}`), refusal);
  });
}

const TRICKS = {
  'a second statement on the line': 'CREATE TABLE t (a); DROP TABLE kept;',
  'no space at all': 'CREATE TABLE t(a);DROP TABLE kept',
  'lower case and odd spaces': 'drop\n\t table\r\nkept',
  'comments between the words': 'DELETE/**/FROM--x\nkept',
  'a comment that hides a quote': `CREATE TABLE t (a)/*'*/; DROP TABLE kept; --'`,
  'a line comment that hides a quote': `CREATE TABLE t (a)--'\n; DROP TABLE kept; --'`,
  'a quote in brackets': `CREATE TABLE t ([a'b]); DROP TABLE kept; --'`,
  'a quote in backticks': 'CREATE TABLE t (`a\'b`); DROP TABLE kept; --\'',
  'a quote in double quotes': `CREATE TABLE t ("a'b"); DROP TABLE kept; --'`,
  'a comment mark in a string': `CREATE TABLE t (a DEFAULT '/*'); DROP TABLE kept; -- */`,
  'a comment mark in brackets': 'CREATE TABLE t ([/*]); DROP TABLE kept; -- */',
  'a quoted name before an upsert': `INSERT INTO "kept" AS "k'" VALUES (1, 'c') ON CONFLICT DO UPDATE SET name = 'c'`,
  'the end of a trigger': 'CREATE TRIGGER t AFTER INSERT ON kept BEGIN SELECT 1; END; DROP TABLE kept;',
  'the end of a trigger behind a comment':
    'CREATE TRIGGER t AFTER INSERT ON kept BEGIN SELECT 1; /* ; */ END -- x\n; DROP TABLE kept;',
  'CASE in a trigger':
    'CREATE TRIGGER t AFTER INSERT ON kept BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; END; DELETE FROM kept',
  'a table called ADD': 'CREATE TABLE "ADD" (a); ALTER TABLE kept RENAME TO "COLUMN"',
  'a full-text command': `INSERT INTO words (words) VALUES ('delete-all')`,
  'a full-text command in quotes': `INSERT INTO main."words" ( rowid, [WORDS] ) VALUES (1, 'delete-all')`,
  'a full-text command under an alias': `INSERT INTO words AS w ('words') VALUES ('delete-all')`,
};

for (const [name, sql] of Object.entries(TRICKS)) {
  test(`not safe, whatever it looks like: ${name}`, () => {
    const db = house();
    const before = inventory(db);
    db.exec(sql);
    assert.notDeepEqual(inventory(db), before, 'SQLite does the harm');

    assert.match(refusalOf(sql) ?? '', new RegExp(`^${UNSAFE}`));
  });
}

const SAFE = {
  'a table': 'CREATE TABLE t (a TEXT PRIMARY KEY DEFAULT \'; DROP TABLE kept\') STRICT, WITHOUT ROWID',
  'a table from a query': 'CREATE TABLE t AS SELECT id FROM kept',
  'an index': 'CREATE INDEX t ON kept (id) WHERE name IS NOT NULL; CREATE UNIQUE INDEX IF NOT EXISTS u ON kept (name)',
  'a view': 'CREATE VIEW v AS SELECT name AS "DELETE FROM kept" FROM kept',
  'a full-text table': 'CREATE VIRTUAL TABLE other USING fts5 (body); INSERT INTO other (body) VALUES (\'x\')',
  'a trigger that updates and deletes': `CREATE TRIGGER t AFTER UPDATE OF name ON kept WHEN OLD.name <> NEW.name BEGIN
      UPDATE kept SET name = CASE id WHEN 1 THEN 'x' ELSE 'y' END WHERE id = 9; -- ; END
      DELETE FROM kept WHERE id = 9;
      INSERT INTO kept VALUES (9, '; END') ON CONFLICT DO UPDATE SET name = 'z';
    END; CREATE TABLE after_it (a)`,
  'a column': 'ALTER TABLE kept ADD COLUMN a TEXT; ALTER TABLE "kept" ADD COLUMN "DROP" INTEGER NOT NULL DEFAULT 0',
  'rows': `INSERT INTO kept VALUES (7, 'ON CONFLICT DO UPDATE SET');
    INSERT INTO kept (id, name) SELECT id + 10, name || '!' FROM kept`,
  'rows that may be there': `INSERT INTO kept VALUES (1, 'z') ON CONFLICT DO NOTHING`,
  'words of a full-text table': `INSERT INTO words (rowid, body) VALUES (2, 'words')`,
  'comments full of it': '-- DROP TABLE kept;\n/* DELETE FROM kept; \' " */ CREATE TABLE t (a) -- ; VACUUM',
  'lower case and odd spaces': 'create\n unique\tindex t on kept(name)',
  'an open comment': 'CREATE TABLE t (a); /* DROP TABLE kept',
  'nothing': '-- safe: yes\n;;\n',
};

for (const [name, sql] of Object.entries(SAFE)) {
  test(`safe: ${name}`, () => {
    const db = house();
    const before = inventory(db);

    assert.equal(refusalOf(sql), null);

    db.exec(sql);
    assert.deepEqual(inventory(db), before, 'it leaves what was there');
  });
}

test('what is refused is named, without comments, and the rest is not', () => {
  const sql = `CREATE TABLE t (a);\nDROP /* now */ TABLE\n  t;\nDELETE FROM ${'x'.repeat(200)}; CREATE INDEX i ON t (a)`;

  assert.equal(refusalOf(sql), `${UNSAFE}DROP TABLE t`);
  assert.equal(refusalOf(sql.split(';').slice(2).join(';')), `${UNSAFE}DELETE FROM ${'x'.repeat(68)}`);
  assert.equal(splitStatements(sql).length, 4);
});

test('statements that steer a transaction are found, the END of a trigger is none', () => {
  for (const statement of ['BEGIN IMMEDIATE', 'commit', 'END TRANSACTION', 'Rollback', 'SAVEPOINT a', 'RELEASE a']) {
    assert.equal(refusalOf(`CREATE TABLE t (a); /* so */ ${statement}; DROP TABLE t`, 'no'), STEERING + statement);
  }
  assert.equal(refusalOf(SAFE['a trigger that updates and deletes'], 'no'), null);
});
