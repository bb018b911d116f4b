import type { Db, Statement } from '../../platform/db/open-database.ts';
import { FROM_THE_TOP, NEWEST_FIRST, newestFirst, SELECT, type Position, type Post } from './post-columns.ts';

/** With `sourceId` all posts of that source, else public ones and the viewer's own. */
export type UnreadQuery = { viewerId: number; sourceId?: number; after?: Position; limit: number };

/** `reached`: posts were looked through as far as this one, and more may follow; null where `posts` is all there is. */
export type UnreadPosts = { posts: Post[]; reached: Position | null };

/**
 * How many posts are looked through for one page, first few and then more: about 15 ms. Somebody may have read all of
 * them, and no index knows what one person has not read.
 */
const LOOKS = [500, 20_000];

const AFTER = '(p.published_at, p.id) < (?, ?)';
const UNTIL = '(p.published_at, p.id) >= (?, ?)';
const UNREAD = 'NOT EXISTS (SELECT 1 FROM reading_history h WHERE h.account_id = ? AND h.post_id = p.id)';
const TO_THE_END: Position = { publishedAt: Number.MIN_SAFE_INTEGER, id: 0 };

type Numbers = number[];
/** Some of all posts, in order: the `size`th after a position, and those of them that are unread. */
type Strand = { key: Numbers; last: Statement<Numbers, Position>; unread: Statement<Numbers, Post> };

export type UnreadStore = ReturnType<typeof createUnreadStore>;

/** Posts that a person has not read, newest first. Looking for them is bounded, so that a page may come out short. */
export function createUnreadStore(db: Db) {
  const open = prepareStrand(db, 'public', 'p.is_public = 1');
  const own = prepareStrand(db, 'private', 'p.is_public = 0 AND p.owner_id = ?');
  const ofSource = prepareStrand(db, 'source’s', 'p.source_id = ?');

  return ({ viewerId, sourceId, after = FROM_THE_TOP, limit }: UnreadQuery): UnreadPosts => {
    const strands = sourceId === undefined
      ? [{ ...open, key: [] }, { ...own, key: [viewerId] }]
      : [{ ...ofSource, key: [sourceId] }];
    const found = strands.map((strand) => look(strand, viewerId, after, limit));
    const posts = found.flatMap((one) => one.posts).sort(newestFirst).slice(0, limit);
    // Beyond the first end of a look something may be missing.
    const [reached] = found.flatMap((one) => one.reached ?? []).sort(newestFirst);
    const sure = reached ? posts.filter((post) => newestFirst(post, reached) <= 0) : posts;
    return { posts: sure, reached: reached && sure.length < limit ? reached : null };
  };
}

function look({ key, last, unread }: Strand, viewerId: number, after: Position, limit: number): UnreadPosts {
  const posts: Post[] = [];
  let from = after;
  for (const size of LOOKS) {
    const until = last.get(...key, from.publishedAt, from.id, size - 1);
    const { publishedAt, id } = until ?? TO_THE_END;
    posts.push(...unread.all(...key, from.publishedAt, from.id, publishedAt, id, viewerId, limit - posts.length));
    if (!until || posts.length >= limit) return { posts, reached: null };
    from = until;
  }
  return { posts, reached: from };
}

function prepareStrand(db: Db, name: string, condition: string): Omit<Strand, 'key'> {
  return {
    last: db.prepare<Numbers, Position>(`end of ${name} posts looked through`, `
      SELECT p.published_at AS publishedAt, p.id FROM posts p WHERE ${condition} AND ${AFTER}
       ORDER BY p.published_at DESC, p.id DESC LIMIT 1 OFFSET ?`),
    unread: db.prepare<Numbers, Post>(`unread ${name} posts`,
      `${SELECT} WHERE ${condition} AND ${AFTER} AND ${UNTIL} AND ${UNREAD} ${NEWEST_FIRST}`),
  };
}
