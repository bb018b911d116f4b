import { accounts, isPresent } from '../accounts/account-store.ts';
import { store, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { maySee, sources, type Source } from '../sources/source-store.ts';

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

/**
 * Tells a source's followers, in the caller's transaction, of so many new posts: one notification for all that came
 * together. `authorId` wrote them on this hub and is not told.
 */
export function notifyFollowers(hub: Hub, sourceId: number, posts: number, authorId: number | null = null): void {
  const followers = follows(hub).followersOf(sourceId).filter((id) => id !== authorId);
  const source = followers.length > 0 ? sources(hub).find(sourceId) : undefined;
  if (!source) return;
  const title = (n: number): string => `${n} new ${n === 1 ? 'post' : 'posts'} in “${source.title}”`;
  for (const accountId of followers) {
    if (!maySeeNow(hub, source, accountId)) continue;
    notifications(hub).addPosts({ accountId, kind: 'source.posts', path: `/sources/${sourceId}` }, posts, title);
  }
}

/** Who followed a source while it was public, or as an administrator, may not see it any more. */
function maySeeNow(hub: Hub, source: Source, accountId: number): boolean {
  if (source.visibility === 'public') return true;
  const account = accounts(hub).find(accountId);
  return account !== undefined && maySee(source, account);
}
