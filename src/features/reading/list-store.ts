import type { Db } from '../../platform/db/open-database.ts';
import {
  FOLLOW, FOLLOWS, IN_FOLDER, IN_LIST, MAY_SEE, READING_LIST, SEEN_TITLE, type Asking, type ListedFollow,
} from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { POSTS, type Position } from '../posts/post-store.ts';
import { joinSource } from '../sources/source-store.ts';
import { STANDS, STANDS_MUTED, STANDS_STARRED } from './double-store.ts';
import { notMuted } from './muted-store.ts';

/** Number at which pages stop counting posts; they then show "999+". */
export const COUNT_MAX = 1_000;

/** Maximum posts above a high-water mark that the first count examines; readers rarely have more unread posts. */
export const LATER_MAX = 4_000;

/** A followed source. `readUpTo`: its high-water mark. `lastId`: the newest post's id; null without posts. */
export type FollowedSource = { sourceId: number; readUpTo: number; lastId: number | null };

/**
 * Numbers of a source's posts. After `readUpTo`: `arrived` (up to LATER_MAX), `readAfter` (read). Up to it:
 * `unreadBefore`. Of all: `muted` (unread ones).
 */
type CountRow = Pick<ListedFollow, 'sourceId' | 'folder' | 'notify' | 'hideGlobally' | 'readUpTo'
  | 'title' | 'state'> & {
  arrived: number; readAfter: number; unreadBefore: number; muted: number;
};

/** `since`: unix ms. `folder`: null for lists of all sources. `joined`: 1 to show one post per link if wanted. */
type ListParams = Asking & { folder: string | null; since: number; joined: number };
export type PageParams = ListParams & Position & { limit: number };
type Bound = { boundAt: number; boundId: number };
type SourceParams = PageParams & Bound & { sourceId: number; readUpTo: number };
export type ScanParams = PageParams & { scanned: number };
type ArrivedParams = Omit<ListParams, 'since'> & { newest: number; scanned: number };
type StarsParams = Omit<ListParams, 'since'> & { folder: null; limit: number };
type MemberParams = ListParams & { limit: number };

/** SQL: whether the post `p` with the mark `m` is in a list of unread posts: unread, or marked since `@since`. */
export function isUnread(readUpTo: string): string {
  return `CASE WHEN m.is_read IS NULL THEN p.id > ${readUpTo} ELSE m.is_read = 0 OR m.marked_at >= @since END`;
}

const EXCEPTIONS = `
  SELECT source_id, post_id FROM read_marks WHERE account_id = @viewerId AND is_read = 0
  UNION SELECT source_id, post_id FROM read_marks INDEXED BY read_marks_marked
   WHERE account_id = @viewerId AND marked_at >= @since`;

const STARRED = '(SELECT post_id AS id, source_id, published_at FROM stars WHERE account_id = @viewerId)';

