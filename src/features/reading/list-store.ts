import type { Db } from '../../platform/db/open-database.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { asking, IN_FOLDER, joinFollow, MAY_SEE, READING_LIST, type Asking } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { ARRIVED, FOUND_POSTS, FROM_POSTS, joinPost, lastOfSource, nextPosts } from '../posts/posts-in-lists.ts';
import { FROM_THE_TOP, newestFirst, type Position } from '../posts/post-store.ts';
import { joinSource } from '../sources/source-store.ts';

/** Counts stop here: what is more is "999+". */
export const COUNTED = 1_000;

/** A list of what its reader follows, all of it or a folder. `since` (unix ms): also what was read after that. */
export type Followed = {
  viewer: Pick<Viewer, 'id' | 'role'>;
  folder?: string | undefined;
  isUnread: boolean;
  since?: number | undefined;
};

/** A list of one source, up to which post everything of it is read. */
export type OfSource = Omit<Followed, 'folder'> & { sourceId: number; readUpTo: number };

/** `limit` posts after a position; with `isBack` those before it, the nearest first. */
export type Step = { from: Position; isBack: boolean; limit: number };

/** How much of a source may be unread: what arrived after its mark, but for marks of posts. */
type UnreadRow = { sourceId: number; readUpTo: number; later: number; readAfter: number; unreadBefore: number };

type Scope = { sourceId: number; readUpTo: number; lastId: number | null };
type Rows = Asking & Position & { folder: string | null; since: number; limit: number };
type RowsOfSource = Omit<Rows, 'folder' | 'isAdmin'> & Omit<Scope, 'lastId'> & { boundAt: number; boundId: number };
type Arrived = { newest: number; folder: string | null; looks: number };
type ArrivedAfter = Pick<Followed, 'viewer'> & Omit<Arrived, 'looks'> & { sourceId: number | undefined };
type Walk = Rows & { looks: number };
type Found = Rows & { expression: string; isUnread: number; isStarred: number; sourceId: number; key: number };

/** Later posts of a source that are counted, with those that are marked as read: hardly any reader has more. */
const LOOKED = 4_000;

/** Posts that are looked at in the order of the list: about 2 ms. */
const LOOKS = 2_500;

/** So many sources are asked one after another in less. */
const FEW_SOURCES = 60;

const POSITION = 'p.id, p.published_at AS publishedAt';

const JOIN_MARK = `LEFT JOIN read_marks m
  ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id`;

/** SQL: whether the post `p` with its mark `m` is in a list of unread posts. */
function isListed(readUpTo: string): string {
  return `CASE WHEN m.is_read IS NULL THEN p.id > ${readUpTo} ELSE m.is_read = 0 OR m.marked_at >= @since END`;
}

/** SQL: the next posts of all, and of them those that are followed. */
function followedAmong(compare: string, order: string): string {
  return `FROM (${nextPosts(compare, order)}) p
    CROSS ${joinFollow('@viewerId', 'p.source_id')} CROSS ${joinSource('p.source_id')}`;
}

/** SQL: those of a source between the position and one that is far enough, which `compare` leads to. */
function between(compare: string, against: string): string {
  return `(p.published_at, p.id) ${compare} (@publishedAt, @id)
      AND (p.published_at, p.id) ${against} (@boundAt, @boundId)`;
}

function ordered(order: string): string {
  return `ORDER BY p.published_at ${order}, p.id ${order} LIMIT @limit`;
}

