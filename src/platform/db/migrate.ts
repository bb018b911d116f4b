import type { Clock } from '../clock.ts';
import { type Migration, SchemaError, splitStatements } from './migration-files.ts';
import { type Db, isStorageTrouble, openInMemory } from './open-database.ts';

type AppliedRow = { version: number; name: string; checksum: string };

/** SHA-256 of the first migration of version 0.1.0, whose schema this program cannot upgrade. */
const FIRST_OF_0_1_0 = 'ad7ad3bc0726638dd79de087755cdd712739a1a69eff86c8d0af42923cc86082';

const MIGRATION_BUSY_TIMEOUT_MS = 10 * 60_000; // another process's migration may be building an index of many posts

/**
 * Applies the pending migrations, each in one transaction, and returns those that it applied. Throws SchemaError as
 * `pendingMigrations` does, if one fails, or, before the first, if one is not marked safe and `allowUnsafe` is not
 * given.
 */
export function migrate(db: Db, migrations: Migration[], clock: Clock, allowUnsafe = false): Migration[] {
  const before = db.pragma('busy_timeout');
  const store = db.pragma('temp_store');
  db.pragma(`busy_timeout = ${MIGRATION_BUSY_TIMEOUT_MS}`);
  // Rebuilding a table with foreign keys on would delete rows of other tables. `applyOne` checks all foreign keys.
  db.pragma('foreign_keys = OFF');
  db.pragma('temp_store = FILE'); // an index of five million rows is sorted in 70 MB of memory, not in 300
  try {
    createHistory(db);
    const pending = pendingMigrations(db, migrations);
    const unsafe = pending.find((migration) => !migration.safe);
    if (unsafe && !allowUnsafe) throw new SchemaError(unsafeMessage(unsafe));
    return pending.filter((migration) => applyOne(db, migrations, migration, clock));
  } finally {
    db.pragma(`temp_store = ${Number(store)}`);
    db.pragma('foreign_keys = ON');
    db.pragma(`busy_timeout = ${Number(before)}`);
  }
}

/** Those not applied yet. Throws SchemaError unless the applied ones are the first of `migrations`, unchanged. */
export function pendingMigrations(db: Db, migrations: Migration[]): Migration[] {
  const applied = history(db);
  const newest = applied.at(-1);
  for (const row of applied) assertKnown(row, migrations[row.version - 1]);
  if (newest && newest.version > migrations.length) {
    throw new SchemaError(
      `the database has schema version ${newest.version} (${newest.name}), this program knows only up to ` +
        `${migrations.length}: start the newer version that upgraded the database, or restore a backup made before ` +
        'the upgrade',
    );
  }
  const missing = applied.findIndex(({ version }, index) => version !== index + 1);
  if (missing >= 0) throw new SchemaError(`the migration history lacks migration ${missing + 1}: restore a backup`);
  return migrations.slice(applied.length);
}

/** Returns the number of the newest applied migration, or 0 for a new database file. */
export function schemaVersion(db: Db): number {
  return history(db).at(-1)?.version ?? 0;
}

/** Returns a function that reads the version of a migrated database with one prepared statement. */
export function createSchemaVersion(db: Db): () => number {
  const newest = db.prepare<[], { version: number | null }>('newest migration',
    'SELECT MAX(version) AS version FROM schema_migrations');
  return () => newest.get()?.version ?? 0;
}

function createHistory(db: Db): void {
  db.exec(`CREATE TABLE IF NOT EXISTS schema_migrations (
    version    INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL, -- unix ms
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL  -- SHA-256 of the file, hex
  ) STRICT`);
}

