import { HOUR } from '../../platform/clock.ts';
import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';

/** Kinds of urgent notifications, which news (notifications of all other kinds) never push out of an account's list. */
const URGENT_KINDS: ReadonlySet<string> = new Set([
  'account', // a link for a new password was made or used
  'attachment.quarantined', 'content-quota', 'source.duplicate', 'source.failing', 'source.gone', 'webhook.silent',
]);

/** Maximum number of urgent notifications that an account keeps; the maximum number of kept news is as high. */
const NOTIFICATIONS_KEPT = TABLES.notifications.most / 2;

/** Maximum news of one sender for one receiver within an hour; the last one stands for later ones, until it is read. */
const NEWS_AN_HOUR = 20;
const REST = { kind: 'source.more', title: 'More has happened to sources that you follow', path: '/sources' };

/** `path`: the page about the event. `senderId`: whose news are limited together (NEWS_AN_HOUR); null: no limit. */
type NewNotification = { accountId: number; kind: string; title: string; path: string; senderId?: number | null };
export type Notification = Omit<NewNotification, 'accountId' | 'senderId'> & {
  id: number;
  count: number; // how many notifications this one stands for
  urgent: number; // 1 if it is about security or a failure
  createdAt: number; // unix ms, of the latest of them
  readAt: number | null;
};

type NotificationQuery = {
  accountId: number; unreadOnly: boolean; only?: 'urgent' | 'news' | undefined; after: number; limit: number;
};
type ListQuery = Pick<NotificationQuery, 'accountId' | 'after' | 'limit'> & { least: number; most: number };

type Row = Required<NewNotification> & { posts: number | null };
type InsertRow = Row & { count: number; urgent: number; now: number };
type LikeRow = { id: number; posts: number | null; count: number };

