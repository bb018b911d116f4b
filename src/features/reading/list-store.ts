import type { Db, Statement } from '../../platform/db/open-database.ts';
import {
  FOLLOW, IN_FOLDER, joinFollow, MAY_SEE, READING_LIST, type Asking, type ListedFollow,
} from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import {
  ARRIVED, FOUND_PLACES, FOUND_POSTS, FROM_POSTS, JOIN_FOUND, joinArrivals, joinArrived, joinPost, KEYS_OF_POSTS,
  lastOfSource, NEWEST_POSTS,
} from '../posts/posts-in-lists.ts';
import type { Position } from '../posts/post-store.ts';
import { joinSource } from '../sources/source-store.ts';

/** A followed source: up to which post all of it is read, and which one arrived last. */
export type Scope = { sourceId: number; readUpTo: number; lastId: number | null };

/** A followed source, and how much of it may be unread: what arrived after its mark, but for marks of posts. */
type UnreadRow = Pick<ListedFollow, 'sourceId' | 'folder' | 'notify' | 'readUpTo' | 'title' | 'state'> & {
  later: number; readAfter: number; unreadBefore: number;
};

/** Posts next to a position, of a folder or of all. `since` (unix ms): unread are also those that were read after. */
export type Rows = Asking & Position & { folder: string | null; since: number; limit: number };
/** Posts beyond this position are not wanted. */
type Bound = { boundAt: number; boundId: number };
type RowsOfSource = Omit<Rows, 'folder' | 'isAdmin'> & Bound & { sourceId: number; readUpTo: number };
type Arrived = { newest: number; folder: string | null; looks: number };
type Walk = Rows & { looks: number };
type Members = Omit<Rows, keyof Position> & { sourceId: number };
type AmongRows = { expression: string; key: number; ids: string; limit: number };
type FoundRows = Walk & { expression: string; key: number; isUnread: number; isStarred: number; sourceId: number };

/** How many posts that arrived after the mark of a source are counted: hardly any reader has more. */
export const LATER_MAX = 4_000;

const POSITION = 'p.id, p.published_at AS publishedAt';

const JOIN_MARK = `LEFT JOIN read_marks m
  ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id`;

/** SQL: whether the post `p` with its mark `m` is in a list of unread posts. */
function isListed(readUpTo: string): string {
  return `CASE WHEN m.is_read IS NULL THEN p.id > ${readUpTo} ELSE m.is_read = 0 OR m.marked_at >= @since END`;
}

const OF_FOLLOW = 'FROM read_marks m WHERE m.account_id = f.account_id AND m.source_id = f.source_id';

/** SQL: posts that their reader has marked as unread, or read since. */
const MARKED = `
  SELECT source_id, post_id FROM read_marks WHERE account_id = @viewerId AND is_read = 0
  UNION SELECT source_id, post_id FROM read_marks INDEXED BY read_marks_marked
   WHERE account_id = @viewerId AND marked_at >= @since`;

const STARRED = `
  SELECT t.post_id AS id, t.published_at AS publishedAt FROM stars t ${joinSource('t.source_id')}
    LEFT ${joinFollow('t.account_id', 't.source_id')}
   WHERE t.account_id = @viewerId AND ${MAY_SEE} AND (@sourceId = 0 OR t.source_id = @sourceId) AND ${IN_FOLDER}`;

const OF_LIST = `CROSS ${joinSource('p.source_id')}
    LEFT ${joinFollow('@viewerId', 'p.source_id')} ${JOIN_MARK}
    LEFT JOIN stars t ON t.account_id = @viewerId AND t.post_id = p.id
   WHERE ${MAY_SEE} AND ${IN_FOLDER}
     AND (NOT @isStarred OR t.post_id IS NOT NULL)
     AND (@isStarred OR @sourceId = p.source_id OR f.source_id IS NOT NULL)
     AND (@sourceId = 0 OR @sourceId = p.source_id)
     AND (NOT @isUnread OR ${isListed('COALESCE(f.read_up_to, 0)')})`;

/** SQL: all posts of what is followed, in no order. */
const ALL_FOLLOWED = `SELECT p.id FROM (SELECT f.source_id ${READING_LIST}) f CROSS ${joinArrivals('f.source_id')}`;

/** SQL: those of them that are unread. */
const ALL_UNREAD = `
    SELECT p.id FROM (SELECT f.source_id, f.read_up_to ${READING_LIST}) f
      CROSS ${joinArrivals('f.source_id')} AND p.id > f.read_up_to ${JOIN_MARK} WHERE ${isListed('f.read_up_to')}
    UNION ALL SELECT m.post_id FROM (${MARKED}) m CROSS JOIN (SELECT f.source_id, f.read_up_to ${READING_LIST}) f
      ON f.source_id = m.source_id AND m.post_id <= f.read_up_to`;

