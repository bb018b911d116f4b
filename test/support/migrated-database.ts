import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');

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
  const db = connect();
  migrate(db, readMigrations(MIGRATIONS), Date.now);
  return { path, db, connect };
}
