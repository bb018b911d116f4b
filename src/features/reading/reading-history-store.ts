import type { Viewer } from '../../platform/http/router.ts';
import { asking, FOLLOWS, MAY_SEE, SEEN_TITLE, type Asking } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { POSTS } from '../posts/post-store.ts';
import { joinSource } from '../sources/source-store.ts';

export type ReadPost = { postId: number; title: string; sourceId: number; sourceTitle: string; readAt: number };
type HistoryPosition = { readAt: number; postId: number };

const FROM_LAST_READ: HistoryPosition = { readAt: Number.MAX_SAFE_INTEGER, postId: Number.MAX_SAFE_INTEGER };

/** Maximum number of a reader's old history entries that are removed before the next reader's entries. */
const SHARE = 50;

/** SQL that finds the readers with history entries by one index lookup per reader: readers are few, entries many. */
const READERS = `
  WITH RECURSIVE readers (id) AS (
    SELECT MIN(account_id) FROM reading_history WHERE account_id > ?
    UNION ALL SELECT (SELECT MIN(account_id) FROM reading_history WHERE account_id > readers.id) FROM readers
     WHERE id IS NOT NULL)`;

/** Which posts each person has opened, and when first. */
export const readingHistory = store(({ db, clock }) => {
  const select = db.prepare<[accountId: number, postId: number], { at: number }>('whether a post was opened before',
    'SELECT read_at AS at FROM reading_history WHERE account_id = ? AND post_id = ?');
  const insert = db.prepare<[number, number, number]>('note opened post',
    'INSERT INTO reading_history (account_id, post_id, read_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const remove = db.prepare<[number, number]>('forget opened post',
    'DELETE FROM reading_history WHERE account_id = ? AND post_id = ?');
  const selectPage = db.prepare<[Asking & HistoryPosition & { limit: number }], ReadPost>('reading history', `
    SELECT h.post_id AS postId, p.title, p.source_id AS sourceId, ${SEEN_TITLE} AS sourceTitle, h.read_at AS readAt
      FROM reading_history h JOIN ${POSTS} p ON p.id = h.post_id ${joinSource('p.source_id')}
      LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
     WHERE h.account_id = @viewerId AND (h.read_at, h.post_id) < (@readAt, @postId) AND ${MAY_SEE}
     ORDER BY h.read_at DESC, h.post_id DESC LIMIT @limit`);

  const selectReader = db.prepare<[number, number], { id: number }>('find an account with old reading history', `
    ${READERS} SELECT id FROM readers
     WHERE EXISTS (SELECT 1 FROM reading_history WHERE account_id = readers.id AND read_at < ?) LIMIT 1`);
  const removeOld = db.prepare<[Record<'id' | 'before' | 'limit', number>]>('remove old reading history', `
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
    note(accountId: number, postId: number): void {
      if (select.get(accountId, postId) === undefined) insert.run(accountId, postId, clock());
    },

    has: select.has,
    forget(accountId: number, postId: number): void {
      if (select.get(accountId, postId) !== undefined) remove.run(accountId, postId);
    },

    list: (reader: Pick<Viewer, 'id' | 'role'>, from: HistoryPosition = FROM_LAST_READ, limit: number): ReadPost[] =>
      selectPage.all({ ...asking(reader), readAt: from.readAt, postId: from.postId, limit }),
    removeOf: db.prepare<[accountId: number, limit: number]>('remove the reading history of an account', `
      DELETE FROM reading_history WHERE (account_id, post_id) IN
        (SELECT account_id, post_id FROM reading_history WHERE account_id = ? LIMIT ?)`).change,

    /** Removes history entries before `before` (unix ms), reader by reader, because an index is sorted by reader. */
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
