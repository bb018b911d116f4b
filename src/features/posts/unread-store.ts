import type { Db, Statement } from '../../platform/db/open-database.ts';
import { store } from '../hub/hub.ts';
import {
  AFTER, FROM_THE_TOP, NEWEST_FIRST, newestFirst, SELECT, type Position, type Post,
} from './post-columns.ts';
import { posts, type PostWithAttachments } from './post-store.ts';

/** With `sourceId` all posts of that source, else public ones and the viewer's own. */
export type UnreadQuery = { viewerId: number; sourceId?: number; after?: Position; limit: number };

/** `reached`: posts were looked through as far as this one, and more may follow; null where `posts` is all there is. */
type Found<Row> = { posts: Row[]; reached: Position | null };

/**
 * How many posts are looked through for one page, first few and then more: about 15 ms. Somebody may have read all of
 * them, and no index knows what one person has not read.
 */
const LOOKS = [500, 20_000];

const UNTIL = '(p.published_at, p.id) >= (?, ?)';
const UNREAD = 'NOT EXISTS (SELECT 1 FROM reading_history h WHERE h.account_id = ? AND h.post_id = p.id)';
const TO_THE_END: Position = { publishedAt: Number.MIN_SAFE_INTEGER, id: 0 };

type Numbers = number[];

/** The posts for which a condition holds with the numbers of `key`, in order. */
type Listing = {
  key: Numbers;
  /** The position of the `size`th after a position. */
  last: Statement<Numbers, Position>;
  /** Those between two positions that the viewer has not read. */
  unread: Statement<Numbers, Post>;
};

/** Posts that a person has not read, newest first. Looking for them is bounded, so that a page may come out short. */
export const unreadPosts = store((hub) => {
  const { withAttachments } = posts(hub);
  const open = prepareListing(hub.db, 'public', 'p.is_public = 1');
  const own = prepareListing(hub.db, 'private', 'p.is_public = 0 AND p.owner_id = ?');
  const ofSource = prepareListing(hub.db, 'source’s', 'p.source_id = ?');

  return {
    /** One page, for whose source the caller checks who may see it. */
    page({ viewerId, sourceId, after = FROM_THE_TOP, limit }: UnreadQuery): Found<PostWithAttachments> {
      const listings = sourceId === undefined
        ? [{ ...open, key: [] }, { ...own, key: [viewerId] }]
        : [{ ...ofSource, key: [sourceId] }];
      const found = listings.map((listing) => look(listing, viewerId, after, limit));
      const all = found.flatMap((one) => one.posts).sort(newestFirst).slice(0, limit);
      // Beyond the first end of a look something may be missing.
      const [reached] = found.flatMap((one) => one.reached ?? []).sort(newestFirst);
      const sure = reached ? all.filter((post) => newestFirst(post, reached) <= 0) : all;
      return { posts: withAttachments(sure), reached: reached && sure.length < limit ? reached : null };
    },
  };
});

function look({ key, last, unread }: Listing, viewerId: number, after: Position, limit: number): Found<Post> {
  const found: Post[] = [];
  let from = after;
  for (const size of LOOKS) {
    const until = last.get(...key, from.publishedAt, from.id, size - 1);
    const { publishedAt, id } = until ?? TO_THE_END;
    found.push(...unread.all(...key, from.publishedAt, from.id, publishedAt, id, viewerId, limit - found.length));
    if (!until || found.length >= limit) return { posts: found, reached: null };
    from = until;
  }
  return { posts: found, reached: from };
}

function prepareListing(db: Db, name: string, condition: string): Omit<Listing, 'key'> {
  return {
    last: db.prepare<Numbers, Position>(`end of ${name} posts looked through`, `
      SELECT p.published_at AS publishedAt, p.id FROM posts p WHERE ${condition} AND ${AFTER}
       ORDER BY p.published_at DESC, p.id DESC LIMIT 1 OFFSET ?`),
    unread: db.prepare<Numbers, Post>(`unread ${name} posts`,
      `${SELECT} WHERE ${condition} AND ${AFTER} AND ${UNTIL} AND ${UNREAD} ${NEWEST_FIRST}`),
  };
}
