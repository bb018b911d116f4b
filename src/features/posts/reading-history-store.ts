import { isStorageTrouble, type Db, type Statement } from '../../platform/db/open-database.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { errorFields } from '../../platform/log.ts';
import { store, type Hub } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';
import {
  AFTER, FROM_THE_TOP, IN_ITS_LIST, NEWEST_FIRST, newestFirst, SELECT_POSTS, type Position, type Post,
} from './post-store.ts';

/** A post that somebody has read and may still see. */
export type ReadPost = { postId: number; title: string; sourceId: number; sourceTitle: string; readAt: number };

/** Where a page of the history begins: after this entry, last read first. */
type HistoryPosition = { readAt: number; postId: number };

type OldEntries = { id: number; before: number; limit: number };

const FROM_LAST_READ: HistoryPosition = { readAt: Number.MAX_SAFE_INTEGER, postId: Number.MAX_SAFE_INTEGER };

/** Old entries of one reader that are removed before it is the next reader's turn. */
const SHARE = 50;

/** Readers after one of them. Each is found by one step in the index: there are few readers and many entries. */
const READERS = `
  WITH RECURSIVE readers (id) AS (
    SELECT MIN(account_id) FROM reading_history WHERE account_id > ?
    UNION ALL SELECT (SELECT MIN(account_id) FROM reading_history WHERE account_id > readers.id) FROM readers
     WHERE id IS NOT NULL)`;

