import { existsSync } from 'node:fs';
import { type GivenIds, givenIds, numberedTables, raiseIds } from '../../platform/db/migrate.ts';
import { type Db, openDatabase } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';

const START_OF_2026 = Date.UTC(2026, 0);

/** Raises the next ids of the staged database above those of the replaced one, if that is readable. */
export function raiseIdsAbove(path: string, replaced: string): void {
  changeStaged(path, (db) => raiseIds(db, idsGivenBy(replaced, numberedTables(db))));
}

/**
 * Raises the ids that a restored database gives to future rows: no id that the hub gave after the backup may be given
 * again. New ids begin above the number of hundredths of a second since 2026, which is taken to grow faster than a
 * hub's ids, and is known even if the replaced database is unreadable.
 */
export function raiseIdsByTime(db: Db, now: number): void {
  const floor = Math.max(0, Math.floor((now - START_OF_2026) / 10));
  raiseIds(db, new Map(numberedTables(db).map((table) => [table, floor])));
}

/** Runs `work` on the restored database, then empties and removes its write-ahead log. */
export function changeStaged<T>(path: string, work: (db: Db) => T): T {
  const db = openDatabase(path);
  try {
    const result = work(db);
    db.pragma('wal_checkpoint(TRUNCATE)');
    return result;
  } finally {
    db.close();
  }
}

/** The highest ids that a database has assigned; none if it is missing or damaged, or belongs to no hub. */
function idsGivenBy(path: string, tables: string[]): GivenIds {
  if (!existsSync(path)) return new Map();
  let db: Db | undefined;
  try {
    db = openDatabase(path, { readonly: true });
    return givenIds(db, tables);
  } catch (error) {
    if (!codeOf(error)?.startsWith('SQLITE_')) throw error;
    return new Map();
  } finally {
    db?.close();
  }
}
