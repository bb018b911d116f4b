import { store } from '../hub/hub.ts';

/**
 * Bytes of contents after which one removal takes no further post. SQLite overwrites what it deletes, so the log of the
 * database grows by as much, and half of that again (measured).
 */
const REMOVED_BYTES = 512 * 1024;

/** The removal of all posts of a source that goes away itself: they leave no tombstones. */
export const postsOfSource = store(({ db }) => {
  const remove = db.prepare<[number, number, number]>('delete posts of source', `
    DELETE FROM posts WHERE id IN
      (SELECT id FROM (SELECT id, SUM(length) OVER (ORDER BY id) - length AS before
                         FROM (SELECT id, octet_length(content_html) AS length FROM posts WHERE source_id = ? LIMIT ?))
        WHERE before < ?)`);
  const selectAny = db.prepare<[number], { id: number }>('any post of source',
    'SELECT id FROM posts WHERE source_id = ? LIMIT 1');

  return {
    /** Deletes up to `limit` posts, fewer where they are long, and says how many and whether others are left. */
    remove(sourceId: number, limit: number): { removed: number; isMore: boolean } {
      const { changes } = remove.run(sourceId, limit, REMOVED_BYTES);
      return { removed: changes, isMore: selectAny.get(sourceId) !== undefined };
    },
  };
});
