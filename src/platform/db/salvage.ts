import type { Clock } from '../clock.ts';
import { codeOf, messageOf } from '../error-code.ts';
import { givenIds, migrate, numberedTables, raiseIds } from './migrate.ts';
import type { Migration } from './migration-files.ts';
import { type Db, openDatabase } from './open-database.ts';

const BATCH = 500; // rows that are copied by one statement
const MOST_GAPS = 10_000;
const LOWEST = Number.MIN_SAFE_INTEGER;
const HIGHEST = Number.MAX_SAFE_INTEGER;

type SchemaRow = { type: string; name: string; sql: string };

/**
 * Copies what can be read of a damaged database, table by table, into a new database at `path` with the same schema.
 * Rows that migrations insert, such as that of the table hub, are there even where the old ones cannot be read. Returns
 * what could not be read, in words. Throws if no table can be read whole, or the copy cannot be written (full disk).
 * `from` must be in no transaction.
 */
export function salvage(from: Db, path: string, migrations: Migration[], clock: Clock): string[] {
  const empty = openDatabase(path);
  migrate(empty, migrations, clock);
  const schema = empty.prepare<[], SchemaRow>('schema',
    'SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
  const isVirtual = ({ sql }: SchemaRow): boolean => sql.startsWith('CREATE VIRTUAL');
  const indexOf = (table: string): SchemaRow | undefined =>
    schema.find((one) => isVirtual(one) && table.startsWith(`${one.name}_`));
  const tables = schema.filter((one) => one.type === 'table' && !isVirtual(one) && !one.name.startsWith('sqlite_'));
  const triggers = schema.filter(({ type }) => type === 'trigger');
  for (const { name } of triggers) empty.exec(`DROP TRIGGER ${quoted(name)}`);
  const numbered = numberedTables(empty);
  empty.close();

  const ids = tryTo(() => givenIds(from, numbered));
  const lost = from.whileUnsafe(() => copyAttached(from, path, tables));

  const filled = openDatabase(path);
  const emptied = new Set([...lost.keys()].map(indexOf).filter((index) => index !== undefined));
  for (const { name, sql } of emptied) {
    filled.exec(`DROP TABLE ${quoted(name)}`);
    filled.exec(sql);
  }
  for (const { sql } of triggers) filled.exec(sql);
  raiseIds(filled, ids ?? new Map());
  filled.close();
  if (lost.size === tables.length) throw new Error([...lost.values()][0]);
  const named = [...lost].filter(([table]) => !indexOf(table)).map(([table, what]) => `${table}: ${what}`);
  return [...named, ...[...emptied].map(({ name }) => `${name}: a search index, which begins anew`)];
}

function copyAttached(from: Db, path: string, tables: SchemaRow[]): Map<string, string> {
  from.pragma('foreign_keys = OFF'); // children may come before their parents, and some without
  from.prepare<[string]>('attach', 'ATTACH ? AS rescue').run(path);
  from.pragma('rescue.synchronous = OFF'); // only the finished copy has to be durable
  try {
    return new Map(tables.flatMap((table) => {
      const lost = table.sql.includes('WITHOUT ROWID') ? copyByKey(from, table.name) : copyByRowId(from, table.name);
      return lost === null ? [] : [[table.name, lost]];
    }));
  } finally {
    from.exec('DETACH rescue');
    from.pragma('foreign_keys = ON');
  }
}

/** Copies rows from the lowest id on. Passes over ids that cannot be read, up to MOST_GAPS times; returns which. */
function copyByRowId(db: Db, name: string): string | null {
  const table = quoted(name);
  const gaps: string[] = [];
  try {
    const put = db.prepare<[number, number]>('salvage rows', `
      INSERT OR REPLACE INTO rescue.${table} SELECT * FROM main.${table} WHERE rowid >= ? ORDER BY rowid LIMIT ?`);
    const last = db.prepare<[number, number], { id: number | null }>('last of salvaged rows', `
      SELECT MAX(id) AS id FROM (SELECT rowid AS id FROM main.${table} WHERE rowid >= ? ORDER BY rowid LIMIT ?)`);
    const step = (id: number, rows: number): number | null | undefined => tryTo(() => {
      put.run(id, rows);
      return last.get(id, rows)?.id ?? null;
    });
    for (let id = LOWEST, rows = BATCH; ;) {
      const reached = step(id, rows);
      if (reached === null) break;
      if (reached !== undefined) [id, rows] = [reached + 1, BATCH];
      else if (rows > 1) rows = 1;
      else {
        const next = nextReadable(id, (at) => step(at, 1));
        gaps.push(rangeInWords(id, next));
        if (next === null || gaps.length > MOST_GAPS) break;
        id = next;
      }
    }
  } catch (error) {
    refuseUnwritten(error);
    return `nothing can be read (${messageOf(error)})`;
  }
  return gaps.length === 0 ? null : gaps.slice(0, 20).join(', ') + (gaps.length > 20 ? ', …' : '');
}

/** An id above `id` from which rows can be read, after one that cannot: growing steps, then halving. Null: none. */
function nextReadable(id: number, read: (at: number) => number | null | undefined): number | null {
  let [low, step] = [id, 1];
  while (read(low + step) === undefined) {
    [low, step] = [low + step, step * 2];
    if (low + step > HIGHEST) return null;
  }
  let high = low + step;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (read(middle) === undefined) low = middle;
    else high = middle;
  }
  return high;
}

function rangeInWords(from: number, to: number | null): string {
  if (from === LOWEST) return to === null ? 'nothing can be read' : `ids below ${to}`;
  return to === null ? `ids from ${from} on` : `ids ${from} to ${to - 1}`;
}

/** Copies the rows before the first page that cannot be read, and the rows after the last. */
function copyByKey(db: Db, name: string): string | null {
  const table = quoted(name);
  try {
    const key = db.prepare<[], { name: string }>('key columns', `
      SELECT name FROM pragma_table_info('${name}', 'rescue') WHERE pk > 0 ORDER BY pk`).all()
      .map((one) => quoted(one.name));
    const copy = (order: string): boolean => {
      const put = db.prepare<[number]>('salvage rows by key', `
        INSERT OR REPLACE INTO rescue.${table} SELECT * FROM main.${table} ORDER BY ${order} LIMIT ?`);
      return copyMost((rows) => tryTo(() => put.run(rows).changes));
    };
    if (copy(key.join(', '))) return null;
    copy(key.map((one) => `${one} DESC`).join(', '));
    return 'some rows';
  } catch (error) {
    refuseUnwritten(error);
    return `nothing can be read (${messageOf(error)})`;
  }
}

/** Returns whether all rows could be copied; else copies as many as can be read from one end. */
function copyMost(copy: (rows: number) => number | undefined): boolean {
  if (copy(HIGHEST) !== undefined) return true;
  let [good, bad] = [0, 1];
  while (copy(bad) !== undefined) [good, bad] = [bad, bad * 2];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (copy(middle) === undefined) bad = middle;
    else good = middle;
  }
  return false;
}

/** What the disk does not take (it is full, or beyond its owner's quota) is not lost: the copy is tried again. */
function refuseUnwritten(error: unknown): void {
  if (/^SQLITE_(FULL|IOERR_WRITE|IOERR_FSYNC)$/.test(codeOf(error) ?? '')) throw error;
}

function tryTo<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    refuseUnwritten(error);
    return undefined;
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
