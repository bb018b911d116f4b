import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { startHub, type Hub } from '../support/hub.ts';

export const PROJECT = join(import.meta.dirname, '../..');

/** A folder that is removed when its block ends. */
export function benchFolder(name: string): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), `bench-${name}-`));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

/** A hub's database, new and open. */
export function newDatabase(path: string, now = Date.now): Db {
  const db = openDatabase(path);
  migrate(db, readMigrations(join(PROJECT, 'migrations')), now);
  return db;
}

/** The same with its first account. */
export function newHub(path: string): Db {
  const db = newDatabase(path);
  db.exec(`INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
    VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0)`);
  return db;
}

/** A hub in this process, as tests have it, until its block ends. */
export async function hubInProcess(settings: Record<string, string>): Promise<AsyncDisposable & { hub: Hub }> {
  const ends: (() => unknown)[] = [];
  const end = async (): Promise<void> => {
    for (const one of ends) await one();
  };
  const test = { after: (one: () => unknown) => void ends.unshift(one) };
  const hub = await startHub(test as unknown as TestContext, settings);
  return { hub, [Symbol.asyncDispose]: end };
}