/** What a person follows, has not read, or keeps, in the order of lists. */
export const lists = store(({ db }) => {
  const after = db.prepare<[number, number, number], { n: number }>('count later posts of source',
    `SELECT COUNT(*) AS n FROM (SELECT 1 ${FROM_POSTS} WHERE p.source_id = ? AND p.id > ? LIMIT ?)`);
  const arrived = db.prepare<[Asking & Arrived], { n: number }>('count posts that arrived', `
    SELECT COUNT(*) AS n FROM (${ARRIVED}) p
      CROSS ${joinFollow('@viewerId', 'p.source_id')} CROSS ${joinSource('p.source_id')}
     WHERE ${IN_FOLDER} AND ${MAY_SEE}`);
  const stars = db.prepare<[Asking & { limit: number }], { n: number }>('count stars', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM stars t ${joinSource('t.source_id')}
     WHERE t.account_id = @viewerId AND ${MAY_SEE} LIMIT @limit)`);
  return {
    older: prepareWay(db, '<', '>', 'DESC'),
    newer: prepareWay(db, '>', '<', 'ASC'),

    scope: db.prepare<[Rows], Scope>('sources of a reading list', `
      SELECT f.source_id AS sourceId, f.read_up_to AS readUpTo, ${lastOfSource('f.source_id')} AS lastId
      ${READING_LIST}`),
    marked: db.prepare<[Rows], { id: number }>('sources with marks to look at', `
      SELECT DISTINCT m.source_id AS id FROM read_marks m WHERE m.account_id = @viewerId AND m.is_read = 0
      UNION SELECT m.source_id FROM read_marks m INDEXED BY read_marks_marked
       WHERE m.account_id = @viewerId AND m.marked_at >= @since`),
    starredSources: db.prepare<[number], { id: number }>('sources of starred posts',
      'SELECT DISTINCT source_id AS id FROM stars WHERE account_id = ?'),
    /** Posts of a list, in no order: `limit` at most. */
    members: {
      all: db.prepare<[Members], { id: number }>('all posts of what is followed', `${ALL_FOLLOWED} LIMIT @limit`),
      unread: db.prepare<[Members], { id: number }>('all unread posts', `${ALL_UNREAD} LIMIT @limit`),
      starred: db.prepare<[Members], { id: number }>('all starred posts', `${STARRED} LIMIT @limit`),
    },
    unread: db.prepare<[Asking & { folder: null }], UnreadRow>('what may be unread', `
      SELECT ${FOLLOW}, s.title, s.state,
             (SELECT COUNT(*) FROM (SELECT 1 ${FROM_POSTS}
               WHERE p.source_id = f.source_id AND p.id > f.read_up_to LIMIT ${LATER_MAX})) AS later,
             -- As a difference both are counted by indexes alone.
             (SELECT COUNT(*) ${OF_FOLLOW} AND m.post_id > f.read_up_to)
               - (SELECT COUNT(*) ${OF_FOLLOW} AND m.post_id > f.read_up_to AND m.is_read = 0) AS readAfter,
             (SELECT COUNT(*) ${OF_FOLLOW} AND m.post_id <= f.read_up_to AND m.is_read = 0) AS unreadBefore
      ${READING_LIST}`),
    /** How many posts of a source arrived after one, at most `limit`. */
    countAfter: (sourceId: number, postId: number, limit: number): number =>
      after.get(sourceId, postId, limit)?.n ?? 0,
    /** How many posts that are followed are among the `looks` that arrived after one. */
    countArrived: (list: Asking & Arrived): number => arrived.get(list)?.n ?? 0,
    /** How many posts have a star, at most `limit`. */
    countStars: (who: Asking, limit: number): number => stars.get({ ...who, limit })?.n ?? 0,
  };
});

/** What reads lists towards older posts, or towards newer ones, from a position on. */
type Way = {
  /** Of the next `looks` posts of all sources, those that are followed. */
  walkAll: Statement<[Walk], Position>;
  walkUnread: Statement<[Walk], Position>;
  /** The last of those posts. */
  end: Statement<[Walk & { last: number }], Position>;
  ofSource: Statement<[RowsOfSource], Position>;
  unreadOfSource: Statement<[RowsOfSource], Position>;
  /** The same where few have arrived after its mark: of others only those with marks are looked at. */
  unreadOfFew: Statement<[RowsOfSource], Position>;
  /** Those with marks that say that they are unread, or that they were read since. */
  marked: Statement<[Rows & Bound], Position>;
  starred: Statement<[Rows & { sourceId: number }], Position>;
  /** Of the next `looks` posts that an expression finds, those in the list. */
  found: Statement<[FoundRows], Position>;
  /** The last of those posts. */
  foundEnd: Statement<[FoundRows & { last: number }], Position>;
  /** Those that it finds among posts whose ids are given, as JSON. */
  foundAmong: Statement<[AmongRows], Position>;
};

function prepareWay(db: Db, onwards: '<' | '>', back: '<' | '>', order: 'ASC' | 'DESC'): Way {
  const next = `(SELECT id, published_at, source_id ${NEWEST_POSTS}
     WHERE (published_at, id) ${onwards} (@publishedAt, @id)
     ORDER BY published_at ${order}, id ${order} LIMIT @looks) p`;
  const followed = `FROM ${next} CROSS ${joinFollow('@viewerId', 'p.source_id')} CROSS ${joinSource('p.source_id')}`;
  const places = `${FOUND_PLACES} AND rowid ${onwards} CAST(@key AS INTEGER) ORDER BY rowid ${order}`;
  const within = `(p.published_at, p.id) ${onwards} (@publishedAt, @id)
     AND (p.published_at, p.id) ${back} (@boundAt, @boundId)
   ORDER BY p.published_at ${order}, p.id ${order} LIMIT @limit`;
  return {
    walkAll: db.prepare('posts of a reading list',
      `SELECT ${POSITION} ${followed} WHERE ${IN_FOLDER} AND ${MAY_SEE} LIMIT @limit`),
    walkUnread: db.prepare('unread posts', `SELECT ${POSITION} ${followed} ${JOIN_MARK}
       WHERE ${IN_FOLDER} AND ${MAY_SEE} AND ${isListed('f.read_up_to')} LIMIT @limit`),
    end: db.prepare('end of posts looked at', `SELECT ${POSITION} FROM ${next} LIMIT 1 OFFSET @last`),
    ofSource: db.prepare('posts of one source',
      `SELECT ${POSITION} ${FROM_POSTS} WHERE p.source_id = @sourceId AND ${within}`),
    unreadOfSource: db.prepare('unread posts of source', `SELECT ${POSITION} ${FROM_POSTS} ${JOIN_MARK}
       WHERE p.source_id = @sourceId AND ${isListed('@readUpTo')} AND ${within}`),
    unreadOfFew: db.prepare('unread posts of few', `SELECT ${POSITION} FROM (
      SELECT p.id, p.published_at FROM (SELECT @sourceId AS id) s CROSS ${joinArrivals('s.id')} AND p.id > @readUpTo
        ${JOIN_MARK} WHERE ${isListed('@readUpTo')}
      UNION ALL SELECT p.id, p.published_at FROM read_marks m CROSS ${joinPost('m.post_id')}
       WHERE m.account_id = @viewerId AND m.source_id = @sourceId AND m.post_id <= @readUpTo
         AND (m.is_read = 0 OR m.marked_at >= @since)) p
     WHERE ${within}`),
    marked: db.prepare('posts marked as unread or read since', `
      SELECT ${POSITION} FROM (${MARKED}) m
        CROSS ${joinFollow('@viewerId', 'm.source_id')} CROSS ${joinSource('m.source_id')} CROSS ${joinArrived('m')}
       WHERE ${IN_FOLDER} AND ${MAY_SEE} AND ${within}`),
    starred: db.prepare('starred posts', `${STARRED} AND (t.published_at, t.post_id) ${onwards} (@publishedAt, @id)
       ORDER BY t.published_at ${order}, t.post_id ${order} LIMIT @limit`),
    found: db.prepare('found posts',
      `SELECT ${POSITION} FROM (${places} LIMIT @looks) n ${JOIN_FOUND} ${OF_LIST} LIMIT @limit`),
    foundEnd: db.prepare('end of found posts looked at',
      `SELECT ${POSITION} FROM (${places} LIMIT 1 OFFSET @last) n ${JOIN_FOUND}`),
    foundAmong: db.prepare('found posts of few', `SELECT ${POSITION} ${FOUND_POSTS}
       WHERE posts_search MATCH @expression AND +posts_search.rowid IN (${KEYS_OF_POSTS})
         AND posts_search.rowid ${onwards} CAST(@key AS INTEGER) ORDER BY posts_search.rowid ${order} LIMIT @limit`),
  };
}