export const notifications = store(({ db, clock }) => {
  const insert = db.prepare<[InsertRow]>('notify', `
    INSERT INTO notifications (account_id, kind, title, path, posts, count, urgent, sender_id, created_at)
    VALUES (@accountId, @kind, @title, @path, @posts, @count, @urgent, @senderId, @now)`);
  const selectLike = db.prepare<[Row], LikeRow>('like unread notification', `
    SELECT id, posts, count FROM notifications WHERE path = @path AND account_id = @accountId AND read_at IS NULL
       AND kind = @kind AND (title = @title OR @posts IS NOT NULL) ORDER BY id DESC LIMIT 1`);
  const remove = db.prepare<[number]>('remove merged notification', 'DELETE FROM notifications WHERE id = ?');
  const countRecent = db.prepare<[number, number, number], { n: number }>('count recent notifications of a sender', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM notifications
     WHERE sender_id = ? AND account_id = ? AND created_at > ? LIMIT ${NEWS_AN_HOUR})`);
  const removeOldest = db.prepare<[number, number]>('remove oldest notifications', `
    DELETE FROM notifications WHERE id IN (SELECT id FROM notifications
     WHERE account_id = ? AND urgent = ? ORDER BY id DESC LIMIT 100 OFFSET ${NOTIFICATIONS_KEPT})`);
  const columns = 'id, kind, title, path, count, urgent, created_at AS createdAt, read_at AS readAt';
  const page = 'AND id < @after AND urgent BETWEEN @least AND @most ORDER BY id DESC LIMIT @limit';
  const selectAll = db.prepare<[ListQuery], Notification>('notifications',
    `SELECT ${columns} FROM notifications WHERE account_id = @accountId ${page}`);
  const selectUnread = db.prepare<[ListQuery], Notification>('unread notifications',
    `SELECT ${columns} FROM notifications WHERE account_id = @accountId AND read_at IS NULL ${page}`);
  const readSome = db.prepare<[number, number, string]>('mark notifications read', `
    UPDATE notifications SET read_at = ?
     WHERE account_id = ? AND read_at IS NULL AND id IN (SELECT value FROM json_each(?))`);
  const readUpTo = db.prepare<[number, number, number, number]>('mark older notifications as read', `
    UPDATE notifications SET read_at = ? WHERE id IN
      (SELECT id FROM notifications WHERE account_id = ? AND read_at IS NULL AND id <= ? ORDER BY id DESC LIMIT ?)`);


  function write(row: Row, like?: LikeRow): void {
    const urgent = URGENT_KINDS.has(row.kind) ? 1 : 0;
    if (like) remove.run(like.id);
    insert.run({ ...row, count: (like?.count ?? 0) + 1, urgent, now: clock() });
    if (!like) removeOldest.run(row.accountId, urgent);
  }

  function recentOf({ senderId, accountId, kind }: Row): number {
    if (senderId === null || URGENT_KINDS.has(kind)) return 0;
    return countRecent.get(senderId, accountId, clock() - HOUR)?.n ?? 0;
  }

  function addNew(row: Row): void {
    const recent = recentOf(row);
    if (recent < NEWS_AN_HOUR - 1) return write(row);
    const rest = { ...row, ...REST, posts: null };
    const restBefore = selectLike.get(rest);
    if (restBefore || recent < NEWS_AN_HOUR) write(rest, restBefore);
  }

  return {
    /**
     * In the caller's transaction. Unread notifications with equal kind, text and page become one with a count. Of a
     * sender's news (what is not urgent) for an account within an hour, the last of NEWS_AN_HOUR notifications counts
     * the rest; once it is read, further news of that hour are lost.
     */
    add(notification: NewNotification): void {
      const row = { senderId: null, ...notification, posts: null };
      const like = selectLike.get(row);
      if (like) write(row, like);
      else addNew(row);
    },

    addPosts(notification: Omit<NewNotification, 'title'>, added: number, title: (posts: number) => string): void {
      const row = { senderId: null, ...notification, posts: added, title: title(added) };
      const like = selectLike.get(row);
      const posts = added + (like?.posts ?? 0);
      if (like) write({ ...row, posts, title: title(posts) }, like);
      else addNew(row);
    },

    list({ accountId, unreadOnly, only, after, limit }: NotificationQuery): Notification[] {
      const [least, most] = [only === 'urgent' ? 1 : 0, only === 'news' ? 0 : 1];
      return (unreadOnly ? selectUnread : selectAll).all({ accountId, after, limit, least, most });
    },

    markRead: (accountId: number, ids: number[]): void => void readSome.run(clock(), accountId, JSON.stringify(ids)),
    markReadUpTo: (accountId: number, newestId: number, limit: number): number =>
      readUpTo.run(clock(), accountId, newestId, limit).changes,
    countUnread: db.prepare<[accountId: number, most: number], { n: number }>('count unread notifications', `
      SELECT COUNT(*) AS n FROM (SELECT 1 FROM notifications WHERE account_id = ? AND read_at IS NULL LIMIT ?)`).count,
    removeOf: db.prepare<[accountId: number, limit: number]>('remove notifications of an account',
      'DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE account_id = ? LIMIT ?)').change,
    forgetSender: db.prepare<[senderId: number, limit: number]>('remove the sender from notifications', `
      UPDATE notifications SET sender_id = NULL
       WHERE id IN (SELECT id FROM notifications WHERE sender_id = ? LIMIT ?)`).change,
    removeAbout: db.prepare<[path: string, limit: number]>('remove notifications about a page',
      'DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE path = ? LIMIT ?)').change,
    removeBefore: db.prepare<[before: number, limit: number]>('remove old notifications', `
      DELETE FROM notifications WHERE id IN
        (SELECT id FROM notifications WHERE created_at < ? ORDER BY created_at LIMIT ?)`).change,
    countBefore: db.prepare<[before: number], { n: number }>('count old notifications',
      'SELECT COUNT(*) AS n FROM notifications WHERE created_at < ?').count,
  };
});
