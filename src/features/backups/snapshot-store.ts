import { pendingMigrations, schemaGaps, schemaVersion } from '../../platform/db/migrate.ts';
import { type Migration, SchemaError } from '../../platform/db/migration-files.ts';
import { isDamage, isStorageTrouble, openDatabase, type Db } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { plural } from '../../platform/in-words.ts';
import { countAccounts } from '../accounts/account-store.ts';
import { countDangling, countUploads, listUploads, type UploadRow } from '../attachments/attachment-store.ts';
import { readHubSeed } from '../hub/hub-row-store.ts';
import { countPosts, searchDrift } from '../posts/saved-posts-store.ts';
import { countSources } from '../sources/source-store.ts';
import { BackupError } from './backup-name.ts';
import { type Counts, openPlainFile } from './manifest.ts';

export type SavedRows = { schemaVersion: number; counts: Counts; uploads: UploadRow[] };

export type DatabaseFacts = SavedRows & {
  /** The backup's schema, compared with this program's. The program cannot run on `newer` and `foreign` schemas. */
  schema: 'same' | 'older' | 'newer' | 'foreign';
  defects: string[]; // defects in the backup's content, which the hub's own database also had
};

const MAGIC = 'SQLite format 3\0';

/** Two bytes in the header of an SQLite database (format 1.3), which are 1 if it has no write-ahead log. */
const VERSIONS_AT = 18;
const HEADER = 100; // bytes

const GAPS_SHOWN = 5;

/** Writes a consistent copy of a database to a new path, while other processes write to the database. */
export function copyTo(db: Db, path: string): void {
  db.prepare<[string]>('snapshot', 'VACUUM INTO ?').run(path);
}

/** What SQLite finds wrong with a database, a line each; an empty list if nothing is. Reads every page. */
export function integrityProblems(db: Db): string[] {
  return db.prepare<[], { line: string }>('check integrity',
    'SELECT integrity_check AS line FROM pragma_integrity_check').all().map(({ line }) => line)
    .flatMap((text) => text.split('\n')).filter((line) => line !== 'ok' && !line.startsWith('***'));
}

const OF_INDEX = new RegExp('^(?:row \\d+ missing from|wrong # of entries in|non-unique entry in|' +
  'rowid not at end-of-record for row \\d+ of) index (\\S+)$');

/**
 * The names of the damaged indices, if their entries alone are wrong: REINDEX makes these anew, and nothing is lost.
 * Null for anything else, also for an index whose pages are damaged, which REINDEX cannot clear.
 */
export function damagedIndices(problems: readonly string[]): string[] | null {
  const names = problems.map((line) => OF_INDEX.exec(line)?.[1]);
  return names.every((name) => name !== undefined) ? [...new Set(names)] : null;
}

/** Makes all indices anew from the rows of their tables. */
export function reindex(db: Db): void {
  db.write('reindex', () => db.exec('REINDEX'));
}

