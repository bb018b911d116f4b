import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';

export const MIGRATIONS = readMigrations(join(import.meta.dirname, '../../migrations'));

const LIST = 'src/features/hub/own-migrations.ts';

/** The files of a version with one migration more, which it lists. \`read\` reads a file of the version before. */
export function oneMigrationMore(file: string, sql: string, read: (path: string) => string): Record<string, string> {
  return { [`migrations/${file}`]: sql, [LIST]: read(LIST).replace('\n];', `\n  '${file}',\n];`) };
}

let migrated: Buffer | undefined;

/** Puts a database with the whole schema there, unless there is one: migrated once in this process, and then copied. */
export function putDatabase(path: string): void {
  if (!existsSync(path)) writeFileSync(path, (migrated ??= migratedBytes()), { mode: 0o600 });
}

/** Lets the next one be a database of its own: copies have in common what migrations took from chance. */
export function migrateAnew(): void {
  migrated = undefined;
}

function migratedBytes(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'hub-test-'));
  const path = join(folder, 'hub.db');
  const db = openDatabase(path);
  migrate(db, MIGRATIONS, Date.now);
  db.close();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return bytes;
}

export type MigratedDatabase = {
  path: string;
  db: Db;
  /** A further connection, as another process would have one. */
  connect(): Db;
};

/** A file of its own with the whole schema, removed after the test with all its connections. */
export function migratedDatabase(t: TestContext): MigratedDatabase {
  const folder = mkdtempSync(join(tmpdir(), 'hub-test-'));
  const connections: Db[] = [];
  const path = join(folder, 'hub.db');
  const connect = () => {
    const db = openDatabase(path);
    connections.push(db);
    return db;
  };
  t.after(() => {
    for (const connection of connections) connection.close();
    rmSync(folder, { recursive: true });
  });
  putDatabase(path);
  return { path, db: connect(), connect };
}
