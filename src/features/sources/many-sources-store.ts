import { store } from '../hub/hub.ts';
import { SELECT_SOURCES, type Source } from './source-store.ts';

/** Several sources at once, whoever may see them: the caller has checked that. */
export const manySources = store(({ db }) => {
  const selectAmong = db.prepare<[string], Source>('sources by their ids',
    `${SELECT_SOURCES} AND s.id IN (SELECT value FROM json_each(?))`);
  const selectNative = db.prepare<[number], Source>('sources of own posts', `${SELECT_SOURCES}
     AND s.owner_id = ? AND s.kind = 'native' ORDER BY s.title COLLATE NOCASE, s.id LIMIT 100`);
  const countUntried = db.prepare<[string], { n: number }>('count sources without a first try', `
    SELECT COUNT(*) AS n FROM sources WHERE id IN (SELECT value FROM json_each(?))
       AND last_sync_at IS NULL AND state <> 'paused' AND removed_at IS NULL`);

  const selectHidden = db.prepare<[number], { id: number; title: string }>('sources of account being removed',
    'SELECT id, title FROM sources WHERE owner_id = ? AND removed_at IS NOT NULL ORDER BY id LIMIT 20');

  return {
    /** Those that an account has deleted, while what they held is being removed. */
    beingRemoved: (ownerId: number): { id: number; title: string }[] => selectHidden.all(ownerId),
    /** Those of the ids that are there, in no order. */
    among: (ids: number[]): Source[] => selectAmong.all(JSON.stringify(ids)),
    /** Those in which an account publishes what it writes, by title. */
    nativeOf: (ownerId: number): Source[] => selectNative.all(ownerId),
    /** How many of these have never been fetched, well or badly, and will be. */
    countUntried: (ids: number[]): number => countUntried.get(JSON.stringify(ids))?.n ?? 0,
  };
});