/** Whether the pages on the disk are well-formed. */
export function arePagesSound(path: string): boolean {
  try {
    return onNewConnection(path, (db) => db.pragma('quick_check(1)') === 'ok');
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

/**
 * Reads a database as it is on the disk. An older connection has pages in its memory, and FTS5 takes what other
 * connections have changed in a search index for damage when it is checked.
 */
export function onNewConnection<Result>(path: string, read: (db: Db) => Result): Result {
  const db = openDatabase(path, { readonly: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

/** In bytes. */
export function databaseSize(db: Db): number {
  return Number(db.pragma('page_count')) * Number(db.pragma('page_size'));
}

/** A hub's schema version. Throws BackupError if the database is no hub's. */
export function requireHubSchema(db: Db): number {
  const version = schemaVersion(db);
  if (version === 0) throw new BackupError('hub.db is not the database of a hub: it has no schema_migrations');
  return version;
}

/** Reads facts from a backup's database without checking it. */
export async function readSnapshot(path: string): Promise<SavedRows> {
  return withSnapshot(path, readRows);
}

/** The random seed in a backup's database, which a hub shares with all hubs restored from its backups. */
export function readSeed(path: string): Promise<string | undefined> {
  return withSnapshot(path, (db) => readHubSeed({ db }));
}

function readRows(db: Db): SavedRows {
  const hub = { db };
  const counts = { ...countAccounts(hub), sources: countSources(hub), posts: countPosts(hub), ...countUploads(hub) };
  return { schemaVersion: requireHubSchema(db), counts, uploads: listUploads(hub) };
}

/** Checks the database of a backup in place, without writing. Throws BackupError if the database cannot be used. */
export async function checkDatabase(path: string, migrations: Migration[]): Promise<DatabaseFacts> {
  const facts = await withSnapshot(path, (db, fileBytes) => {
    if (databaseSize(db) !== fileBytes) throw new BackupError('the size of hub.db differs from its header');
    const integrity = String(db.pragma('integrity_check')); // integrity_check checks full-text tables too
    if (integrity !== 'ok') throw new BackupError(`hub.db is damaged: ${integrity.split('\n')[0]}`);
    const schema = checkSchema(db, requireHubSchema(db), migrations);
    return { ...readRows(db), schema, defects: defects(db) };
  });
  const odd = facts.uploads.find(({ sha256, bytes }) => !/^[0-9a-f]{64}$/.test(sha256) || bytes < 0);
  if (odd) throw new BackupError('hub.db has an invalid row in the table uploads');
  return facts;
}

/** Returns what `work` returns for the database of a backup, read in place. Throws BackupError for damage. */
export async function withSnapshot<T>(path: string, work: (db: Db, fileBytes: number) => T): Promise<T> {
  const fileBytes = await checkHeader(path);
  let db: Db | undefined;
  try {
    db = openDatabase(path, { readonly: true });
    return work(db, fileBytes);
  } catch (error) {
    if (!(error instanceof Error) || !codeOf(error)?.startsWith('SQLITE_')) throw error;
    const what = isStorageTrouble(error) ? 'is damaged' : 'is incomplete';
    throw new BackupError(`hub.db ${what}: ${error.message}`, { cause: error });
  } finally {
    db?.close();
  }
}

/** Runs before SQLite opens the file, because SQLite would create two files for a database in write-ahead mode. */
async function checkHeader(path: string): Promise<number> {
  const file = await openPlainFile(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(HEADER), 0, HEADER, 0);
    if (buffer.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new BackupError('hub.db is not an SQLite database');
    const isPlain = buffer[VERSIONS_AT] === 1 && buffer[VERSIONS_AT + 1] === 1;
    if (!isPlain) throw new BackupError('hub.db is not a finished copy: it needs a write-ahead log');
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

function checkSchema(db: Db, version: number, migrations: Migration[]): DatabaseFacts['schema'] {
  const schema = compareHistory(db, version, migrations);
  if (schema === 'newer' || schema === 'foreign') return schema;
  const gaps = schemaGaps(db, migrations.slice(0, version));
  if (gaps.length === 0 && readHubSeed({ db }) === undefined) gaps.push('the row of the table hub');
  if (gaps.length === 0) return schema;
  const more = gaps.length > GAPS_SHOWN ? ` and ${gaps.length - GAPS_SHOWN} more` : '';
  throw new BackupError(`hub.db is incomplete: it lacks ${gaps.slice(0, GAPS_SHOWN).join(', ')}${more}`);
}

function compareHistory(db: Db, version: number, migrations: Migration[]): DatabaseFacts['schema'] {
  if (version > migrations.length) return 'newer';
  try {
    return pendingMigrations(db, migrations).length > 0 ? 'older' : 'same';
  } catch (error) {
    if (error instanceof SchemaError) return 'foreign';
    throw error;
  }
}

function defects(db: Db): string[] {
  const orphans = db.prepare<[], { table: string; rows: number }>('check foreign keys',
    'SELECT "table", COUNT(*) AS rows FROM pragma_foreign_key_check GROUP BY "table"').all();
  const found = orphans.map(({ table, rows }) => `${plural(rows, 'row')} of ${table} without a parent row`);
  const { unindexed, stray } = searchDrift({ db });
  if (unindexed > 0) found.push(`${plural(unindexed, 'post')} cannot be found by search`);
  if (stray > 0) found.push(`${plural(stray, 'row')} of the search index without a post`);
  const dangling = countDangling({ db });
  if (dangling > 0) found.push(`${plural(dangling, 'attachment')} of a file that the hub does not know`);
  return found;
}
