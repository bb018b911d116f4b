// Protects the hub's own schema: strict tables, indexed foreign keys, and migrations that apply by themselves.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { OWN_MIGRATIONS } from '../../../src/features/hub/own-migrations.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { readMigrations } from '../../../src/platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../../src/platform/db/open-database.ts';
import { assertContentIsCounted } from '../../support/content-usage.ts';
import { MIGRATIONS, migratedDatabase } from '../../support/migrated-database.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

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

test('the version lists its migrations, by which a start knows those of another version', () => {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.sql')).sort();
  assert.deepEqual(OWN_MIGRATIONS, files, 'correct the list in src/features/hub/own-migrations.ts');
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
  '0018_merged_rows': '56178ff60dd8b892',
  '0019_sources_usage': '692d62ef91c3fd2f',
  '0020_manage_sources_offers': '2b77779dee86bfee',
  '0021_accounts_app_passwords': '86ed2150c0ab92a2',
  '0022_follows_titles': 'bcfa718264b3a9e5',
  '0023_accounts_look': '28440a778f475542',
  '0024_sources_guid_prefix': '687c17e6c214afdc',
  '0025_follows_hide_globally': 'c8ab16ff18cdccc7',
  '0026_reading_list_choices': 'f095c5103ab26127',
  '0027_full_text': 'ccc689db0c15cd73',
  '0028_writing_drafts': '0bb85e68fce92577',
  '0029_attachments_draft_files': '1d097b9a7d6b2e69',
  '0030_posts_texts': '671d8d0b7a1f08a0',
  '0031_writing_scheduled': '1d23d8a0142e05e2',
  '0032_reading_withdrawn': 'c1a2235daf1d30d2',
  '0033_posts_doubles': '02eb18c4c75f290a',
  '0034_rules': 'f267d0b57f151f11',
  '0035_reading_muted': 'a4757d3d35a7670f',
  '0036_reading_muted_doubles': '1aaab7ed24890925',
  '0037_writing_forms': '91ecd541c881986e',
  '0038_full_text_sizes': '5528a241182ac107',
};

test('a migration that was released is never edited', () => {
  const now = new Map(readMigrations(FOLDER).map(({ version, name, checksum }) =>
    [`${String(version).padStart(4, '0')}_${name}`, checksum]));

  for (const [file, checksum] of Object.entries(RELEASED)) assert.equal(now.get(file)?.slice(0, 16), checksum, file);
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

test('a claim goes from owner to owner by index, not past the jobs of each', (t) => {
  const { db } = migratedDatabase(t);
  const plan = db.prepare<[], { detail: string }>('plan', `EXPLAIN QUERY PLAN
    SELECT MIN(owner) FROM jobs WHERE kind = 'k' AND rank = 1 AND owner > 0 AND state IN ('queued', 'retrying')`).all();
  assert.match(plan.map(({ detail }) => detail).join(), /INDEX jobs_turns \(kind=\? AND rank=\? AND owner>\?\)/);
});

test('a hub of 1.0.0 has its contents counted by the migration', (t) => {
  const db = openDatabase(join(temporaryFolder(t), 'hub.db'));
  t.after(() => db.close());
  migrate(db, MIGRATIONS.slice(0, 17), Date.now);
  db.exec(`
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
      VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0), (2, 'bob', 'Bob', 'member', '', 0, 0), (3, 'eve', 'Eve', 'member', '', 0, 0);
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at)
      VALUES (1, 2, 'feed', 'A', 0, 0), (2, 2, 'webhook', 'B', 0, 0), (3, 1, 'native', 'C', 0, 0), (4, 1, 'native', 'D', 0, 0);
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO posts (source_id, guid, is_public, owner_id, title, url, summary, content_hash, published_at, updated_at,
                         created_at, content_html)
      SELECT i % 3 + 1, 'g' || i, 1, 2, 'Tïtle', iif(i % 2, NULL, 'https://x.test/'), 's', 'h', i, i, i, 'é' || i FROM n;
    INSERT INTO attachments (post_id, kind, position, filename, remote_url, title, created_at)
      SELECT id, 'remote', 0, 'f', 'https://x.test/f', NULL, 0 FROM posts WHERE id % 2;
    INSERT INTO post_tombstones (source_id, guid, deleted_at) VALUES (1, 'gone', 0);
    INSERT INTO webhook_events (source_id, event_id, received_at) VALUES (2, 'msg_1', 0)`);

  migrate(db, MIGRATIONS, Date.now);

  assertContentIsCounted(db);
  assert.equal(db.prepare<[], { n: number }>('n', 'SELECT COUNT(*) AS n FROM source_usage WHERE bytes > 0').get()?.n, 3);
  db.exec('DELETE FROM posts WHERE id <= 100');
  assertContentIsCounted(db, 'goes on from there');
});