/** What a person follows, has not read, or keeps, in the order of lists. */
export const lists = store(({ db }) => {
  const [down, up] = [prepareDown(db), prepareUp(db)];
  const selectScope = db.prepare<[Rows], Scope>('sources of a reading list', `
    SELECT f.source_id AS sourceId, f.read_up_to AS readUpTo, ${lastOfSource('f.source_id')} AS lastId
    ${READING_LIST}`);
  const selectMarked = db.prepare<[Rows], { id: number }>('sources with marks to look at', `
    SELECT DISTINCT m.source_id AS id FROM read_marks m WHERE m.account_id = @viewerId AND m.is_read = 0
    UNION SELECT m.source_id FROM read_marks m WHERE m.account_id = @viewerId AND m.marked_at >= @since`);
  const selectUnread = db.prepare<[Asking & { folder: null }], UnreadRow>('what may be unread', `
    SELECT f.source_id AS sourceId, f.read_up_to AS readUpTo,
           (SELECT COUNT(*) FROM (SELECT 1 ${FROM_POSTS}
             WHERE p.source_id = f.source_id AND p.id > f.read_up_to LIMIT ${LOOKED})) AS later,
           (SELECT COUNT(*) FROM read_marks m WHERE m.account_id = f.account_id AND m.source_id = f.source_id
               AND m.post_id > f.read_up_to AND m.is_read = 1) AS readAfter,
           (SELECT COUNT(*) FROM read_marks m WHERE m.account_id = f.account_id AND m.source_id = f.source_id
               AND m.post_id <= f.read_up_to AND m.is_read = 0) AS unreadBefore
    ${READING_LIST}`);
  const countAfter = db.prepare<[number, number, number], { n: number }>('count later posts of source',
    `SELECT COUNT(*) AS n FROM (SELECT 1 ${FROM_POSTS} WHERE p.source_id = ? AND p.id > ? LIMIT ?)`);
  const countArrived = db.prepare<[Asking & Arrived], { n: number }>('count posts that arrived', `
    SELECT COUNT(*) AS n FROM (${ARRIVED}) p
      CROSS ${joinFollow('@viewerId', 'p.source_id')} CROSS ${joinSource('p.source_id')}
     WHERE ${IN_FOLDER} AND ${MAY_SEE}`);
  const countStars = db.prepare<[Asking & { limit: number }], { n: number }>('count stars', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM stars t ${joinSource('t.source_id')}
     WHERE t.account_id = @viewerId AND ${MAY_SEE} LIMIT @limit)`);

  /** Those of each source in turn, of which only what comes before the worst so far can matter. */
  function gather(scope: Scope[], { from, isBack, limit }: Step, rows: Rows, which: 'all' | 'unread' | 'marked') {
    const way = isBack ? up : down;
    const statement = { all: way.ofSource, unread: way.unreadOfSource, marked: way.markedOfSource }[which];
    const order = isBack ? (a: Position, b: Position) => newestFirst(b, a) : newestFirst;
    const end = isBack ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER;
    const key = { viewerId: rows.viewerId, since: rows.since, publishedAt: from.publishedAt, id: from.id, limit };
    return (found: Position[]): Position[] => scope.reduce((nearest, { sourceId, readUpTo }) => {
      const last = nearest[limit - 1];
      const bound = { boundAt: last?.publishedAt ?? end, boundId: last?.id ?? end };
      const more = statement.all({ ...key, ...bound, sourceId, readUpTo });
      return more.length > 0 ? [...nearest, ...more].sort(order).slice(0, limit) : nearest;
    }, found);
  }

  function followed(list: Followed, step: Step): Position[] {
    const { from, isBack, limit } = step;
    const [way, which] = [isBack ? up : down, list.isUnread ? 'unread' : 'all'] as const;
    const rows = rowsOf(list, step);
    const scope = selectScope.all(rows);
    const busy = scope.filter(({ readUpTo, lastId }) => lastId !== null && (!list.isUnread || lastId > readUpTo));
    const marked = list.isUnread ? new Set(selectMarked.all(rows).map(({ id }) => id)) : new Set();
    for (const { sourceId } of busy) marked.delete(sourceId);
    let rest = { from, isBack, limit };
    let found: Position[] = [];
    if (busy.length > FEW_SOURCES) {
      found = way[which === 'unread' ? 'walkUnread' : 'walkAll'].all({ ...rows, looks: LOOKS });
      const end = found.length < limit ? way.end.get({ ...from, looks: LOOKS, last: LOOKS - 1 }) : undefined;
      if (!end) return found;
      rest = { from: end, isBack, limit: limit - found.length };
    }
    const few = scope.filter(({ sourceId }) => marked.has(sourceId));
    return [...found, ...gather(few, rest, rows, 'marked')(gather(busy, rest, rows, which)([]))];
  }

  return {
    /** Posts of what is followed. */
    followed,

    /** The sources of which anything may be unread, and whether posts of them may be marked so. */
    unreadScope(viewer: Followed['viewer'], folder?: string) {
      const rows = rowsOf({ viewer, folder, isUnread: true }, { from: FROM_THE_TOP, isBack: false, limit: 0 });
      const marked = new Set(selectMarked.all(rows).map(({ id }) => id));
      return selectScope.all(rows).map((one) => ({ ...one, hasMarks: marked.has(one.sourceId) }))
        .filter(({ readUpTo, lastId, hasMarks }) => (lastId ?? 0) > readUpTo || hasMarks);
    },

    /** Posts of one source. */
    ofSource: ({ sourceId, readUpTo, ...list }: OfSource, step: Step): Position[] =>
      gather([{ sourceId, readUpTo, lastId: null }], step, rowsOf(list, step), list.isUnread ? 'unread' : 'all')([]),

    /** Posts with a star, of all sources (0), or of one; of those in a folder, of what is followed. */
    starred(list: Followed & { sourceId: number }, step: Step): Position[] {
      return (step.isBack ? up : down).starred.all({ ...rowsOf(list, step), sourceId: list.sourceId });
    },

    /** Posts that a search finds. `key`: the place in the index that the position has. */
    found(list: Followed & Pick<Found, 'expression' | 'sourceId' | 'key'> & { isStarred: boolean }, step: Step) {
      const { expression, sourceId, key } = list;
      const isUnread = list.isUnread ? 1 : 0;
      const isStarred = list.isStarred ? 1 : 0;
      return (step.isBack ? up : down).found
        .all({ ...rowsOf(list, step), expression, sourceId, key, isUnread, isStarred });
    },

    /** How many posts of each followed source are unread, at most COUNTED. */
    unreadBySource(viewer: Followed['viewer']): Map<number, number> {
      const rows = selectUnread.all({ ...asking(viewer), folder: null });
      return new Map(rows.map(({ sourceId, readUpTo, later, readAfter, unreadBefore }) => {
        const isAll = later < LOOKED || later - readAfter >= COUNTED;
        const after = isAll ? later : countAfter.get(sourceId, readUpTo, COUNTED + readAfter)?.n ?? 0;
        return [sourceId, Math.min(COUNTED, after - readAfter + unreadBefore)];
      }));
    },

    /** How many posts of a source, a folder or all that is followed arrived after one, at most COUNTED. */
    countArrived({ viewer, newest, sourceId, folder }: ArrivedAfter): number {
      if (sourceId !== undefined) return countAfter.get(sourceId, newest, COUNTED)?.n ?? 0;
      return countArrived.get({ ...asking(viewer), newest, folder, looks: COUNTED })?.n ?? 0;
    },

    /** At most COUNTED. */
    countStars: (viewer: Followed['viewer']): number =>
      countStars.get({ ...asking(viewer), limit: COUNTED })?.n ?? 0,
  };
});

function rowsOf({ viewer, folder, since }: Followed, { from: { publishedAt, id }, limit }: Step): Rows {
  return {
    ...asking(viewer), publishedAt, id, limit, folder: folder ?? null, since: since ?? Number.MAX_SAFE_INTEGER,
  };
}

/** Towards older posts. */
function prepareDown(db: Db) {
  return {
    walkAll: db.prepare<[Walk], Position>('newest posts of a reading list',
      `SELECT ${POSITION} ${followedAmong('<', 'DESC')} WHERE ${IN_FOLDER} AND ${MAY_SEE} LIMIT @limit`),
    walkUnread: db.prepare<[Walk], Position>('newest unread posts', `
      SELECT ${POSITION} ${followedAmong('<', 'DESC')} ${JOIN_MARK}
       WHERE ${IN_FOLDER} AND ${MAY_SEE} AND ${isListed('f.read_up_to')} LIMIT @limit`),
    end: db.prepare<[Position & { looks: number; last: number }], Position>('end of posts looked at',
      `SELECT ${POSITION} FROM (${nextPosts('<', 'DESC')}) p LIMIT 1 OFFSET @last`),
    ofSource: db.prepare<[RowsOfSource], Position>('older posts of source',
      `SELECT ${POSITION} ${FROM_POSTS} WHERE p.source_id = @sourceId AND ${between('<', '>')} ${ordered('DESC')}`),
    unreadOfSource: db.prepare<[RowsOfSource], Position>('older unread posts of source', `
      SELECT ${POSITION} ${FROM_POSTS} ${JOIN_MARK}
       WHERE p.source_id = @sourceId AND ${between('<', '>')} AND ${isListed('@readUpTo')} ${ordered('DESC')}`),
    markedOfSource: db.prepare<[RowsOfSource], Position>('older marked posts of source', `
      SELECT ${POSITION} FROM read_marks m ${joinPost('m.post_id')}
       WHERE m.account_id = @viewerId AND m.source_id = @sourceId AND (m.is_read = 0 OR m.marked_at >= @since)
         AND ${between('<', '>')} ${ordered('DESC')}`),
    starred: db.prepare<[Rows & { sourceId: number }], Position>('older starred posts',
      `${STARRED} AND (t.published_at, t.post_id) < (@publishedAt, @id)
        ORDER BY t.published_at DESC, t.post_id DESC LIMIT @limit`),
    found: db.prepare<[Found], Position>('older posts that are found',
      `${FOUND} AND posts_search.rowid < CAST(@key AS INTEGER) ORDER BY posts_search.rowid DESC LIMIT @limit`),
  };
}

/** Towards newer posts, the nearest first. */
function prepareUp(db: Db): ReturnType<typeof prepareDown> {
  return {
    walkAll: db.prepare<[Walk], Position>('newer posts of a reading list',
      `SELECT ${POSITION} ${followedAmong('>', 'ASC')} WHERE ${IN_FOLDER} AND ${MAY_SEE} LIMIT @limit`),
    walkUnread: db.prepare<[Walk], Position>('newer unread posts', `
      SELECT ${POSITION} ${followedAmong('>', 'ASC')} ${JOIN_MARK}
       WHERE ${IN_FOLDER} AND ${MAY_SEE} AND ${isListed('f.read_up_to')} LIMIT @limit`),
    end: db.prepare<[Position & { looks: number; last: number }], Position>('end of newer posts looked at',
      `SELECT ${POSITION} FROM (${nextPosts('>', 'ASC')}) p LIMIT 1 OFFSET @last`),
    ofSource: db.prepare<[RowsOfSource], Position>('newer posts of source',
      `SELECT ${POSITION} ${FROM_POSTS} WHERE p.source_id = @sourceId AND ${between('>', '<')} ${ordered('ASC')}`),
    unreadOfSource: db.prepare<[RowsOfSource], Position>('newer unread posts of source', `
      SELECT ${POSITION} ${FROM_POSTS} ${JOIN_MARK}
       WHERE p.source_id = @sourceId AND ${between('>', '<')} AND ${isListed('@readUpTo')} ${ordered('ASC')}`),
    markedOfSource: db.prepare<[RowsOfSource], Position>('newer marked posts of source', `
      SELECT ${POSITION} FROM read_marks m ${joinPost('m.post_id')}
       WHERE m.account_id = @viewerId AND m.source_id = @sourceId AND (m.is_read = 0 OR m.marked_at >= @since)
         AND ${between('>', '<')} ${ordered('ASC')}`),
    starred: db.prepare<[Rows & { sourceId: number }], Position>('newer starred posts',
      `${STARRED} AND (t.published_at, t.post_id) > (@publishedAt, @id)
        ORDER BY t.published_at, t.post_id LIMIT @limit`),
    found: db.prepare<[Found], Position>('newer posts that are found',
      `${FOUND} AND posts_search.rowid > CAST(@key AS INTEGER) ORDER BY posts_search.rowid LIMIT @limit`),
  };
}

const STARRED = `
  SELECT t.post_id AS id, t.published_at AS publishedAt FROM stars t ${joinSource('t.source_id')}
    LEFT ${joinFollow('t.account_id', 't.source_id')}
   WHERE t.account_id = @viewerId AND ${MAY_SEE} AND (@sourceId = 0 OR t.source_id = @sourceId) AND ${IN_FOLDER}`;

const FOUND = `
  SELECT ${POSITION} ${FOUND_POSTS} ${joinSource('p.source_id')}
    LEFT ${joinFollow('@viewerId', 'p.source_id')} ${JOIN_MARK}
    LEFT JOIN stars t ON t.account_id = @viewerId AND t.post_id = p.id
   WHERE posts_search MATCH @expression AND ${MAY_SEE} AND ${IN_FOLDER}
     AND (NOT @isStarred OR t.post_id IS NOT NULL)
     AND (@isStarred OR @sourceId = p.source_id OR f.source_id IS NOT NULL)
     AND (@sourceId = 0 OR @sourceId = p.source_id)
     AND (NOT @isUnread OR ${isListed('COALESCE(f.read_up_to, 0)')})`;
