// What tests ask of whole tables, and how they harm one on purpose. What rows mean is asked of the hub's own stores and
// of the other stored-*.ts: a test names tables, never columns.
import type { Db } from '../../src/platform/db/open-database.ts';
import { createCounters } from '../../src/platform/metrics/counters.ts';

/** A hub, or another holder of a database. */
export type Stored = { readonly db: Db };

export function countRows({ db }: Stored, table: string): number {
  return db.prepare<[], { n: number }>('count rows', `SELECT COUNT(*) AS n FROM "${table}"`).get()?.n ?? NaN;
}

/** The highest id in the table. */
export function newestId({ db }: Stored, table: string): number {
  return db.prepare<[], { id: number }>('newest id', `SELECT MAX(id) AS id FROM "${table}"`).get()?.id ?? NaN;
}

/** Everything in these tables, to be compared or searched through. */
export function rowsOf({ db }: Stored, ...tables: string[]): object[][] {
  return tables.map((table) => db.prepare<[], object>('rows', `SELECT * FROM "${table}"`).all());
}

/** How many rows this connection has written since it was opened, in whatever table. */
export function writesOf({ db }: Stored): number {
  return db.prepare<[], { n: number }>('count writes', 'SELECT total_changes() AS n').get()?.n ?? NaN;
}

/** Names of all tables or indexes. */
export function namesOf({ db }: Stored, type: 'table' | 'index'): string[] {
  const select = db.prepare<[string], { name: string }>('names', 'SELECT name FROM sqlite_schema WHERE type = ?');
  return select.all(type).map(({ name }) => name);
}

/** Empties tables, as no code of the hub would. */
export function removeRows({ db }: Stored, ...tables: string[]): void {
  for (const table of tables) db.exec(`DELETE FROM "${table}"`);
}

/** Takes a table away, with all that reads it failing from then on. */
export function dropTable({ db }: Stored, table: string): void {
  db.exec(`DROP TABLE "${table}"`);
}

/** Gives a table another name until the returned function is called. */
export function hideTable({ db }: Stored, table: string): () => void {
  db.exec(`ALTER TABLE "${table}" RENAME TO "hidden_${table}"`);
  return () => db.exec(`ALTER TABLE "hidden_${table}" RENAME TO "${table}"`);
}

/** Lets such writes to the table fail, or only those of the row with this id, until the returned function is called. */
export function failWrites(
  { db }: Stored, write: 'INSERT' | 'UPDATE' | 'DELETE', table: string, id?: number,
): () => void {
  const name = `fail_${write}_${table}`;
  const when = id === undefined ? '' : `WHEN ${write === 'INSERT' ? 'NEW' : 'OLD'}.rowid = ${id}`;
  db.exec(`CREATE TRIGGER ${name} BEFORE ${write} ON "${table}" ${when} BEGIN SELECT RAISE(ABORT, 'made to fail'); END`);
  return () => db.exec(`DROP TRIGGER ${name}`);
}

/** Takes up so many bytes of the database until the returned function is called. */
export function addBallast({ db }: Stored, bytes: number): () => void {
  db.exec(`CREATE TABLE IF NOT EXISTS ballast (b BLOB) STRICT; INSERT INTO ballast VALUES (zeroblob(${bytes}))`);
  return () => db.exec('DELETE FROM ballast');
}

/** Another text after every commit of another connection and every row that this one changes. */
export function writesSoFar(hub: Stored): string {
  return `${String(hub.db.pragma('data_version'))} ${writesOf(hub)}`;
}

/** Records a migration that only a later version of the hub knows. */
export function addLaterMigration({ db }: Stored, version: number): void {
  db.exec(`INSERT INTO schema_migrations VALUES (${version}, 1, 'later', 'x')`);
}

/** How many clients or accounts have met that rate limit. */
export function countLimited({ db }: Stored, limit: string): number {
  return db.prepare<[string], object>('limited', 'SELECT 1 FROM rate_limits WHERE key LIKE ?').all(`${limit}:%`).length;
}

/** Sets a number that is kept as data changes. */
export function setCount({ db }: Stored, metric: string, value: number): void {
  const counters = createCounters(db);
  counters.add(metric, '', value - counters.value(metric));
}
