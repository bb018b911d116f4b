import { store } from '../hub/hub.ts';

type RunRow = { startedAt: number; finishedAt: number | null; removed: string };

/** The current or last run of removing old rows, stored for restarts and other processes. All times are in unix ms. */
export const retentionRuns = store(({ db }) => {
  const select = db.prepare<[], RunRow>('retention run',
    'SELECT started_at AS startedAt, finished_at AS finishedAt, removed FROM retention_runs WHERE id = 1');
  const update = db.prepare<[string]>('note retention step', 'UPDATE retention_runs SET removed = ? WHERE id = 1');
  const finish = db.prepare<[number]>('finish retention run',
    'UPDATE retention_runs SET finished_at = ? WHERE id = 1 AND finished_at IS NULL');

  function find() {
    const row = select.get();
    return row && { ...row, removed: JSON.parse(row.removed) as Record<string, number> };
  }

  return {
    find,
    begin: db.prepare<[at: number]>('begin retention run', `
      INSERT INTO retention_runs (id, started_at, removed) VALUES (1, ?, '{}')
      ON CONFLICT DO UPDATE SET started_at = excluded.started_at, finished_at = NULL, removed = '{}'`).run,

    note(kind: string, rows: number): void {
      const removed = find()?.removed ?? {};
      update.run(JSON.stringify({ ...removed, [kind]: (removed[kind] ?? 0) + rows }));
    },

    /** False if another process has finished the run already. */
    finish: (at: number): boolean => finish.run(at).changes === 1,
  };
});
