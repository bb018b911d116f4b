import { DAY } from '../../platform/clock.ts';
import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';
import { fromSource } from './source-store.ts';

export const DAYS = TABLES.source_days.most;
export const RUNS = TABLES.source_runs.most;

/** The result of a feed's synchronisation or a webhook's event, or of several alike. Migration 0008 explains fields. */
export type SourceRun = {
  endedAt: number; times: number; failed: number; added: number; changed: number;
  tookMs: number | null; bytes: number | null; event: string | null; note: string | null;
};

/** The totals of a source's runs on one day. `day`: number of days since 1970-01-01 (UTC). */
export type RunDay = { day: number; runs: number; failed: number; added: number };
type DayOf = RunDay & { id: number };

export const sourceRuns = store(({ db, clock }) => {
  const noteDay = db.prepare<[DayOf], { runs: number }>('note the totals of a day of a source', `
    INSERT INTO source_days (source_id, day, runs, failed, added)
    SELECT s.id, @day, @runs, @failed, @added ${fromSource('@id')}
        ON CONFLICT DO UPDATE SET runs = runs + excluded.runs, failed = failed + excluded.failed,
           added = added + excluded.added RETURNING runs`);
  const dropDays = db.prepare<[{ id: number; until: number }]>('remove the old days of a source', `
    DELETE FROM source_days WHERE source_id = @id AND day IN
      (SELECT day FROM source_days WHERE source_id = @id AND day <= @until ORDER BY day LIMIT 2)`);
  const insert = db.prepare<[SourceRun & { id: number }], { run: number }>('store a synchronisation or event', `
    INSERT INTO source_runs (source_id, run, ended_at, times, failed, added, changed, took_ms, bytes, event, note)
    SELECT @id, COALESCE(MAX(run), 0) + 1, @endedAt, @times, @failed, @added, @changed, @tookMs, @bytes, @event, @note
      FROM source_runs WHERE source_id = @id RETURNING run`);
  const dropRuns = db.prepare<[number, number]>('remove the old runs of a source',
    'DELETE FROM source_runs WHERE source_id = ? AND run <= ?');
  const addFailures = db.prepare<[number, number, number, string, number]>('note the failures of a source', `
    UPDATE source_runs SET times = times + ?, ended_at = ?
     WHERE source_id = ? AND failed = 1 AND note = ? AND ended_at > ?`);
  const selectDays = db.prepare<[string, number], DayOf>('days of sources', `
    SELECT source_id AS id, day, runs, failed, added FROM source_days
     WHERE source_id IN (SELECT value FROM json_each(?)) AND day > ?`);

  return {
    /**
     * Adds runs to a source's totals of a day. Returns false if the source no longer exists. The first run of a new day
     * removes the totals of at most two old days, not of all, because the clock may be wrong.
     */
    noteDay(id: number, added: RunDay): boolean {
      const runs = noteDay.get({ id, ...added })?.runs;
      if (runs === added.runs) dropDays.run({ id, until: added.day - DAYS });
      return runs !== undefined;
    },
    note: (id: number, run: SourceRun): void =>
      void dropRuns.run(id, (insert.get({ id, ...run })?.run ?? 0) - RUNS),
    noteAgain: (id: number, note: string, times: number): boolean =>
      addFailures.run(times, clock(), id, note, clock() - DAY).changes > 0,
    last: db.prepare<[id: number], SourceRun>('runs of source', `
      SELECT ended_at AS endedAt, times, failed, added, changed, took_ms AS tookMs, bytes, event, note
        FROM source_runs WHERE source_id = ? ORDER BY ended_at DESC, run DESC`).all,
    days: (ids: number[]): Map<number, RunDay[]> =>
      Map.groupBy(selectDays.all(JSON.stringify(ids), Math.floor(clock() / DAY) - DAYS), ({ id }) => id),
  };
});
