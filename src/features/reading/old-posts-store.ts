import { FOLLOWS } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { feedPosts } from '../posts/feed-posts-store.ts';
import { posts, POSTS } from '../posts/post-store.ts';

type OldPost = {
  id: number; sourceId: number; guid: string; createdAt: number; bytes: number; isKept: number; lists: number;
};

/** Maximum number of old posts that one transaction removes. Removing a post takes about half a millisecond. */
const REMOVED_AT_ONCE = 10;

/** Bytes of removed contents after which a step ends: deleted pages go through the write-ahead log. */
const REMOVED_BYTES = 512 * 1024;

/** Lists that posts have left, after which a step ends: 1,000 take 20 ms. */
const LEFT_LISTS = 1_000;
const FIRST = { createdAt: -1, id: 0 };

/** SQL: somebody has starred the post `p`, or has yet to read it, or has marked it as unread. */
const IS_KEPT = `EXISTS (
  SELECT 1 FROM entries e WHERE e.post_id = p.id AND (e.starred_at IS NOT NULL
    OR (e.is_unread = 1 AND (e.marked_at IS NOT NULL OR EXISTS (
         SELECT 1 FROM ${FOLLOWS} f WHERE f.account_id = e.account_id AND f.source_id = e.source_id)))))`;

/** Posts that are no longer in their feed, in the order of arrival. */
export const oldPosts = store((hub) => {
  const { db } = hub;
  const select = db.prepare<[number, number, number, number], OldPost>('old posts', `
    SELECT p.id, p.source_id AS sourceId, p.guid, p.created_at AS createdAt,
           octet_length(p.content_html) AS bytes, ${IS_KEPT} AS isKept,
           (SELECT COUNT(*) FROM entries e WHERE e.post_id = p.id) AS lists
      FROM ${POSTS} p INDEXED BY posts_left
     WHERE p.left_at IS NOT NULL AND p.created_at < ? AND (p.created_at, p.id) > (?, ?)
     ORDER BY p.created_at, p.id LIMIT ?`);
  let reached = FIRST;

  return {
    /** Leaves tombstones of removed posts. `before`: unix ms. `looked`: `limit` if old posts may be left. */
    removeBefore(before: number, limit: number): { removed: number; looked: number } {
      const next = select.all(before, reached.createdAt, reached.id, limit);
      let [removed, removedBytes, left] = [0, 0, 0];
      for (const { id, sourceId, guid, createdAt, bytes, isKept, lists } of next) {
        const isEnough = removed === REMOVED_AT_ONCE || removedBytes > REMOVED_BYTES || left > LEFT_LISTS;
        if (isEnough) return { removed, looked: limit };
        reached = { createdAt, id };
        if (isKept === 1) continue;
        feedPosts(hub).rememberDeleted(sourceId, guid);
        posts(hub).remove(sourceId, guid);
        removed++;
        removedBytes += bytes;
        left += lists;
      }
      if (next.length < limit) reached = FIRST;
      return { removed, looked: next.length };
    },

    countBefore: db.prepare<[before: number], { n: number }>('count old posts',
      `SELECT COUNT(*) AS n FROM ${POSTS} p INDEXED BY posts_left
        WHERE p.left_at IS NOT NULL AND p.created_at < ? AND NOT ${IS_KEPT}`).count,
  };
});
