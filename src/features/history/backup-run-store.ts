import { DAY } from '../../platform/clock.ts';
import { store } from '../hub/hub.ts';

export const RUNS_KEPT = 60 * DAY;
export const MOST_RUNS = 500; // the most backup runs that are kept of this machine, and of each off-site destination

/** How a run of a backup ended, on this machine or at an off-site destination. */
export type BackupRun = {
  place: string; // 'here', or the name of the off-site destination
  at: number; // unix ms, when the run ended
  result: 'good' | 'degraded' | 'failed';
  bytes: number | null;
  seconds: number;
  problem: string | null;
};

type Bounds = { place: string; before: number; after: number; skipped: number };

/** Stores the results of all recent backup runs and off-site runs; files in DATA_DIR/run hold only the last results. */
export const backupRuns = store(({ db, clock }) => {
  const insert = db.prepare<[BackupRun]>('note backup run', `
    INSERT INTO backup_runs (place, at, result, bytes, seconds, problem)
    VALUES (@place, @at, @result, @bytes, @seconds, @problem) ON CONFLICT DO NOTHING`);
  const removeOld = db.prepare<[Bounds]>('forget old backup runs', `
    DELETE FROM backup_runs WHERE place = @place AND at IN
      (SELECT at FROM backup_runs WHERE place = @place AND (at < @before OR at > @after OR at <
        (SELECT at FROM backup_runs WHERE place = @place ORDER BY at DESC LIMIT 1 OFFSET @skipped))
        ORDER BY at LIMIT 3)`);
  const select = db.prepare<[number], BackupRun>('backup runs',
    'SELECT place, at, result, bytes, seconds, problem FROM backup_runs WHERE at >= ? ORDER BY at');

  return {
    /** Stores a backup run that is not stored yet, and removes some old runs. Runs in the caller's transaction. */
    note(run: BackupRun): void {
      if (insert.run(run).changes === 0) return;
      removeOld.run({ place: run.place, before: clock() - RUNS_KEPT, after: clock(), skipped: MOST_RUNS - 1 });
    },
    /** Lists the backup runs that ended at `at` or later, the earliest run first. */
    since: (at: number): BackupRun[] => select.all(at),
  };
});
