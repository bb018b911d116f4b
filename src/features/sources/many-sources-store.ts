import { store } from '../hub/hub.ts';
import { SELECT_SOURCES, type Source } from './source-store.ts';

/** Sources by their ids, whoever may see them: the caller has checked that. */
export const manySources = store(({ db }) => {
  const selectAmong = db.prepare<[string], Source>('sources by their ids',
    `${SELECT_SOURCES} AND s.id IN (SELECT value FROM json_each(?))`);
  const countUntried = db.prepare<[string], { n: number }>('count sources without a first try', `
    SELECT COUNT(*) AS n FROM sources WHERE id IN (SELECT value FROM json_each(?))
       AND last_sync_at IS NULL AND state <> 'paused' AND removed_at IS NULL`);

  return {
    /** Those of the ids that are there, in no order. */
    among: (ids: number[]): Source[] => selectAmong.all(JSON.stringify(ids)),
    /** How many of these have never been fetched, well or badly, and will be. */
    countUntried: (ids: number[]): number => countUntried.get(JSON.stringify(ids))?.n ?? 0,
  };
});
