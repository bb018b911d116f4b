// What tests ask of whole tables, and how they harm one on purpose. What rows mean is asked of the hub's own stores and
// of the other stored-*.ts: a test names tables, never columns.
import type { Db } from '../../src/platform/db/open-database.ts';

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

/** Lets every such write to the table fail, until the function that it returns is called. */
export function failWrites({ db }: Stored, write: 'INSERT' | 'DELETE', table: string): () => void {
  const name = `fail_${write}_${table}`;
  db.exec(`CREATE TRIGGER ${name} BEFORE ${write} ON "${table}" BEGIN SELECT RAISE(ABORT, 'made to fail'); END`);
  return () => db.exec(`DROP TRIGGER ${name}`);
}
