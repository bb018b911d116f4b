import { store } from '../hub/hub.ts';
import { POSTS } from '../posts/post-store.ts';

/** An account's mark (`read`: 1, 0, or null for none) and star (null: none) of a post that is a draft now. */
export type WithdrawnState = { draftId: number; read: number | null; starredAt: number | null };

/** The marks and stars of posts that were taken back, until they are published again or their drafts are removed. */
export const withdrawnStates = store(({ db }) => {
  const keep = db.prepare<[{ draftId: number; postId: number }]>('keep the states of a withdrawn post', `
    INSERT INTO withdrawn_states (draft_id, account_id, is_read, marked_at, starred_at)
    SELECT @draftId, a.id, m.is_read, m.marked_at, t.starred_at
      FROM (SELECT account_id AS id FROM read_marks WHERE post_id = @postId
             UNION SELECT account_id FROM stars WHERE post_id = @postId) a
      LEFT JOIN read_marks m ON m.account_id = a.id AND m.post_id = @postId
      LEFT JOIN stars t ON t.account_id = a.id AND t.post_id = @postId`);
  const bringMarks = db.prepare<[{ draftId: number; postId: number }]>('bring back the marks of a post', `
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
    SELECT w.account_id, p.source_id, p.id, w.is_read, w.marked_at
      FROM withdrawn_states w JOIN ${POSTS} p ON p.id = @postId
     WHERE w.draft_id = @draftId AND w.is_read IS NOT NULL ON CONFLICT DO NOTHING`);
  const bringStars = db.prepare<[{ draftId: number; postId: number }]>('bring back the stars of a post', `
    INSERT INTO stars (account_id, post_id, source_id, published_at, starred_at)
    SELECT w.account_id, p.id, p.source_id, p.published_at, w.starred_at
      FROM withdrawn_states w JOIN ${POSTS} p ON p.id = @postId
     WHERE w.draft_id = @draftId AND w.starred_at IS NOT NULL ON CONFLICT DO NOTHING`);
  const remove = db.prepare<[number]>('remove the states of a withdrawn post',
    'DELETE FROM withdrawn_states WHERE draft_id = ?');
  const selectOf = db.prepare<[number], WithdrawnState>('states of withdrawn posts of an account', `
    SELECT draft_id AS draftId, is_read AS read, starred_at AS starredAt FROM withdrawn_states
     WHERE account_id = ? ORDER BY draft_id`);

  return {
    keep: (draftId: number, postId: number): void => void keep.run({ draftId, postId }),
    bringBack(draftId: number, postId: number): void {
      bringMarks.run({ draftId, postId });
      bringStars.run({ draftId, postId });
      remove.run(draftId);
    },
    listOf: (accountId: number): WithdrawnState[] => selectOf.all(accountId),
  };
});
