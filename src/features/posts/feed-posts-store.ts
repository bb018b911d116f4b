import { hash } from 'node:crypto';
import { store } from '../hub/hub.ts';
import type { PreparedPosts } from './ingest-posts.ts';
import type { PreparedPost } from './post-store.ts';

/** A post that its publisher has withdrawn, and the time of the withdrawal (unix ms; null if unknown). */
export type DeletedPost = { guid: string; deletedAt: number | null };

type Likeness = Pick<PreparedPost, 'url' | 'title' | 'publishedAt'>;
type Renamed = Likeness & { sourceId: number; guid: string };

/** Maximum number of posts marked as gone from their feed in one transaction: about 10 ms. */
const LEAVING_AT_ONCE = 500;

export const feedPosts = store(({ db, clock }) => {
  const selectKnown = db.prepare<[number, string, number, string], { known: number }>('read the known ids of a feed', `
    SELECT EXISTS (SELECT 1 FROM posts WHERE source_id = ? AND guid IN (SELECT value FROM json_each(?)))
        OR EXISTS (SELECT 1 FROM post_tombstones WHERE source_id = ? AND guid IN (SELECT value FROM json_each(?)))
        AS known`);
  const rename = db.prepare<[Renamed]>('give a post another guid', `
    UPDATE posts SET first_guid = COALESCE(first_guid, guid), guid = @guid
     WHERE id = (SELECT CASE COUNT(*) WHEN 1 THEN MIN(id) END FROM posts
                  WHERE source_id = @sourceId AND published_at = @publishedAt AND url = @url AND title = @title)`);
  const selectLikeness = db.prepare<[number, string], Likeness>('likeness of post',
    'SELECT url, title, published_at AS publishedAt FROM posts WHERE source_id = ? AND guid = ?');
  const entomb = db.prepare<[number, string, number, string | null]>('store a tombstone with link, title and date', `
    INSERT INTO post_tombstones (source_id, guid, deleted_at, likeness) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const renameTombstone = db.prepare<[string, number, string]>('give a tombstone another guid', `
    INSERT INTO post_tombstones (source_id, guid, deleted_at, likeness)
    SELECT source_id, ?, deleted_at, likeness FROM post_tombstones WHERE source_id = ? AND likeness = ? LIMIT 1`);
  const setLeft = db.prepare<[number, number, string, number]>('note posts that left the feed', `
    UPDATE posts SET left_at = ? WHERE id IN
      (SELECT id FROM posts INDEXED BY posts_in_feed
        WHERE source_id = ? AND left_at IS NULL AND guid NOT IN (SELECT value FROM json_each(?)) LIMIT ?)`);
  const setReturned = db.prepare<[number, string]>('note posts that are in the feed again', `
    UPDATE posts SET left_at = NULL
     WHERE source_id = ? AND left_at IS NOT NULL AND guid IN (SELECT value FROM json_each(?))`);
  const removeUnchanged = db.prepare<[number, string, number]>('take back post',
    'DELETE FROM posts WHERE source_id = ? AND guid = ? AND updated_at <= ?');

  return {
    /**
     * Handles publishers that give all posts new ids at once. If the hub knows no id of a fetched feed, each stored
     * post, or else each tombstone, takes the id of the fetched post with the same link, title and date. A stored post
     * keeps its id in the hub's own feeds. The caller runs `followNewGuids` in its transaction, before storing posts.
     */
    followNewGuids(sourceId: number, items: PreparedPosts): void {
      const all = items.map(({ prepared }) => prepared);
      const guids = JSON.stringify(all.map(({ guid }) => guid));
      if (all.length === 0 || selectKnown.get(sourceId, guids, sourceId, guids)?.known === 1) return;
      for (const alike of Map.groupBy(all, likenessOf).values()) {
        const [post, another] = alike;
        if (!post?.url || !post.title || post.publishedAt === null || another) continue;
        const { guid, url, givenUrl, title, publishedAt } = post;
        // Earlier versions stored addresses with some of the tracking parameters.
        for (const one of new Set([url, givenUrl])) {
          const like = { url: one, title, publishedAt };
          const { changes } = rename.run({ guid, sourceId, ...like });
          if (changes > 0 || renameTombstone.run(guid, sourceId, likenessOf(like)).changes > 0) break;
        }
      }
    },

    /** Stores a tombstone that also matches the deleted post under another id, in the deletion's transaction. */
    rememberDeleted(sourceId: number, guid: string): void {
      const post = selectLikeness.get(sourceId, guid);
      entomb.run(sourceId, guid, clock(), post ? likenessOf(post) : null);
    },

    /**
     * Records posts of the source that are missing from the feed's latest document, which has these `guids`; at most
     * LEAVING_AT_ONCE posts per call. `noteContained` runs in the transaction that stores the feed's posts.
     */
    noteContained(sourceId: number, guids: string[]): void {
      const all = JSON.stringify(guids);
      setReturned.run(sourceId, all);
      setLeft.run(clock(), sourceId, all, LEAVING_AT_ONCE);
    },

    /** Deletes posts that the publisher withdrew after the posts' last change; returns the number of deleted posts. */
    takeBack: (sourceId: number, deleted: DeletedPost[]): number => deleted
      .map(({ guid, deletedAt }) => removeUnchanged.run(sourceId, guid, deletedAt ?? Number.MAX_SAFE_INTEGER).changes)
      .reduce((sum, one) => sum + one, 0),
  };
});

function likenessOf({ url, title, publishedAt }: Likeness): string {
  return hash('sha256', JSON.stringify([url, title, publishedAt]));
}
