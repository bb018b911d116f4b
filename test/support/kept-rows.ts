import type { Db } from '../../src/platform/db/open-database.ts';
import { number } from './migrated-database.ts';

/** How many rows a table has. */
export function countRows({ db }: { db: Db }, table: string): number {
  return number(db, `SELECT COUNT(*) FROM ${table}`);
}

/** Every row of these tables, by table; without names those of every table. */
export function rowsOf({ db }: { db: Db }, tables: string[] = tablesOf(db)): Record<string, object[]> {
  return Object.fromEntries(tables.map((table) => [table, db.prepare<[], object>('dump', `SELECT * FROM "${table}"`).all()]));
}

function tablesOf(db: Db): string[] {
  return db.prepare<[], { name: string }>('tables', `SELECT name FROM sqlite_schema WHERE type = 'table'
    AND name NOT LIKE 'sqlite_%' ORDER BY name`).all().map(({ name }) => name);
}

/** How many rows this connection has changed since it was opened. */
export function changesMade({ db }: { db: Db }): number {
  return number(db, 'SELECT total_changes()');
}

/** Another text after every commit of another connection and every row that this one changes. */
export function writesSoFar(hub: { db: Db }): string {
  return `${String(hub.db.pragma('data_version'))} ${changesMade(hub)}`;
}

/** Lets such changes of a table fail, or only that of the row with this id, until the returned function is called. */
export function breakTable({ db }: { db: Db }, act: 'INSERT' | 'UPDATE' | 'DELETE', table: string, id?: number): () => void {
  const when = id === undefined ? '' : `WHEN ${act === 'INSERT' ? 'NEW' : 'OLD'}.rowid = ${id}`;
  db.exec(`CREATE TRIGGER fault BEFORE ${act} ON ${table} ${when} BEGIN SELECT RAISE(ABORT, 'fault'); END`);
  return () => db.exec('DROP TRIGGER fault');
}

/** Takes up so many bytes of the database until the returned function is called. */
export function addBallast({ db }: { db: Db }, bytes: number): () => void {
  db.exec(`CREATE TABLE IF NOT EXISTS ballast (b BLOB) STRICT; INSERT INTO ballast VALUES (zeroblob(${bytes}))`);
  return () => db.exec('DELETE FROM ballast');
}
