// Protects the hub's own schema: strict tables, indexed foreign keys, and migrations that apply by themselves.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { readMigrations } from '../../../src/platform/db/migration-files.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';

const FOLDER = join(import.meta.dirname, '../../../migrations');

type Table = { name: string; type: string; strict: number };
type Reference = { from: string };

function tables(db: Db): Table[] {
  return db.prepare<[], Table>('tables', `
    SELECT name, type, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite_%'`).all();
}

function references(db: Db, table: string): Reference[] {
  return db.prepare<[string], Reference>('references', 'SELECT "from" FROM pragma_foreign_key_list(?)').all(table);
}

/** How the children of one parent are found: SEARCH … USING INDEX, or SCAN. */
function plan(db: Db, table: string, column: string): string {
  const sql = `EXPLAIN QUERY PLAN SELECT 1 FROM "${table}" WHERE "${column}" = ?`;
  return db.prepare<[number], { detail: string }>('plan', sql).get(1)?.detail ?? '';
}

test('every migration of the hub is safe to apply by itself, and is read as such', () => {
  const migrations = readMigrations(FOLDER);

  assert.equal(migrations.length, readdirSync(FOLDER).filter((file) => file !== 'README.md').length);
  assert.ok(migrations.length >= 4);
  for (const { name, safe } of migrations) {
    assert.equal(safe, true, name);
  }
});

/** What has been released: the beginning of each file's SHA-256. Each release adds its own. */
const RELEASED: Record<string, string> = {
  '0001_platform': '8babb5bd7fc0dcab',
  '0002_hub': 'cf7b229aa15aca82',
  '0003_errors': '796abb913b7657d0',
  '0004_accounts': '3348a81130a439ba',
  '0005_audit': '7ee09ef5a13973eb',
  '0006_notifications': '78ec804a60353822',
  '0007_alerts': 'c7f5c7c7b968c39f',
  '0008_sources': '6e4912d995ceb019',
  '0009_follows': 'c8e1bb6778280877',
  '0010_posts': 'c310ca7c7ef6cf84',
  '0011_attachments': '313f167234ca7547',
  '0012_webhooks': '6dd0c4c0b49015e3',
  '0013_retention': '73b1a7131c9bc806',
  '0014_reading': 'a21c8733e773dfc0',
  '0015_manage_sources': 'b1313f9f4b874632',
  '0016_writing': '7c08a7d2530ab779',
  '0017_history': '38e458821ff76dd8',
};

test('a migration that was released is never edited', () => {
  const now = new Map(readMigrations(FOLDER).map(({ version, name, checksum }) =>
    [`${String(version).padStart(4, '0')}_${name}`, checksum]));

  for (const [file, checksum] of Object.entries(RELEASED)) assert.equal(now.get(file)?.slice(0, 16), checksum, file);
});

test('the whole schema is applied once, with a row for each file', (t) => {
  const { db } = migratedDatabase(t);
  const migrations = readMigrations(FOLDER);
  const rows = db.prepare<[], { version: number }>('history',
    'SELECT version, name, checksum, applied_at > 0 AS dated FROM schema_migrations ORDER BY version').all();

  assert.deepEqual(rows, migrations.map(({ version, name, checksum }) => ({ version, name, checksum, dated: 1 })));
  assert.deepEqual(migrate(db, migrations, Date.now), []);
});

test('every table is strict', (t) => {
  const { db } = migratedDatabase(t);
  const plain = tables(db).filter(({ type }) => type === 'table');

  assert.ok(plain.length > 10);
  assert.deepEqual(plain.filter(({ strict }) => strict === 0).map(({ name }) => name), []);
});

test('every foreign key has an index: deleting a parent does not read the whole table of its children', (t) => {
  const { db } = migratedDatabase(t);
  const keys = tables(db).flatMap(({ name }) => references(db, name).map(({ from }) => ({ table: name, column: from })));

  assert.ok(keys.length > 5);
  const scans = keys.filter(({ table, column }) => !plan(db, table, column).startsWith('SEARCH'));
  assert.deepEqual(scans, []);
});

test('the schema is sound, and columns of times are integers', (t) => {
  const { db } = migratedDatabase(t);
  const times = db.prepare<[], { name: string }>('columns of times', `
    SELECT t.name || '.' || c.name AS name FROM pragma_table_list t, pragma_table_xinfo(t.name) c
     WHERE t.schema = 'main' AND c.name LIKE '%\\_at' ESCAPE '\\' AND c.type <> 'INTEGER'`).all();

  assert.equal(db.pragma('integrity_check'), 'ok');
  assert.deepEqual(db.prepare<[], object>('orphans', 'SELECT * FROM pragma_foreign_key_check').all(), []);
  assert.deepEqual(times, []);
});
