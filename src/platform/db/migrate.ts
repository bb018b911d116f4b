import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { givenIds, numberedTables, raiseIds, type GivenIds } from './id-sequences.ts';
import { transactionStatement, unsafeStatements } from './migration-safety.ts';
import { isStorageTrouble, type Db } from './open-database.ts';

export type Migration = { version: number; name: string; sql: string; safe: boolean; checksum: string };

/** The schema is not one that this program may run on; the message says what the operator can do. */
export class SchemaError extends Error {}

type AppliedRow = { version: number; name: string; checksum: string };

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
const SAFETY = /^-- safe: (yes|no)\r?\n/;
/** SHA-256 of the first migration of 0.1.0. Nothing leads from its schema to the present one. */
const FIRST_OF_0_1_0 = 'ad7ad3bc0726638dd79de087755cdd712739a1a69eff86c8d0af42923cc86082';

const MIGRATION_BUSY_TIMEOUT_MS = 10 * 60_000; // the other process may be building an index over years of posts

/** Reads NNNN_name.sql; the numbers must run 1, 2, 3, … without a gap, and "safe: yes" must be true. */
export function readMigrations(folder: string): Migration[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql')).sort();
  return files.map((file, index) => toMigration(file, index + 1, readFileSync(join(folder, file), 'utf8')));
}

function toMigration(file: string, expected: number, sql: string): Migration {
  const version = Number(FILE_NAME.exec(file)?.[1]);
  if (version !== expected) throw new SchemaError(`migration ${file} is out of sequence: ${nameOf(expected)} is next`);
  const marked = SAFETY.exec(sql)?.[1];
  if (!marked) throw new SchemaError(`migration ${file} must begin with the line "-- safe: yes" or "-- safe: no"`);
  const refused = marked === 'yes' ? unsafeStatements(sql) : [];
  if (refused[0]) throw new SchemaError(`migration ${file} is marked safe but does more than add: ${refused[0]}`);
  const steering = transactionStatement(sql);
  if (steering) throw new SchemaError(`migration ${file} runs in a transaction that is not its own: ${steering}`);
  const checksum = createHash('sha256').update(sql).digest('hex');
  return { version, name: file.slice(5, -4), sql, safe: marked === 'yes', checksum };
}

function nameOf(version: number): string {
  return `${String(version).padStart(4, '0')}_name_in_lower_case.sql`;
}

/**
 * Brings the schema up to date, each migration in its own transaction with its `schema_migrations` row.
 * Returns what was applied. Throws SchemaError before changing anything that it must not change.
 */
export function migrate(db: Db, migrations: Migration[], clock: Clock, allowUnsafe = false): Migration[] {
  const before = db.pragma('busy_timeout');
  db.pragma(`busy_timeout = ${MIGRATION_BUSY_TIMEOUT_MS}`);
  // A table that is rebuilt would cascade its deletes; keys are checked before each commit instead.
  db.pragma('foreign_keys = OFF');
  try {
    createHistory(db);
    const pending = pendingMigrations(db, migrations);
    const unsafe = pending.find((migration) => !migration.safe);
    if (unsafe && !allowUnsafe) throw new SchemaError(unsafeMessage(unsafe));
    return pending.filter((migration) => applyOne(db, migrations, migration, clock));
  } finally {
    db.pragma('foreign_keys = ON');
    db.pragma(`busy_timeout = ${Number(before)}`);
  }
}

/** What has not been applied yet. Throws SchemaError when the history does not fit the migrations. */
export function pendingMigrations(db: Db, migrations: Migration[]): Migration[] {
  const applied = history(db);
  for (const row of applied) assertKnown(row, migrations[row.version - 1], migrations.length);
  const missing = applied.findIndex(({ version }, index) => version !== index + 1);
  if (missing >= 0) throw new SchemaError(`the history lacks migration ${missing + 1}: restore a backup`);
  return migrations.slice(applied.length);
}

/** The number of the newest applied migration, 0 for a fresh file. */
export function schemaVersion(db: Db): number {
  return history(db).at(-1)?.version ?? 0;
}

/** As `schemaVersion`, to be asked often: of a database that has been migrated. */
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
    if (!stillPending) return false; // the other process got there first
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
  throw new SchemaError(`migration ${name} leaves rows of ${broken.table} without their parent; nothing was changed`);
}

/** A rebuilt table would number its rows from the highest that was copied: deleted ones above it would come again. */
function carryIds(db: Db, { name }: Migration, given: GivenIds): void {
  const numbered = numberedTables(db);
  const left = [...givenIds(db, [...given.keys()]).keys()];
  const unnumbered = left.find((table) => !numbered.includes(table));
  if (unnumbered !== undefined) {
    throw new SchemaError(`migration ${name} takes AUTOINCREMENT from ${unnumbered}, which would give ids again; ` +
      'nothing was changed');
  }
  raiseIds(db, new Map([...given].filter(([table]) => left.includes(table))));
}

function assertKnown(row: AppliedRow, known: Migration | undefined, newest: number): void {
  if (row.checksum === FIRST_OF_0_1_0) {
    throw new SchemaError(
      'the database was made by version 0.1.0, which this program cannot upgrade: keep that version, ' +
        'or export what you need with it and start this one with an empty DATA_DIR',
    );
  }
  if (!known) {
    throw new SchemaError(
      `the database has schema version ${row.version} (${row.name}), this program knows only up to ${newest}: ` +
        'start the newer version that wrote it, or restore a backup made before the upgrade',
    );
  }
  if (known.checksum !== row.checksum) {
    throw new SchemaError(
      `migration ${row.version} (${row.name}) was applied with other content than this program has: ` +
        'put the released file back; an applied migration is never edited',
    );
  }
}

function unsafeMessage({ version, name }: Migration): string {
  return (
    `migration ${version} (${name}) is not safe to apply by itself, so nothing was started. ` +
    'Make and verify a backup, stop the hub, then run: ./scripts/hubctl migrate --allow-unsafe'
  );
}
