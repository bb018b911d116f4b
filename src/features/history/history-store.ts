import { store } from '../hub/hub.ts';


/** A post that somebody has read, as far as that person may still see it. */
export type ReadPost = { postId: number; title: string; sourceId: number; sourceTitle: string; readAt: number };

/** Where a page of the history begins: after this entry, last read first. */
export type HistoryPosition = { readAt: number; postId: number };

export type HistoryStore = ReturnType<typeof readingHistory>;

const FROM_THE_TOP: HistoryPosition = { readAt: Number.MAX_SAFE_INTEGER, postId: Number.MAX_SAFE_INTEGER };

/** What each person has read. Asking never writes, and a post is written once however often it is opened. */
export const readingHistory = store(({ db, clock }) => {
  const select = db.prepare<[number, number], { at: number }>('whether post is read',
    'SELECT read_at AS at FROM reading_history WHERE account_id = ? AND post_id = ?');
  const selectAmong = db.prepare<[number, string], { id: number }>('which posts are read', `
    SELECT post_id AS id FROM reading_history WHERE account_id = ? AND post_id IN (SELECT value FROM json_each(?))`);
  const insert = db.prepare<[number, number, number]>('mark post read',
    'INSERT INTO reading_history (account_id, post_id, read_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const remove = db.prepare<[number, number]>('mark post unread',
    'DELETE FROM reading_history WHERE account_id = ? AND post_id = ?');
  const selectPage = db.prepare<[number, number, number, number, number], ReadPost>('reading history', `
    SELECT h.post_id AS postId, p.title, p.source_id AS sourceId, s.title AS sourceTitle, h.read_at AS readAt
      FROM reading_history h JOIN posts p ON p.id = h.post_id
      JOIN sources s ON s.id = p.source_id AND s.removed_at IS NULL
     WHERE h.account_id = ? AND (h.read_at, h.post_id) < (?, ?) AND (p.is_public = 1 OR p.owner_id = ?)
     ORDER BY h.read_at DESC, h.post_id DESC LIMIT ?`);
  const removeOf = db.prepare<[number, number]>('remove reading history of account', `
    DELETE FROM reading_history WHERE (account_id, post_id) IN
      (SELECT account_id, post_id FROM reading_history WHERE account_id = ? LIMIT ?)`);

  return {
    isRead: (accountId: number, postId: number): boolean => select.get(accountId, postId) !== undefined,

    /** Those of the posts that the account has read. */
    readAmong: (accountId: number, postIds: number[]): Set<number> =>
      new Set(selectAmong.all(accountId, JSON.stringify(postIds)).map(({ id }) => id)),

    markRead(accountId: number, postId: number): void {
      if (select.get(accountId, postId) === undefined) insert.run(accountId, postId, clock());
    },

    markUnread(accountId: number, postId: number): void {
      if (select.get(accountId, postId) !== undefined) remove.run(accountId, postId);
    },

    list: (accountId: number, { readAt, postId }: HistoryPosition = FROM_THE_TOP, limit: number): ReadPost[] =>
      selectPage.all(accountId, readAt, postId, accountId, limit),

    /** Up to `limit` entries of an account; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});
