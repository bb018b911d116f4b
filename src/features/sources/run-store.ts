import { DAY } from '../../platform/clock.ts';
import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';
import { fromSource } from './source-store.ts';

/** How many days and runs are kept for each source. */
export const DAYS = TABLES.source_days.most;
export const RUNS = TABLES.source_runs.most;

/** The result of a feed's synchronisation or a webhook's event. Migration 0008 explains the columns. */
export type SourceRun = {
  endedAt: number; times: number; failed: number; added: number; changed: number;
  tookMs: number | null; bytes: number | null; event: string | null; note: string | null;
};

/** Sums of a source's runs on one day. `day`: days since 1970-01-01 (UTC). */
export type RunDay = { day: number; runs: number; failed: number; added: number };
type DayOf = RunDay & { id: number };

/** Results of the last runs of each source, and sums for its last days. */
export const sourceRuns = store(({ db, clock }) => {
  const noteDay = db.prepare<[DayOf], { runs: number }>('note day of source', `
    INSERT INTO source_days (source_id, day, runs, failed, added)
    SELECT s.id, @day, @runs, @failed, @added ${fromSource('@id')}
        ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, failed = failed + excluded.failed,
           added = added + excluded.added RETURNING runs`);
  const dropDays = db.prepare<[{ id: number; until: number }]>('drop days of source', `
    DELETE FROM source_days WHERE source_id = @id AND day IN
      (SELECT day FROM source_days WHERE source_id = @id AND day <= @until ORDER BY day LIMIT 2)`);
  const insert = db.prepare<[SourceRun & { id: number }], { run: number }>('note run of source', `
    INSERT INTO source_runs (source_id, run, ended_at, times, failed, added, changed, took_ms, bytes, event, note)
    SELECT @id, COALESCE(MAX(run), 0) + 1, @endedAt, @times, @failed, @added, @changed, @tookMs, @bytes, @event, @note
      FROM source_runs WHERE source_id = @id RETURNING run`);
  const dropRuns = db.prepare<[number, number]>('drop runs of source',
    'DELETE FROM source_runs WHERE source_id = ? AND run <= ?');
  const addFailures = db.prepare<[number, number, number, string, number]>('note failures of source', `
    UPDATE source_runs SET times = times + ?, ended_at = ?
     WHERE source_id = ? AND failed = 1 AND note = ? AND ended_at > ?`);
  const selectRuns = db.prepare<[number], SourceRun>('runs of source', `
    SELECT ended_at AS endedAt, times, failed, added, changed, took_ms AS tookMs, bytes, event, note
      FROM source_runs WHERE source_id = ? ORDER BY ended_at DESC, run DESC`);
  const selectDays = db.prepare<[string, number], DayOf>('days of sources', `
    SELECT source_id AS id, day, runs, failed, added FROM source_days
     WHERE source_id IN (SELECT value FROM json_each(?)) AND day > ?`);

  return {
    /**
     * Adds runs to the sums of a day. False if the source no longer exists. A new day drops at most two old days rather
     * than all old days, because the clock may be wrong.
     */
    noteDay(id: number, added: RunDay): boolean {
      const runs = noteDay.get({ id, ...added })?.runs;
      if (runs === added.runs) dropDays.run({ id, until: added.day - DAYS }); // the first runs of this day
      return runs !== undefined;
    },
    note: (id: number, run: SourceRun): void =>
      void dropRuns.run(id, (insert.get({ id, ...run })?.run ?? 0) - RUNS),
    /** Adds failures to a run of the last day that has the same note; false if there is no such run. */
    noteAgain: (id: number, note: string, times: number): boolean =>
      addFailures.run(times, clock(), id, note, clock() - DAY).changes > 0,
    /** The last runs of a source, newest first. */
    last: (id: number): SourceRun[] => selectRuns.all(id),
    /** The last days of these sources, by source id. Days without runs are left out. */
    days: (ids: number[]): Map<number, RunDay[]> =>
      Map.groupBy(selectDays.all(JSON.stringify(ids), Math.floor(clock() / DAY) - DAYS), ({ id }) => id),
  };
});
