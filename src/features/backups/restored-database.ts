import { existsSync } from 'node:fs';
import type { Clock } from '../../platform/clock.ts';
import { givenIds, numberedTables, raiseIds, type GivenIds } from '../../platform/db/id-sequences.ts';
import { migrate, SchemaError, type Migration } from '../../platform/db/migrate.ts';
import { openDatabase, type Db } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { settleRestoredJobs } from '../../platform/jobs/restored-jobs.ts';
import { endAllSessions } from '../accounts/credential-store.ts';
import { audit, COMMAND_LINE } from '../audit/audit.ts';
import { BackupError } from './backup-folder.ts';

/** What was changed in a database that comes back from a backup. */
export type Settled = { sessions: number; jobs: number };

export type Today = {
  migrations: Migration[];
  clock: Clock;
  /** Kinds of jobs that may run again. The others had their chance after the backup was made. */
  runAgain: readonly string[];
};

const START_OF_2026 = Date.UTC(2026, 0);

/** Makes a database of another day, which lies ready, fit for this one. Throws BackupError where it cannot be. */
export function prepareForToday(path: string, backup: string, today: Today): { migrated: number; settled: Settled } {
  return changeStaged(path, (db) => {
    const migrated = bringUpToDate(db, today);
    raiseIdsByTime(db, today.clock());
    return { migrated, settled: settle(db, backup, today) };
  });
}

/** Lets its ids go on above those of the database that it replaces, as far as that one can be read. */
export function raiseIdsAbove(path: string, replaced: string): void {
  changeStaged(path, (db) => raiseIds(db, idsGivenBy(replaced, numberedTables(db))));
}

/** Leaves a database that is one file: nothing of its log stays beside it. */
function changeStaged<T>(path: string, work: (db: Db) => T): T {
  const db = openDatabase(path);
  try {
    const result = work(db);
    db.pragma('wal_checkpoint(TRUNCATE)');
    return result;
  } finally {
    db.close();
  }
}

/** Applies safe migrations only: how many. */
function bringUpToDate(db: Db, { migrations, clock }: Today): number {
  try {
    return migrate(db, migrations, clock).length;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw new BackupError('this backup cannot be brought up to date by a restore: restore it with the version that ' +
      `made it, then upgrade. ${error.message}`, { cause: error });
  }
}

/** Ends all sessions, discards jobs that may have been done since, and records the restore. */
function settle(db: Db, backup: string, { clock, runAgain }: Today): Settled {
  return db.write('settle restored database', () => {
    const sessions = endAllSessions({ db });
    const jobs = settleRestoredJobs(db, clock(), runAgain);
    const target = { kind: 'backup', id: null, name: backup } as const;
    audit({ db, clock }, 'backup.restored', COMMAND_LINE, target, { sessions, jobs });
    return { sessions, jobs };
  });
}

/**
 * The ids of a backup would go on where the backup ended, which is where the hub had gone on since. So a restored
 * database begins above a number that no hub has reached by this time: the hundredths of a second since 2026. A hub
 * does not give ids faster than that for long, the numbers keep to ten digits for decades, and nothing is needed of the
 * replaced database, which may be lost.
 */
function raiseIdsByTime(db: Db, now: number): void {
  const floor = Math.max(0, Math.floor((now - START_OF_2026) / 10));
  raiseIds(db, new Map(numberedTables(db).map((table) => [table, floor])));
}

/** None where nothing can be read: it is missing, damaged, or of another program. */
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