/** Which posts each person has read. Asking never writes, and a post is noted once however often it is opened. */
export const readingHistory = store(({ db, clock }) => {
  const select = db.prepare<[number, number], { at: number }>('whether post is read',
    'SELECT read_at AS at FROM reading_history WHERE account_id = ? AND post_id = ?');
  const selectAmong = db.prepare<[number, string], { id: number }>('which posts are read', `
    SELECT post_id AS id FROM reading_history WHERE account_id = ? AND post_id IN (SELECT value FROM json_each(?))`);
  const insert = db.prepare<[number, number, number]>('mark post read',
    'INSERT INTO reading_history (account_id, post_id, read_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const remove = db.prepare<[number, number]>('mark post unread',
    'DELETE FROM reading_history WHERE account_id = ? AND post_id = ?');
  const selectPage = db.prepare<[number, number, number, number, number], ReadPost>('reading history', `
    SELECT h.post_id AS postId, p.title, p.source_id AS sourceId, s.title AS sourceTitle, h.read_at AS readAt
      FROM reading_history h JOIN posts p ON p.id = h.post_id ${joinSource('p.source_id')}
     WHERE h.account_id = ? AND (h.read_at, h.post_id) < (?, ?) AND (s.visibility = 'public' OR s.owner_id = ?)
     ORDER BY h.read_at DESC, h.post_id DESC LIMIT ?`);
  const removeOf = db.prepare<[number, number]>('remove reading history of account', `
    DELETE FROM reading_history WHERE (account_id, post_id) IN
      (SELECT account_id, post_id FROM reading_history WHERE account_id = ? LIMIT ?)`);

  const selectReader = db.prepare<[number, number], { id: number }>('account with old reading history', `
    ${READERS} SELECT id FROM readers
     WHERE EXISTS (SELECT 1 FROM reading_history WHERE account_id = readers.id AND read_at < ?) LIMIT 1`);
  const removeOld = db.prepare<[OldEntries]>('remove old reading history', `
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
    /** Those of the posts that the account has read. */
    readAmong: (accountId: number, postIds: number[]): Set<number> =>
      new Set(selectAmong.all(accountId, JSON.stringify(postIds)).map(({ id }) => id)),

    markRead(accountId: number, postId: number): void {
      if (select.get(accountId, postId) === undefined) insert.run(accountId, postId, clock());
    },

    markUnread(accountId: number, postId: number): void {
      if (select.get(accountId, postId) !== undefined) remove.run(accountId, postId);
    },

    /** Last read first. */
    list: (accountId: number, { readAt, postId }: HistoryPosition = FROM_LAST_READ, limit: number): ReadPost[] =>
      selectPage.all(accountId, readAt, postId, accountId, limit),
    /** Up to `limit` entries of an account; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,

    /**
     * Up to `limit` entries older than that (unix ms), fewer only where no more are there; returns how many. Readers
     * take turns: a reader's oldest entries are neighbours in the index by reader, those of many readers in the index
     * by post, so that taking some of each changes few pages of either.
     */
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

/** Those of the posts that the viewer has read; none for somebody who is not signed in. */
export function readAmong(hub: Hub, viewer: Viewer | null, postIds: number[]): Set<number> {
  return viewer ? readingHistory(hub).readAmong(viewer.id, postIds) : new Set();
}

/** Marks a post as read because its reader opened it. A disk that cannot be written keeps nobody from reading. */
export function noteOpened(hub: Hub, viewer: Viewer, postId: number): void {
  try {
    readingHistory(hub).markRead(viewer.id, postId);
  } catch (error) {
    if (!isStorageTrouble(error)) throw error;
    hub.log.warn('reading not recorded', errorFields(error));
  }
}

/** With `sourceId` all posts of that source, else public ones and the viewer's own. */
type UnreadQuery = { viewerId: number; sourceId?: number; after?: Position; limit: number };

/** `reached`: the last post that was looked at, where more may follow; null where `posts` is all there is. */
type Found = { posts: Post[]; reached: Position | null };

/**
 * How many posts are looked through for one page, first few and then more: about 15 ms. Somebody may have read all of
 * them, and no index knows what one person has not read.
 */
const LOOKS = [500, 20_000];

const UNTIL = '(p.published_at, p.id) >= (?, ?)';
const UNREAD = 'NOT EXISTS (SELECT 1 FROM reading_history h WHERE h.account_id = ? AND h.post_id = p.id)';
const TO_THE_END: Position = { publishedAt: Number.MIN_SAFE_INTEGER, id: 0 };

type Numbers = number[];

/** The posts for which a condition holds, with the numbers of `key` for its parameters, newest first. */
type Listing = {
  key: Numbers;
  /** The position of the `size`th after a position. */
  last: Statement<Numbers, Position>;
  /** Those between two positions that the viewer has not read. */
  unread: Statement<Numbers, Post>;
};

/** Posts that a person has not read, newest first. Looking for them is bounded, so that a page may come out short. */
export const unreadPosts = store((hub) => {
  const open = prepareListing(hub.db, 'public', 'p.is_public = 1');
  const own = prepareListing(hub.db, 'private', 'p.is_public = 0 AND p.owner_id = ?');
  const ofSource = prepareListing(hub.db, 'source’s', 'p.source_id = ?');

  return {
    /** One page, for whose source the caller checks who may see it. */
    page({ viewerId, sourceId, after = FROM_THE_TOP, limit }: UnreadQuery): Found {
      const listings = sourceId === undefined
        ? [{ ...open, key: [] }, { ...own, key: [viewerId] }]
        : [{ ...ofSource, key: [sourceId] }];
      const found = listings.map((listing) => look(listing, viewerId, after, limit));
      const all = found.flatMap((one) => one.posts).sort(newestFirst).slice(0, limit);
      // Beyond the first end of a look something may be missing.
      const [reached] = found.flatMap((one) => one.reached ?? []).sort(newestFirst);
      const sure = reached ? all.filter((post) => newestFirst(post, reached) <= 0) : all;
      return { posts: sure, reached: reached && sure.length < limit ? reached : null };
    },
  };
});

function look({ key, last, unread }: Listing, viewerId: number, after: Position, limit: number): Found {
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
      `${SELECT_POSTS} WHERE ${condition} AND ${IN_ITS_LIST} AND ${AFTER} AND ${UNTIL} AND ${UNREAD}
        ${NEWEST_FIRST}`),
  };
}
