import { store } from '../hub/hub.ts';

/** A source that fails, and why; times in unix ms. */
export type FailingSource = {
  id: number;
  title: string;
  since: number;
  reason: string | null;
  failures: number; // jobs that ran out of attempts since the last success
  nextSyncAt: number | null;
};

/** The sources that fail, the one first that has done so the longest. */
export const failingSources = store(({ db }) => {
  const select = db.prepare<[number], FailingSource>('sources that fail', `
    SELECT id, title, state_since AS since, state_reason AS reason, failures, next_sync_at AS nextSyncAt
      FROM sources INDEXED BY sources_failing
     WHERE state = 'failing' AND state_since > 0 AND removed_at IS NULL ORDER BY state_since LIMIT ?`);

  return { list: (limit: number): FailingSource[] => select.all(limit) };
});
