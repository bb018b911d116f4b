import { store } from '../hub/hub.ts';


/** `title` is null where the account may no longer see the source. */
export type Followed = { sourceId: number; title: string | null; createdAt: number };

export type FollowStore = ReturnType<typeof follows>;

// Of source s to account a.
const IS_VISIBLE = `(s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin')`;

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
  const selectOf = db.prepare<[number, number, number], Followed>('followed sources', `
    SELECT f.source_id AS sourceId, CASE WHEN ${IS_VISIBLE} THEN s.title END AS title, f.created_at AS createdAt
      FROM follows f JOIN accounts a ON a.id = f.account_id
      JOIN sources s ON s.id = f.source_id AND s.removed_at IS NULL
     WHERE f.account_id = ? AND f.source_id > ? ORDER BY f.source_id LIMIT ?`);
  // Whoever may no longer see a source hears no more of it either.
  const selectFollowers = db.prepare<[number], { id: number }>('followers of source', `
    SELECT f.account_id AS id FROM follows f JOIN accounts a ON a.id = f.account_id JOIN sources s ON s.id = f.source_id
     WHERE f.source_id = ? AND a.left_at IS NULL AND ${IS_VISIBLE}`);
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
    listOf: (accountId: number, after: number, limit: number): Followed[] => selectOf.all(accountId, after, limit),
    /** The accounts that follow the source and may see it. */
    followersOf: (sourceId: number): number[] => selectFollowers.all(sourceId).map(({ id }) => id),
    /** Up to `limit` of them; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});
