import { store } from '../hub/hub.ts';
import { LINK_ROWS } from '../posts/link-store.ts';
import { POSTS } from '../posts/post-store.ts';

/** An account's mark (`read`: 1, 0, or null for none) and star (null: none) of a post that is a draft now. */
export type WithdrawnState = { draftId: number; read: number | null; starredAt: number | null };

/** The marks and stars of posts that were taken back, until they are published again or their drafts are removed. */
export const withdrawnStates = store(({ db }) => {
  const keep = db.prepare<[{ draftId: number; postId: number }]>('keep the states of a withdrawn post', `
    INSERT INTO withdrawn_states (draft_id, account_id, is_read, marked_at, starred_at)
    SELECT @draftId, account_id, iif(is_unread = 0 OR marked_at IS NOT NULL, NOT is_unread, NULL), marked_at, starred_at
      FROM entries
     WHERE post_id = @postId AND (is_unread = 0 OR marked_at IS NOT NULL OR starred_at IS NOT NULL)`);
  // The first followers of the source have an entry again by now.
  const bringBack = db.prepare<[{ draftId: number; postId: number }]>('bring back the states of a post', `
    INSERT INTO entries (account_id, post_id, source_id, published_at, place, row_id, is_unread, marked_at, starred_at)
    SELECT w.account_id, p.id, p.source_id, p.published_at, 0, l.row_id, w.is_read IS NOT 1, w.marked_at, w.starred_at
      FROM withdrawn_states w JOIN ${POSTS} p ON p.id = @postId LEFT JOIN ${LINK_ROWS} l ON l.post_id = p.id
     WHERE w.draft_id = @draftId
    ON CONFLICT (account_id, post_id) DO UPDATE SET
      is_unread = iif(excluded.is_unread = 0 OR excluded.marked_at IS NOT NULL, excluded.is_unread, is_unread),
      marked_at = COALESCE(excluded.marked_at, marked_at), starred_at = COALESCE(excluded.starred_at, starred_at)`);
  const remove = db.prepare<[number]>('remove the states of a withdrawn post',
    'DELETE FROM withdrawn_states WHERE draft_id = ?');

  return {
    keep: (draftId: number, postId: number): void => void keep.run({ draftId, postId }),
    bringBack(draftId: number, postId: number): void {
      bringBack.run({ draftId, postId });
      remove.run(draftId);
    },
    listOf: db.prepare<[accountId: number], WithdrawnState>('states of withdrawn posts of an account', `
      SELECT draft_id AS draftId, is_read AS read, starred_at AS starredAt FROM withdrawn_states
       WHERE account_id = ? ORDER BY draft_id`).all,
  };
});
