import { isPresent } from '../accounts/account-store.ts';
import { FOLLOWS } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';
import type { FollowKey } from './settle-store.ts';

type Trimmed = { sourceId: number; postId: number };

/** SQL that finds the accounts with entries by one index lookup for each: accounts are few, entries many. */
const READERS = `WITH RECURSIVE readers (id) AS (
    SELECT MIN(account_id) FROM entries
    UNION ALL SELECT (SELECT MIN(account_id) FROM entries WHERE account_id > readers.id) FROM readers
     WHERE id IS NOT NULL)`;

export const trimming = store(({ db }) => ({
  forget: db.prepare<[{ before: number; limit: number }]>('forget when posts were read', `
    ${READERS}
    UPDATE entries SET marked_at = 0 WHERE (account_id, post_id) IN (
      SELECT e.account_id, e.post_id FROM readers r CROSS JOIN entries e INDEXED BY entries_marked
          ON e.account_id = r.id AND e.marked_at > 0 AND e.marked_at < @before AND e.is_unread = 0
       LIMIT @limit)`).change,
  next: db.prepare<[accountId: number, sourceId: number], FollowKey>('next follow to trim', `
    SELECT account_id AS accountId, source_id AS sourceId FROM ${FOLLOWS}
     WHERE (account_id, source_id) > (?, ?) ORDER BY account_id, source_id LIMIT 1`).get,
  /** Triggers keep the numbers; those of a database that was rescued in part may be wrong. */
  recount: db.prepare<[FollowKey]>('count the unread posts of a follow anew', `
    INSERT INTO unread_counts (account_id, source_id, unread)
    SELECT f.account_id, f.source_id,
           (SELECT COUNT(*) FROM entries e INDEXED BY entries_source_unread WHERE e.account_id = f.account_id
               AND e.source_id = f.source_id AND e.is_unread = 1 AND e.muted_by IS NULL)
      FROM ${FOLLOWS} f ${joinSource('f.source_id')}
     WHERE f.account_id = @accountId AND f.source_id = @sourceId AND ${isPresent('f.account_id')}
    ON CONFLICT DO UPDATE SET unread = excluded.unread WHERE unread <> excluded.unread`).run,
  ofSource: db.prepare<[FollowKey & { beyond: number; limit: number }], Trimmed>('trim the entries of a source', `
    DELETE FROM entries WHERE account_id = @accountId AND post_id IN (
      SELECT post_id FROM entries INDEXED BY entries_source
       WHERE account_id = @accountId AND source_id = @sourceId AND starred_at IS NULL AND muted_by IS NULL
         AND post_id <= @beyond
       LIMIT @limit) RETURNING source_id AS sourceId, post_id AS postId`).all,
  ofAccount: db.prepare<[Omit<FollowKey, 'sourceId'> & { most: number; limit: number }], Trimmed>(
    'trim the entries of an account', `
    DELETE FROM entries WHERE account_id = @accountId AND post_id IN (
      SELECT post_id FROM entries WHERE account_id = @accountId AND starred_at IS NULL AND muted_by IS NULL
       ORDER BY post_id
       LIMIT min(@limit, max(0, (SELECT COUNT(*) FROM entries WHERE account_id = @accountId) - @most)))
    RETURNING source_id AS sourceId, post_id AS postId`).all,
}));