function history(db: Db): AppliedRow[] {
  const table = db.prepare<[], { name: string }>('find schema_migrations',
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'`).get();
  if (!table) return [];
  return db.prepare<[], AppliedRow>('applied migrations',
    'SELECT version, name, checksum FROM schema_migrations ORDER BY version').all();
}

function applyOne(db: Db, all: Migration[], migration: Migration, clock: Clock): boolean {
  const apply = db.transaction(`migration ${migration.name}`, () => {
    const stillPending = pendingMigrations(db, all).includes(migration);
    if (!stillPending) return false; // another process has applied the migration, so nothing is left to do
    const given = givenIds(db, numberedTables(db));
    execute(db, migration);
    assertForeignKeys(db, migration);
    carryIds(db, migration, given);
    db.prepare<[number, number, string, string]>('record migration',
      'INSERT INTO schema_migrations (version, applied_at, name, checksum) VALUES (?, ?, ?, ?)',
    ).run(migration.version, clock(), migration.name, migration.checksum);
    return true;
  });
  return apply();
}

function execute(db: Db, { version, name, sql }: Migration): void {
  try {
    db.exec(sql);
  } catch (cause) {
    if (isStorageTrouble(cause) || !(cause instanceof Error)) throw cause;
    throw new SchemaError(`migration ${version} (${name}) failed and changed nothing: ${cause.message}`, { cause });
  }
}

function assertForeignKeys(db: Db, { name }: Migration): void {
  const broken = db.prepare<[], { table: string }>('check foreign keys',
    'SELECT "table" FROM pragma_foreign_key_check').get();
  if (!broken) return;
  throw new SchemaError(`migration ${name} leaves rows of ${broken.table} without a parent row; nothing was changed`);
}

/** Keeps the highest id of a rebuilt table, which would otherwise reuse the ids of deleted rows. */
function carryIds(db: Db, { name }: Migration, given: GivenIds): void {
  const numbered = numberedTables(db);
  const left = [...givenIds(db, [...given.keys()]).keys()];
  const unnumbered = left.find((table) => !numbered.includes(table));
  if (unnumbered !== undefined) {
    throw new SchemaError(`migration ${name} takes AUTOINCREMENT from ${unnumbered}, which allows ids to be reused; ` +
      'nothing was changed');
  }
  raiseIds(db, new Map([...given].filter(([table]) => left.includes(table))));
}

function assertKnown(row: AppliedRow, known: Migration | undefined): void {
  if (row.checksum === FIRST_OF_0_1_0) {
    throw new SchemaError(
      'the database was made by version 0.1.0, which this program cannot upgrade: keep version 0.1.0, ' +
        'or export your data with version 0.1.0 and start this version with an empty DATA_DIR',
    );
  }
  if (known && known.checksum !== row.checksum) {
    throw new SchemaError(
      `migration ${row.version} (${row.name}) was applied with other content than this program has: ` +
        'put the released file back; an applied migration is never edited',
    );
  }
}

export function describePending(pending: readonly Migration[]): { which: string; whatToDo: string } {
  const [first, last] = [pending.at(0), pending.at(-1)].map((one) => `${one?.version} (${one?.name})`);
  return {
    which: pending.length === 1 ? `migration ${first}` : `migrations ${first} to ${last}`,
    whatToDo: pending.every(({ safe }) => safe)
      ? 'Make a backup (./scripts/backup.sh), then start or restart the hub, or run ./scripts/hubctl migrate.'
      : 'Make and verify a backup, stop the hub, then run ./scripts/hubctl migrate --allow-unsafe.',
  };
}

function unsafeMessage({ version, name }: Migration): string {
  return (
    `migration ${version} (${name}) is not safe to apply by itself, so nothing was started. ` +
    'Make and verify a backup, stop the hub, then run: ./scripts/hubctl migrate --allow-unsafe'
  );
}

type SchemaObject = { type: string; name: string; table: string; sql: string };

/** Names, for the operator, the schema objects that a database lacks or declares differently than its migrations. */
export function schemaGaps(db: Db, migrations: Migration[]): string[] {
  const found = new Map(schemaObjects(db).map((object) => [keyOf(object), object]));
  const expected = expectedObjects(migrations);
  const missing = expected.filter((object) => !found.has(keyOf(object)));
  const missingTables = missing.filter(({ type }) => type === 'table').map(({ name }) => name);
  const others = missing.filter(({ type, table }) => type !== 'table' && !missingTables.includes(table));
  const changed = expected.filter((object) => (found.get(keyOf(object))?.sql ?? object.sql) !== object.sql);
  return [
    ...missingTables,
    ...others.map(({ type, name }) => `the ${type} ${name}`),
    ...changed.map(({ type, name }) => `the right ${type} ${name}`),
  ];
}

/** What lists of migrations make, which takes 50 ms to find out; the keys are their checksums, joined. */
const knownObjects = new Map<string, SchemaObject[]>();

function expectedObjects(migrations: Migration[]): SchemaObject[] {
  const key = migrations.map(({ checksum }) => checksum).join();
  const objects = knownObjects.get(key) ?? objectsMadeBy(migrations);
  knownObjects.set(key, objects);
  return objects;
}

function objectsMadeBy(migrations: Migration[]): SchemaObject[] {
  const db = openInMemory();
  try {
    db.pragma('foreign_keys = OFF'); // as in `migrate`
    for (const { sql } of migrations) db.exec(sql);
    return schemaObjects(db);
  } finally {
    db.close();
  }
}

/** The objects of a schema; `sql` is '' for a full-text index's shadow tables, whose SQL varies by SQLite version. */
function schemaObjects(db: Db): SchemaObject[] {
  return db.prepare<[], SchemaObject>('objects of the schema', `
    SELECT s.type, s.name, s.tbl_name AS "table", CASE l.type WHEN 'shadow' THEN '' ELSE s.sql END AS sql
      FROM sqlite_schema s LEFT JOIN pragma_table_list l ON l.schema = 'main' AND l.name = s.name
     WHERE s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND s.name <> 'schema_migrations' ORDER BY s.rowid`).all()
    .map((object) => ({ ...object, sql: normalized(object.sql) }));
}

function normalized(sql: string): string {
  return splitStatements(sql).join().replace(/"(\w+)"/g, '$1');
}

function keyOf({ type, name }: SchemaObject): string {
  return `${type} ${name}`;
}

export type GivenIds = ReadonlyMap<string, number>;

/** Real ids have at most 15 digits: a higher id is a sign of a damaged database. */
const IMPOSSIBLE = 1e15;

/** The tables with AUTOINCREMENT; SQLite keeps the highest id of each table, and never gives an id twice. */
export function numberedTables(db: Db): string[] {
  return db.prepare<[], { name: string }>('numbered tables', `
    SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' ORDER BY name`).all()
    .map(({ name }) => name);
}

/** The highest id ever given in each named table that exists, with or without AUTOINCREMENT; no impossible ones. */
export function givenIds(db: Db, tables: string[]): GivenIds {
  const known = new Map(sequences(db).map(({ name, seq }) => [name, seq]));
  const isThere = db.prepare<[string], object>('find table',
    `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`);
  const given = tables.filter((name) => isThere.get(name)).map((name): [string, number] =>
    [name, Math.max(known.get(name) ?? 0, highestRow(db, name))]);
  return new Map(given.filter(([, id]) => id < IMPOSSIBLE));
}

/** Raises the next id of each table above its id in `floors`, unless the next id is higher already. */
export function raiseIds(db: Db, floors: GivenIds): void {
  if (floors.size === 0) return; // a database without AUTOINCREMENT has no sqlite_sequence
  const raise = db.prepare<[number, string]>('raise ids',
    'UPDATE sqlite_sequence SET seq = MAX(seq, ?) WHERE name = ?');
  const begin = db.prepare<[string, number]>('begin ids', 'INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)');
  db.write('raise ids', () => {
    for (const [name, floor] of floors) {
      if (raise.run(floor, name).changes === 0) begin.run(name, floor);
    }
  });
}

/** The rows of sqlite_sequence, which does not exist in a database without AUTOINCREMENT. */
function sequences(db: Db): { name: string; seq: number }[] {
  const found = db.prepare<[], object>('find sequences', `SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'`);
  if (!found.get()) return [];
  return db.prepare<[], { name: string; seq: number }>('sequences', 'SELECT name, seq FROM sqlite_sequence').all();
}

function highestRow(db: Db, table: string): number {
  const quoted = `"${table.replaceAll('"', '""')}"`;
  return db.prepare<[], { id: number | null }>('highest row', `SELECT MAX(rowid) AS id FROM ${quoted}`).get()?.id ?? 0;
}
