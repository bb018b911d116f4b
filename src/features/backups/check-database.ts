import { open } from 'node:fs/promises';
import { pendingMigrations, schemaVersion, SchemaError, type Migration } from '../../platform/db/migrate.ts';
import { isStorageTrouble, openDatabase, type Db } from '../../platform/db/open-database.ts';
import { BackupError } from './backup-error.ts';
import { createSnapshotStore, type Counts, type SnapshotStore, type UploadRow } from './snapshot-store.ts';

export type DatabaseFacts = {
  schemaVersion: number;
  /** Whether this program could run on it: `newer` and `foreign` it could not. */
  schema: 'same' | 'older' | 'newer' | 'foreign';
  counts: Counts;
  uploads: UploadRow[];
  /** What is wrong with the content although the file is sound: it was so in the hub itself. */
  defects: string[];
};

const MAGIC = 'SQLite format 3\0';

/** SQLite's file format 1.3, "the database header": both 1 for a file without write-ahead log. */
const VERSIONS_AT = 18;
const HEADER = 100; // bytes

/** The database of a backup, without checks, for whoever needs only its rows. */
export async function readSnapshot(path: string): Promise<Pick<DatabaseFacts, 'schemaVersion' | 'counts' | 'uploads'>> {
  return withSnapshot(path, (db, store) => {
    const version = schemaVersion(db);
    requireTables(store, version);
    return { schemaVersion: version, counts: store.counts(), uploads: store.uploads() };
  });
}

/** Checks a finished copy in place, without writing anything anywhere. Throws BackupError when it is no good. */
export async function checkDatabase(path: string, migrations: Migration[]): Promise<DatabaseFacts> {
  const facts = await withSnapshot(path, (db, store, fileBytes) => {
    if (store.bytes() !== fileBytes) throw new BackupError('hub.db is longer or shorter than it says itself');
    const integrity = store.integrity();
    if (integrity !== 'ok') throw new BackupError(`hub.db is damaged: ${integrity.split('\n')[0]}`);
    const version = schemaVersion(db);
    requireTables(store, version);
    const schema = compareSchema(db, version, migrations);
    const found = { counts: store.counts(), uploads: store.uploads(), defects: defects(store) };
    return { schemaVersion: version, schema, ...found };
  });
  const odd = facts.uploads.find(({ sha256, bytes }) => !/^[0-9a-f]{64}$/.test(sha256) || bytes < 0);
  if (odd) throw new BackupError('hub.db has a row of an upload that cannot be one');
  return facts;
}

type Work<T> = (db: Db, store: SnapshotStore, fileBytes: number) => T;

async function withSnapshot<T>(path: string, work: Work<T>): Promise<T> {
  const fileBytes = await checkHeader(path);
  let db: Db | undefined;
  try {
    db = openDatabase(path, { readonly: true });
    return work(db, createSnapshotStore(db), fileBytes);
  } catch (error) {
    if (!isStorageTrouble(error) || !(error instanceof Error)) throw error;
    throw new BackupError(`hub.db is damaged: ${error.message}`, { cause: error });
  } finally {
    db?.close();
  }
}

/** Before SQLite sees the file: in write-ahead mode it would put two more files beside it. Returns its length. */
async function checkHeader(path: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(HEADER), 0, HEADER, 0);
    if (buffer.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new BackupError('hub.db is no SQLite database');
    const isPlain = buffer[VERSIONS_AT] === 1 && buffer[VERSIONS_AT + 1] === 1;
    if (!isPlain) throw new BackupError('hub.db is not a finished copy: it expects a write-ahead log');
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

function requireTables(store: SnapshotStore, version: number): void {
  if (version === 0) throw new BackupError('hub.db is not the database of a hub: it has no schema_migrations');
  const missing = store.missingTables(version);
  if (missing.length > 0) throw new BackupError(`hub.db is not a whole hub: it lacks ${missing.join(', ')}`);
}

function compareSchema(db: Db, version: number, migrations: Migration[]): DatabaseFacts['schema'] {
  if (version > migrations.length) return 'newer';
  try {
    return pendingMigrations(db, migrations).length > 0 ? 'older' : 'same';
  } catch (error) {
    if (error instanceof SchemaError) return 'foreign';
    throw error;
  }
}

function defects(store: SnapshotStore): string[] {
  const found = store.orphans().map(({ table, rows }) => `${plural(rows, 'row')} of ${table} lack their parent`);
  const { unindexed, stray } = store.searchDrift();
  if (unindexed > 0) found.push(`${plural(unindexed, 'post')} cannot be found by search`);
  if (stray > 0) found.push(`${plural(stray, 'row')} of the search index belong to no post`);
  const dangling = store.dangling();
  if (dangling > 0) found.push(`${plural(dangling, 'attachment')} name a file that the hub does not know`);
  return found;
}

function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