/** In most of this SQL, `p` is a post, `s` its source, `f` the viewer's follow, `m` the read-state exception. */
export const lists = store(({ db }) => {
  const selectAfter = db.prepare<[{ sourceId: number; postId: number; limit: number }], { n: number }>(
    'count posts of a source after a post', `
    SELECT COUNT(*) AS n
      FROM (SELECT 1 FROM ${POSTS} p WHERE p.source_id = @sourceId AND p.id > @postId LIMIT @limit)`);
  const selectLater = db.prepare<[{ sources: string; limit: number }], { sourceId: number; n: number }>(
    'count the posts of sources after the read ones', `
    SELECT s.value ->> 0 AS sourceId, (SELECT COUNT(*) FROM (SELECT 1 FROM ${POSTS} p
             WHERE p.source_id = s.value ->> 0 AND p.id > s.value ->> 1 LIMIT @limit)) AS n
      FROM json_each(@sources) s`);
  const selectArrived = db.prepare<[ArrivedParams], { n: number }>('count the posts that arrived later', `
    SELECT COUNT(*) AS n FROM (SELECT id, source_id FROM ${POSTS} WHERE id > @newest ORDER BY id LIMIT @scanned) p
      CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
      CROSS ${joinSource('p.source_id')}
     WHERE ${IN_LIST} AND ${MAY_SEE} AND ${STANDS}
       AND ${notMuted('p.source_id', 'p.id')}`);
  const selectStars = db.prepare<[StarsParams], { n: number }>('count stars', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${STARRED} p ${joinSource('p.source_id')}
     WHERE ${MAY_SEE} AND ${STANDS_STARRED} AND ${notMuted('p.source_id', 'p.id')} LIMIT @limit)`);
  return {
    older: { ...prepareScan(db, '<', 'DESC'), ...prepareList(db, '<', '>', 'DESC') },
    newer: { ...prepareScan(db, '>', 'ASC'), ...prepareList(db, '>', '<', 'ASC') },
    members: prepareMembers(db),

    sources: db.prepare<[ListParams], FollowedSource>('read the sources of a reading list', `
      SELECT f.source_id AS sourceId, f.read_up_to AS readUpTo,
             (SELECT MAX(id) FROM ${POSTS} WHERE source_id = f.source_id) AS lastId
      ${READING_LIST} AND ${IN_LIST}`),
    exceptionSources: db.prepare<[ListParams], { id: number }>('sources with exceptions', `
      SELECT DISTINCT m.source_id AS id FROM read_marks m WHERE m.account_id = @viewerId AND m.is_read = 0
      UNION SELECT m.source_id FROM read_marks m INDEXED BY read_marks_marked
       WHERE m.account_id = @viewerId AND m.marked_at >= @since`),
    counts: db.prepare<[Asking & { folder: null }], CountRow>('unread counts', `
      SELECT ${FOLLOW}, ${SEEN_TITLE} AS title, s.state,
             (SELECT COUNT(*) FROM (SELECT 1 FROM ${POSTS} p
               WHERE p.source_id = f.source_id AND p.id > f.read_up_to LIMIT ${LATER_MAX})) AS arrived,
             -- All marks less those as unread: indexes alone answer both.
             (SELECT COUNT(*) FROM read_marks m WHERE m.account_id = f.account_id AND m.source_id = f.source_id
                 AND m.post_id > f.read_up_to)
             - (SELECT COUNT(*) FROM read_marks m WHERE m.account_id = f.account_id AND m.source_id = f.source_id
                   AND m.post_id > f.read_up_to AND m.is_read = 0) AS readAfter,
             (SELECT COUNT(*) FROM read_marks m WHERE m.account_id = f.account_id AND m.source_id = f.source_id
                 AND m.post_id <= f.read_up_to AND m.is_read = 0) AS unreadBefore,
             (SELECT COUNT(DISTINCT u.post_id) FROM muted_posts u
                LEFT JOIN read_marks m
                  ON m.account_id = u.account_id AND m.source_id = u.source_id AND m.post_id = u.post_id
               WHERE u.account_id = f.account_id AND u.source_id = f.source_id
                 AND COALESCE(m.is_read = 0, u.post_id > f.read_up_to)) AS muted
      ${READING_LIST}`),
    countAfter: (sourceId: number, postId: number, limit: number): number =>
      selectAfter.get({ sourceId, postId, limit: limit === Infinity ? -1 : limit })?.n ?? 0, // SQLite: -1 is no limit
    /** Which sources have fewer posts than `limit` after those up to `readUpTo`. */
    withFewLater(sources: Omit<FollowedSource, 'lastId'>[], limit: number): Set<number> {
      const asked = JSON.stringify(sources.map(({ sourceId, readUpTo }) => [sourceId, readUpTo]));
      const found = selectLater.all({ sources: asked, limit }).filter(({ n }) => n < limit);
      return new Set(found.map(({ sourceId }) => sourceId));
    },
    countArrived: (list: ArrivedParams): number => selectArrived.get(list)?.n ?? 0,
    countStars: (viewer: Asking, limit: number): number =>
      selectStars.get({ ...viewer, joined: 1, folder: null, limit })?.n ?? 0,
  };
});

function prepareScan(db: Db, onwards: '<' | '>', order: 'ASC' | 'DESC') {
  return {
    scanAll: db.prepare<[ScanParams], Position>('read the posts of a reading list', `
      SELECT p.id, p.published_at AS publishedAt
        FROM (SELECT id, published_at, source_id FROM ${POSTS} INDEXED BY posts_newest
               WHERE (published_at, id) ${onwards} (@publishedAt, @id)
               ORDER BY published_at ${order}, id ${order} LIMIT @scanned) p
        CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
        CROSS ${joinSource('p.source_id')}
       WHERE ${IN_LIST} AND ${MAY_SEE} AND ${STANDS} AND ${notMuted('p.source_id', 'p.id')} LIMIT @limit`),
    scanUnread: db.prepare<[ScanParams], Position>('unread posts', `
      SELECT p.id, p.published_at AS publishedAt
        FROM (SELECT id, published_at, source_id FROM ${POSTS} INDEXED BY posts_newest
               WHERE (published_at, id) ${onwards} (@publishedAt, @id)
               ORDER BY published_at ${order}, id ${order} LIMIT @scanned) p
        CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
        CROSS ${joinSource('p.source_id')}
        LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
       WHERE ${IN_LIST} AND ${MAY_SEE} AND ${isUnread('f.read_up_to')} AND ${STANDS}
         AND ${notMuted('p.source_id', 'p.id')} LIMIT @limit`),
    scanEnd: db.prepare<[Position & { last: number }], Position>('find the end of a scan of posts', `
      SELECT id, published_at AS publishedAt FROM ${POSTS} INDEXED BY posts_newest
       WHERE (published_at, id) ${onwards} (@publishedAt, @id)
       ORDER BY published_at ${order}, id ${order} LIMIT 1 OFFSET @last`),
  };
}

function prepareList(db: Db, onwards: '<' | '>', back: '<' | '>', order: 'ASC' | 'DESC') {
  return {
    ofSource: db.prepare<[SourceParams], Position>('read the posts of one source', `
      SELECT p.id, p.published_at AS publishedAt FROM ${POSTS} p WHERE p.source_id = @sourceId
         AND ${notMuted('@sourceId', 'p.id')}
         AND (p.published_at, p.id) ${onwards} (@publishedAt, @id)
         AND (p.published_at, p.id) ${back} (@boundAt, @boundId) AND ${STANDS}
       ORDER BY p.published_at ${order}, p.id ${order} LIMIT @limit`),
    unreadOfSource: db.prepare<[SourceParams], Position>('read the unread posts of a source', `
      SELECT p.id, p.published_at AS publishedAt FROM ${POSTS} p
        LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
       WHERE p.source_id = @sourceId AND ${isUnread('@readUpTo')} AND ${notMuted('@sourceId', 'p.id')}
         AND (p.published_at, p.id) ${onwards} (@publishedAt, @id)
         AND (p.published_at, p.id) ${back} (@boundAt, @boundId) AND ${STANDS}
       ORDER BY p.published_at ${order}, p.id ${order} LIMIT @limit`),
    unreadOfFew: db.prepare<[SourceParams], Position>('read the unread posts of a source with few new posts', `
      SELECT p.id, p.published_at AS publishedAt FROM (
        SELECT p.id, p.published_at FROM ${POSTS} p INDEXED BY posts_arrival
          LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
         WHERE p.source_id = @sourceId AND p.id > @readUpTo AND ${isUnread('@readUpTo')}
        UNION ALL SELECT p.id, p.published_at FROM read_marks m CROSS JOIN ${POSTS} p ON p.id = m.post_id
         WHERE m.account_id = @viewerId AND m.source_id = @sourceId AND m.post_id <= @readUpTo
           AND (m.is_read = 0 OR m.marked_at >= @since)) p
       WHERE (p.published_at, p.id) ${onwards} (@publishedAt, @id)
         AND (p.published_at, p.id) ${back} (@boundAt, @boundId) AND ${STANDS} AND ${notMuted('@sourceId', 'p.id')}
       ORDER BY p.published_at ${order}, p.id ${order} LIMIT @limit`),
    exceptions: db.prepare<[PageParams & Bound], Position>('read the posts marked as unread, or as read since a time', `
      SELECT p.id, p.published_at AS publishedAt FROM (${EXCEPTIONS}) m
        CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = m.source_id
        CROSS ${joinSource('m.source_id')}
        CROSS JOIN ${POSTS} p INDEXED BY posts_arrival ON p.source_id = m.source_id AND p.id = m.post_id
       WHERE ${IN_LIST} AND ${MAY_SEE} AND ${notMuted('p.source_id', 'p.id')}
         AND (p.published_at, p.id) ${onwards} (@publishedAt, @id)
         AND (p.published_at, p.id) ${back} (@boundAt, @boundId) AND ${STANDS}
       ORDER BY p.published_at ${order}, p.id ${order} LIMIT @limit`),
    starred: db.prepare<[PageParams & { sourceId: number }], Position>('starred posts', `
      SELECT p.id, p.published_at AS publishedAt FROM ${STARRED} p ${joinSource('p.source_id')}
        LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
       WHERE ${MAY_SEE} AND (@sourceId = 0 OR p.source_id = @sourceId) AND ${IN_FOLDER} AND ${STANDS_STARRED}
         AND ${notMuted('p.source_id', 'p.id')}
         AND (p.published_at, p.id) ${onwards} (@publishedAt, @id)
       ORDER BY p.published_at ${order}, p.id ${order} LIMIT @limit`),
    muted: db.prepare<[PageParams & { sourceId: number }], Position>('muted posts', `
      SELECT DISTINCT p.id, p.published_at AS publishedAt
        FROM (SELECT post_id AS id, source_id, published_at FROM muted_posts WHERE account_id = @viewerId) p
        ${joinSource('p.source_id')} LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
       WHERE (@sourceId = 0 OR p.source_id = @sourceId) AND ${MAY_SEE} AND ${IN_FOLDER} AND ${STANDS_MUTED}
         AND (p.published_at, p.id) ${onwards} (@publishedAt, @id)
       ORDER BY p.published_at ${order}, p.id ${order} LIMIT @limit`),
  };
}

function prepareMembers(db: Db) {
  return {
    all: db.prepare<[MemberParams], Position>('all posts of followed sources', `
      SELECT p.id, p.published_at AS publishedAt FROM (SELECT f.source_id ${READING_LIST} AND ${IN_LIST}) f
        CROSS JOIN ${POSTS} p INDEXED BY posts_arrival ON p.source_id = f.source_id
       WHERE ${notMuted('p.source_id', 'p.id')} LIMIT @limit`),
    unread: db.prepare<[MemberParams], Position>('all unread posts', `
      SELECT p.id, p.published_at AS publishedAt
        FROM (SELECT f.source_id, f.read_up_to ${READING_LIST} AND ${IN_LIST}) f
        CROSS JOIN ${POSTS} p INDEXED BY posts_arrival ON p.source_id = f.source_id AND p.id > f.read_up_to
        LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
       WHERE ${isUnread('f.read_up_to')} AND ${notMuted('p.source_id', 'p.id')}
      UNION ALL SELECT p.id, p.published_at FROM (${EXCEPTIONS}) m
        CROSS JOIN (SELECT f.source_id, f.read_up_to ${READING_LIST} AND ${IN_LIST}) f
           ON f.source_id = m.source_id AND m.post_id <= f.read_up_to
        CROSS JOIN ${POSTS} p INDEXED BY posts_arrival ON p.source_id = m.source_id AND p.id = m.post_id
       WHERE ${notMuted('m.source_id', 'm.post_id')} LIMIT @limit`),
  };
}
