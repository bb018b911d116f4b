import { existsSync } from 'node:fs';
import type { Clock } from '../../platform/clock.ts';
import { givenIds, numberedTables, raiseIds, type GivenIds } from '../../platform/db/id-sequences.ts';
import { migrate, SchemaError, type Migration } from '../../platform/db/migrate.ts';
import { openDatabase, type Db } from '../../platform/db/open-database.ts';
import { codeOf } from '../../platform/error-code.ts';
import { settleRestoredJobs } from '../../platform/jobs/job-records.ts';
import { endAllSessions } from '../accounts/credential-store.ts';
import { audit, COMMAND_LINE } from '../audit/audit.ts';
import { BackupError } from './backup-folder.ts';

/** What was ended in a restored database: sessions, and jobs that may have been done since the backup. */
export type Settled = { sessions: number; jobs: number };

/** What a restored database is prepared for. */
export type RestoreTarget = {
  migrations: Migration[];
  clock: Clock;
  /** Kinds of jobs that may run again. The others had their chance after the backup was made. */
  runAgain: readonly string[];
};

const START_OF_2026 = Date.UTC(2026, 0);

/**
 * Prepares the staged copy of a backup's database to be run: migrations, ids, sessions and jobs. Throws BackupError
 * where it cannot be brought up to date.
 */
export function prepareRestored(path: string, backup: string, target: RestoreTarget) {
  return changeStaged(path, (db) => {
    const migrated = bringUpToDate(db, target);
    raiseIdsByTime(db, target.clock());
    return { migrated, settled: settle(db, backup, target) };
  });
}

/** Lets the staged database give only ids above those of the one that it replaces, as far as that can be read. */
export function raiseIdsAbove(path: string, replaced: string): void {
  changeStaged(path, (db) => raiseIds(db, idsGivenBy(replaced, numberedTables(db))));
}

/** Changes the database and leaves it in one file, with no write-ahead log beside it. */
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

/** Applies safe migrations only; returns how many. */
function bringUpToDate(db: Db, { migrations, clock }: RestoreTarget): number {
  try {
    return migrate(db, migrations, clock).length;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    throw new BackupError('this backup cannot be brought up to date by a restore: restore it with the version that ' +
      `made it, then upgrade. ${error.message}`, { cause: error });
  }
}

/** Ends all sessions, discards jobs that may have been done since, and records the restore. */
function settle(db: Db, backup: string, { clock, runAgain }: RestoreTarget): Settled {
  return db.write('settle restored database', () => {
    const sessions = endAllSessions({ db });
    const jobs = settleRestoredJobs(db, clock(), runAgain);
    const target = { kind: 'backup', id: null, name: backup } as const;
    audit({ db, clock }, 'backup.restored', COMMAND_LINE, target, { sessions, jobs });
    return { sessions, jobs };
  });
}

/**
 * Left alone, a restored database would give the ids again that the hub gave after the backup was made. So its ids go
 * on above a floor that grows faster with time than the ids of any hub: the hundredths of a second since 2026. It holds
 * where the replaced database is lost, and whichever backup is restored next. Until 2057 it has at most 11 digits.
 */
function raiseIdsByTime(db: Db, now: number): void {
  const floor = Math.max(0, Math.floor((now - START_OF_2026) / 10));
  raiseIds(db, new Map(numberedTables(db).map((table) => [table, floor])));
}

/** Empty where the database is missing, damaged, or that of another program. */
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
