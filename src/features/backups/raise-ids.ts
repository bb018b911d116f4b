import { existsSync } from 'node:fs';
import { codeOf } from '../../platform/error-code.ts';
import { givenIds, numberedTables, raiseIds, type GivenIds } from '../../platform/db/id-sequences.ts';
import { openDatabase, type Db } from '../../platform/db/open-database.ts';

const START_OF_2026 = Date.UTC(2026, 0);

/**
 * The ids of a backup go on where the backup ended, which is where the hub had gone on since. So a restored database
 * begins above a number that no hub can have reached by this time: a hundredth of a second each since 2026. A hub does
 * not give ids faster than that for long, these stay numbers of ten digits for decades, and they need nothing of the
 * replaced database, which may be lost.
 */
export function raiseIdsByTime(db: Db, now: number): void {
  const floor = Math.max(0, Math.floor((now - START_OF_2026) / 10));
  raiseIds(db, new Map(numberedTables(db).map((table) => [table, floor])));
}

/** Lets the ids of a database go on above those of the one that it replaces, as far as that one can be read. */
export function raiseIdsAbove(db: Db, replaced: string): void {
  raiseIds(db, givenIn(replaced, numberedTables(db)));
}

function givenIn(path: string, tables: string[]): GivenIds {
  if (!existsSync(path)) return new Map();
  let db: Db | undefined;
  try {
    db = openDatabase(path, { readonly: true });
    return givenIds(db, tables);
  } catch (error) {
    if (!codeOf(error)?.startsWith('SQLITE_')) throw error;
    return new Map(); // damaged, or of another program
  } finally {
    db?.close();
  }
}
