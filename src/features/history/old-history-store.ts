import { store } from '../hub/hub.ts';


/** Entries of one reader before it is the next one's turn. */
const SHARE = 50;

export type OldHistoryStore = ReturnType<typeof oldHistory>;

/**
 * Removes old reading history in blocks: some entries of one reader, some of the next, and so around. The oldest of one
 * reader lie side by side by reader, and those of many readers side by side by post, so that a block of both changes
 * few pages of either index; as many entries of one reader alone would change a page of the posts' index each.
 */
export const oldHistory = store(({ db }) => {
  const selectReader = db.prepare<[number, number], { id: number }>('account with old reading history', `
    SELECT id FROM accounts WHERE id > ?
       AND EXISTS (SELECT 1 FROM reading_history WHERE account_id = accounts.id AND read_at < ?) ORDER BY id LIMIT 1`);
  const remove = db.prepare<[{ id: number; before: number; limit: number }]>('remove old reading history', `
    DELETE FROM reading_history WHERE account_id = @id AND post_id IN
      (SELECT post_id FROM reading_history
        WHERE account_id = @id AND read_at < @before ORDER BY read_at LIMIT @limit)`);
  const countBefore = db.prepare<[number], { n: number }>('count old reading history', `
    SELECT COALESCE(SUM(
      (SELECT COUNT(*) FROM reading_history WHERE account_id = accounts.id AND read_at < ?)), 0) AS n FROM accounts`);
  let last = 0; // the reader whose turn it was

  const nextReader = (before: number): number | undefined =>
    (selectReader.get(last, before) ?? (last > 0 ? selectReader.get(0, before) : undefined))?.id;

  return {
    /** Up to `limit` entries older than that (unix ms), fewer only where no more are there. Returns how many. */
    removeBefore(before: number, limit: number): number {
      for (let removed = 0; ; ) {
        const id = removed < limit ? nextReader(before) : undefined;
        if (id === undefined) return removed;
        removed += remove.run({ id, before, limit: Math.min(SHARE, limit - removed) }).changes;
        last = id;
      }
    },

    countBefore: (before: number): number => countBefore.get(before)?.n ?? 0,
  };
});
