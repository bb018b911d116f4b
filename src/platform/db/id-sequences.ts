import type { Db } from './open-database.ts';

/** The highest id that each table with AUTOINCREMENT has given, whether or not its row still exists. */
export type GivenIds = ReadonlyMap<string, number>;

/** Higher than any real id, which has at most 15 digits: a sign of a damaged database. */
const IMPOSSIBLE = 1e15;

/** The tables with AUTOINCREMENT: SQLite keeps the highest id of each in sqlite_sequence, and never gives one twice. */
export function numberedTables(db: Db): string[] {
  return db.prepare<[], { name: string }>('numbered tables', `
    SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%' ORDER BY name`).all()
    .map(({ name }) => name);
}

/** The highest ids of those of the tables that exist here, also where they have no AUTOINCREMENT. */
export function givenIds(db: Db, tables: string[]): GivenIds {
  const known = new Map(sequences(db).map(({ name, seq }) => [name, seq]));
  const isThere = db.prepare<[string], object>('find table',
    `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`);
  const given = tables.filter((name) => isThere.get(name)).map((name): [string, number] =>
    [name, Math.max(known.get(name) ?? 0, highestRow(db, name))]);
  return new Map(given.filter(([, id]) => id < IMPOSSIBLE));
}

/** Makes every next id higher than these floors; a sequence that is higher already stays. */
export function raiseIds(db: Db, floors: GivenIds): void {
  if (floors.size === 0) return; // without a numbered table there is no sqlite_sequence
  const raise = db.prepare<[number, string]>('raise ids',
    'UPDATE sqlite_sequence SET seq = MAX(seq, ?) WHERE name = ?');
  const begin = db.prepare<[string, number]>('begin ids', 'INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)');
  db.write('raise ids', () => {
    for (const [name, floor] of floors) {
      if (raise.run(floor, name).changes === 0) begin.run(name, floor);
    }
  });
}

/** A table that never had a row has no sequence, and a database without AUTOINCREMENT no sqlite_sequence. */
function sequences(db: Db): { name: string; seq: number }[] {
  const found = db.prepare<[], object>('find sequences', `SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'`);
  if (!found.get()) return [];
  return db.prepare<[], { name: string; seq: number }>('sequences', 'SELECT name, seq FROM sqlite_sequence').all();
}

function highestRow(db: Db, table: string): number {
  const quoted = `"${table.replaceAll('"', '""')}"`;
  return db.prepare<[], { id: number | null }>('highest row', `SELECT MAX(rowid) AS id FROM ${quoted}`).get()?.id ?? 0;
}
