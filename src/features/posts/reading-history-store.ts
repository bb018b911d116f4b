import { isStorageTrouble } from '../../platform/db/open-database.ts';
import { errorFields } from '../../platform/log.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { store, type Hub } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';

/** A post that somebody has read and may still see. */
export type ReadPost = { postId: number; title: string; sourceId: number; sourceTitle: string; readAt: number };

/** Where a page of the history begins: after this entry, last read first. */
export type HistoryPosition = { readAt: number; postId: number };

type OldEntries = { id: number; before: number; limit: number };

const FROM_THE_TOP: HistoryPosition = { readAt: Number.MAX_SAFE_INTEGER, postId: Number.MAX_SAFE_INTEGER };

/** Old entries of one reader that are removed before it is the next reader's turn. */
const SHARE = 50;

/** Readers after one of them. Each is found by one step in the index: there are few readers and many entries. */
const READERS = `
  WITH RECURSIVE readers (id) AS (
    SELECT MIN(account_id) FROM reading_history WHERE account_id > ?
    UNION ALL SELECT (SELECT MIN(account_id) FROM reading_history WHERE account_id > readers.id) FROM readers
     WHERE id IS NOT NULL)`;

/** Which posts each person has read. Asking never writes, and a post is noted once however often it is opened. */
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
      ${joinSource('p.source_id')}
     WHERE h.account_id = ? AND (h.read_at, h.post_id) < (?, ?) AND (p.is_public = 1 OR p.owner_id = ?)
     ORDER BY h.read_at DESC, h.post_id DESC LIMIT ?`);
  const removeOf = db.prepare<[number, number]>('remove reading history of account', `
    DELETE FROM reading_history WHERE (account_id, post_id) IN
      (SELECT account_id, post_id FROM reading_history WHERE account_id = ? LIMIT ?)`);

  const selectReader = db.prepare<[number, number], { id: number }>('account with old reading history', `
    ${READERS} SELECT id FROM readers
     WHERE EXISTS (SELECT 1 FROM reading_history WHERE account_id = readers.id AND read_at < ?) LIMIT 1`);
  const removeOld = db.prepare<[OldEntries]>('remove old reading history', `
    DELETE FROM reading_history WHERE account_id = @id AND post_id IN
      (SELECT post_id FROM reading_history
        WHERE account_id = @id AND read_at < @before ORDER BY read_at LIMIT @limit)`);
  const countBefore = db.prepare<[number, number], { n: number }>('count old reading history', `
    ${READERS} SELECT COALESCE(SUM(
      (SELECT COUNT(*) FROM reading_history WHERE account_id = readers.id AND read_at < ?)), 0) AS n FROM readers`);
  let lastReader = 0;

  const nextReader = (before: number): number | undefined =>
    (selectReader.get(lastReader, before) ?? (lastReader > 0 ? selectReader.get(0, before) : undefined))?.id;

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

    /** Last read first. */
    list: (accountId: number, { readAt, postId }: HistoryPosition = FROM_THE_TOP, limit: number): ReadPost[] =>
      selectPage.all(accountId, readAt, postId, accountId, limit),

    /** Up to `limit` entries of an account; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,

    /**
     * Up to `limit` entries older than that (unix ms), fewer only where no more are there; returns how many. Readers
     * take turns: a reader's oldest entries are neighbours in the index by reader, those of many readers in the index
     * by post, so that taking some of each changes few pages of either.
     */
    removeBefore(before: number, limit: number): number {
      for (let removed = 0; ; ) {
        const id = removed < limit ? nextReader(before) : undefined;
        if (id === undefined) return removed;
        removed += removeOld.run({ id, before, limit: Math.min(SHARE, limit - removed) }).changes;
        lastReader = id;
      }
    },

    countBefore: (before: number): number => countBefore.get(0, before)?.n ?? 0,
  };
});

/** Those of the posts that the viewer has read; none for somebody who is not signed in. */
export function readAmong(hub: Hub, viewer: Viewer | null, postIds: number[]): Set<number> {
  return viewer ? readingHistory(hub).readAmong(viewer.id, postIds) : new Set();
}

/** Marks a post as read because its reader opened it. A disk that cannot be written keeps nobody from reading. */
export function noteOpened(hub: Hub, viewer: Viewer, postId: number): void {
  try {
    readingHistory(hub).markRead(viewer.id, postId);
  } catch (error) {
    if (!isStorageTrouble(error)) throw error;
    hub.log.warn('reading not noted', errorFields(error));
  }
}
