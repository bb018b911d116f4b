import { isPresent } from '../accounts/account-store.ts';
import { store } from '../hub/hub.ts';

export type Follow = { sourceId: number; createdAt: number };

/** Who wants to hear of new posts of which source. */
export const follows = store(({ db, clock }) => {
  const select = db.prepare<[number, number], { at: number }>('whether source is followed',
    'SELECT created_at AS at FROM follows WHERE account_id = ? AND source_id = ?');
  const selectAmong = db.prepare<[number, string], { id: number }>('which sources are followed', `
    SELECT source_id AS id FROM follows WHERE account_id = ? AND source_id IN (SELECT value FROM json_each(?))`);
  const insert = db.prepare<[number, number, number]>('follow source',
    'INSERT INTO follows (account_id, source_id, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const remove = db.prepare<[number, number]>('unfollow source',
    'DELETE FROM follows WHERE account_id = ? AND source_id = ?');
  const selectOf = db.prepare<[number, number, number], Follow>('follows of account', `
    SELECT source_id AS sourceId, created_at AS createdAt FROM follows
     WHERE account_id = ? AND source_id > ? ORDER BY source_id LIMIT ?`);
  const selectFollowers = db.prepare<[number], { id: number }>('followers of source',
    `SELECT account_id AS id FROM follows WHERE source_id = ? AND ${isPresent('account_id')}`);
  const removeOf = db.prepare<[number, number]>('remove follows of account', `
    DELETE FROM follows WHERE (account_id, source_id) IN
      (SELECT account_id, source_id FROM follows WHERE account_id = ? LIMIT ?)`);

  return {
    isFollowed: (accountId: number, sourceId: number): boolean => select.get(accountId, sourceId) !== undefined,
    /** Those of the sources that the account follows. */
    followedAmong: (accountId: number, sourceIds: number[]): Set<number> =>
      new Set(selectAmong.all(accountId, JSON.stringify(sourceIds)).map(({ id }) => id)),
    follow: (accountId: number, sourceId: number): void => void insert.run(accountId, sourceId, clock()),
    unfollow: (accountId: number, sourceId: number): void => void remove.run(accountId, sourceId),
    /** By the id of the source. */
    listOf: (accountId: number, after: number, limit: number): Follow[] => selectOf.all(accountId, after, limit),
    /** The accounts that follow the source, without those that have left. */
    followersOf: (sourceId: number): number[] => selectFollowers.all(sourceId).map(({ id }) => id),
    /** Up to `limit` of them; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});
