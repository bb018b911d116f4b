import { MINUTE } from '../../platform/clock.ts';
import { store } from '../hub/hub.ts';

/** A message to an account. `path`: the hub's page about it. */
type NewNotification = { accountId: number; kind: string; title: string; path: string };
export type Notification = Omit<NewNotification, 'accountId'> & {
  id: number;
  createdAt: number; // unix ms
  readAt: number | null;
};

type NotificationQuery = { accountId: number; unreadOnly: boolean; after: number; limit: number };

/** A feed is fetched at most this often; posts that come closer together were sent one by one. */
const ONE_STORY = 15 * MINUTE;

/** Notifications of all accounts. */
export const notifications = store(({ db, clock }) => {
  const insert = db.prepare<[NewNotification & { posts: number | null; now: number }]>('notify', `
    INSERT INTO notifications (account_id, kind, title, path, posts, created_at)
    VALUES (@accountId, @kind, @title, @path, @posts, @now)`);
  const columns = 'id, kind, title, path, created_at AS createdAt, read_at AS readAt';
  const selectAll = db.prepare<[number, number, number], Notification>('notifications', `
    SELECT ${columns} FROM notifications WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?`);
  const selectUnread = db.prepare<[number, number, number], Notification>('unread notifications', `
    SELECT ${columns} FROM notifications WHERE account_id = ? AND read_at IS NULL AND id < ? ORDER BY id DESC LIMIT ?`);
  const readSome = db.prepare<[number, number, string]>('mark notifications read', `
    UPDATE notifications SET read_at = ?
     WHERE account_id = ? AND read_at IS NULL AND id IN (SELECT value FROM json_each(?))`);
  const readUpTo = db.prepare<[number, number, number, number]>('mark older notifications read', `
    UPDATE notifications SET read_at = ? WHERE id IN
      (SELECT id FROM notifications WHERE account_id = ? AND read_at IS NULL AND id <= ? ORDER BY id DESC LIMIT ?)`);

  const selectRecent = db.prepare<[number, string, number], { id: number; posts: number }>('recent unread of source', `
    SELECT id, posts FROM notifications
     WHERE account_id = ? AND read_at IS NULL AND posts IS NOT NULL AND path = ? AND created_at > ?
     ORDER BY id DESC LIMIT 1`);
  const addPosts = db.prepare<[string, number, number]>('notify of more posts',
    'UPDATE notifications SET title = ?, posts = ? WHERE id = ?');
  const countUnread = db.prepare<[number, number], { n: number }>('count unread notifications', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM notifications WHERE account_id = ? AND read_at IS NULL LIMIT ?)`);
  const removeOf = db.prepare<[number, number]>('remove notifications of account',
    'DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE account_id = ? LIMIT ?)');
  const removeAbout = db.prepare<[string, number]>('remove notifications of a page',
    'DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE path = ? LIMIT ?)');
  const removeBefore = db.prepare<[number, number]>('remove old notifications', `
    DELETE FROM notifications WHERE id IN
      (SELECT id FROM notifications WHERE created_at < ? ORDER BY created_at LIMIT ?)`);
  const countBefore = db.prepare<[number], { n: number }>('count old notifications',
    'SELECT COUNT(*) AS n FROM notifications WHERE created_at < ?');

  return {
    /** Adds one, in the caller's transaction. */
    add: (notification: NewNotification): void => void insert.run({ ...notification, posts: null, now: clock() }),

    /** Tells of new posts of a source. They join an unread notification of the last quarter of an hour, if any. */
    addPosts(notification: Omit<NewNotification, 'title'>, posts: number, title: (posts: number) => string): void {
      const { accountId, path } = notification;
      const now = clock();
      const recent = selectRecent.get(accountId, path, now - ONE_STORY);
      if (recent) addPosts.run(title(recent.posts + posts), recent.posts + posts, recent.id);
      else insert.run({ ...notification, title: title(posts), posts, now });
    },

    list({ accountId, unreadOnly, after, limit }: NotificationQuery): Notification[] {
      return (unreadOnly ? selectUnread : selectAll).all(accountId, after, limit);
    },

    markRead: (accountId: number, ids: number[]): void => void readSome.run(clock(), accountId, JSON.stringify(ids)),
    /** Marks up to `limit` as read, none newer than `newestId`. Returns how many. */
    markReadUpTo: (accountId: number, newestId: number, limit: number): number =>
      readUpTo.run(clock(), accountId, newestId, limit).changes,
    /** How many are unread, counted up to `most`. */
    countUnread: (accountId: number, most: number): number => countUnread.get(accountId, most)?.n ?? 0,
    /** Removes up to `limit` of an account. Returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
    /** Removes up to `limit` of all accounts that lead to this page. Returns how many. */
    removeAbout: (path: string, limit: number): number => removeAbout.run(path, limit).changes,
    /** Removes up to `limit` older than that (unix ms), oldest first. Returns how many. */
    removeBefore: (before: number, limit: number): number => removeBefore.run(before, limit).changes,
    countBefore: (before: number): number => countBefore.get(before)?.n ?? 0,
  };
});
