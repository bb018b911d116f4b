import { DAY, MINUTE } from '../../platform/clock.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { asking, joinFollow, MAY_SEE, type Asking } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import type { Position } from '../posts/post-store.ts';
import { FROM_POSTS, joinPost } from '../posts/posts-in-lists.ts';
import { joinSource } from '../sources/source-store.ts';

/** How long what was marked as read can be undone. */
const UNDONE_WITHIN = MINUTE;

/** Lists that are open keep what was read since; none is left open for longer. */
const KEPT = DAY;

/**
 * Marks of one account, all of which are counted for each of its pages. Those that say no more than their source's go
 * after a day, and what is left is the smaller part of what is read or unread of a source.
 */
const MARKS_MAX = 20_000;

export type Mark = { sourceId: number; postId: number; isRead: number; markedAt: number };
export type Star = { postId: number; starredAt: number };

/** Whether its reader has read and starred a post. */
type PostState = { id: number; isRead: number; isStarred: number };

/** What a marking has changed; `before` of a post: 0 where it was marked as unread, null where it had no mark. */
export type ReadChanges = {
  moved: [sourceId: number, from: number, to: number][];
  marked: [sourceId: number, postId: number, before: 0 | null][];
};

type Key = { accountId: number; sourceId: number };
type NewMark = Key & { postId: number; isRead: 0 | 1; now: number };
type Range = Key & { after: number; upTo: number };
type Limit = { limit: number };

/** Posts of a source that are to be marked: up to one by arrival, between two by their place in lists. */
export type Cover = Range & { belowAt: number; belowId: number; aboveAt: number; aboveId: number };

/** Before every post in the order of publishing. */
export const OLDEST: Position = { publishedAt: -Number.MAX_SAFE_INTEGER, id: 0 };

const COVERED = `((p.published_at, p.id) < (@belowAt, @belowId) AND (p.published_at, p.id) > (@aboveAt, @aboveId))`;

const MARKS = 'FROM read_marks m WHERE m.account_id = @accountId AND m.source_id = @sourceId';

/** SQL: whether the post `p` has no mark that says that it is read. */
const NOT_MARKED_READ = `NOT EXISTS (SELECT 1 ${MARKS} AND m.post_id = p.id AND m.is_read = 1)`;

const LATER = `${FROM_POSTS} WHERE p.source_id = @sourceId AND p.id > @after AND p.id <= @upTo`;

/** Posts that are read or unread against the rule of their source (`follows.read_up_to`). */
export const readMarks = store(({ db, clock }) => {
  const select = db.prepare<[number, number, number], Mark>('mark of post', `
    SELECT source_id AS sourceId, post_id AS postId, is_read AS isRead, marked_at AS markedAt FROM read_marks
     WHERE account_id = ? AND source_id = ? AND post_id = ?`);
  const selectStates = db.prepare<[Asking & { ids: string }], PostState>('read state of posts', `
    SELECT p.id, COALESCE(m.is_read, p.id <= COALESCE(f.read_up_to, 0)) AS isRead,
           t.post_id IS NOT NULL AS isStarred
      FROM json_each(@ids) j CROSS ${joinPost('j.value')} CROSS ${joinSource('p.source_id')}
      LEFT ${joinFollow('@viewerId', 'p.source_id')}
      LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
      LEFT JOIN stars t ON t.account_id = @viewerId AND t.post_id = p.id
     WHERE ${MAY_SEE}`);
  const selectLast = db.prepare<[number], { at: number | null }>('last mark of account',
    'SELECT MAX(marked_at) AS at FROM read_marks WHERE account_id = ?');
  const upsert = db.prepare<[NewMark]>('mark post', `
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
    SELECT @accountId, @sourceId, p.id, @isRead, @now ${FROM_POSTS} WHERE p.id = @postId
    ON CONFLICT DO UPDATE SET is_read = excluded.is_read, marked_at = excluded.marked_at`);
  const remove = db.prepare<[number, number, number]>('remove mark of post',
    'DELETE FROM read_marks WHERE account_id = ? AND source_id = ? AND post_id = ?');

  // Of newer ones there are few: by publishing. Of older ones one that arrived early is found soon: by arrival.
  const selectUncoveredAbove = db.prepare<[Cover], { id: number | null }>('first newer post that stays unread', `
    SELECT MIN(+p.id) AS id ${FROM_POSTS} WHERE p.source_id = @sourceId AND +p.id > @after AND +p.id <= @upTo
       AND (p.published_at, p.id) >= (@belowAt, @belowId) AND ${NOT_MARKED_READ}`);
  const selectUncoveredBelow = db.prepare<[Cover], { id: number }>('first older post that stays unread', `
    SELECT p.id ${LATER} AND (p.published_at, p.id) <= (@aboveAt, @aboveId) AND ${NOT_MARKED_READ}
     ORDER BY p.id LIMIT 1`);
  const selectUnread = db.prepare<[Range], { id: number }>('first unread post',
    `SELECT p.id ${LATER} AND ${NOT_MARKED_READ} ORDER BY p.id LIMIT 1`);
  const selectCovered = db.prepare<[Cover & Limit], { id: number }>('unread posts to mark', `
    SELECT p.id ${LATER} AND ${COVERED} AND ${NOT_MARKED_READ} ORDER BY p.id LIMIT @limit`);
  const selectMarkedUnread = db.prepare<[Cover & Limit], { id: number }>('posts marked as unread', `
    SELECT m.post_id AS id FROM read_marks m ${joinPost('m.post_id')}
     WHERE m.account_id = @accountId AND m.source_id = @sourceId AND m.is_read = 0 AND m.post_id <= @upTo
       AND ${COVERED} LIMIT @limit`);
  const countUnread = db.prepare<[Range], { n: number }>('count unread posts in a row', `
    SELECT (SELECT COUNT(*) ${LATER})
         - (SELECT COUNT(*) ${MARKS} AND m.post_id > @after AND m.post_id <= @upTo AND m.is_read = 1) AS n`);
  const countSome = db.prepare<[Range & Limit], { n: number }>('count some posts in a row',
    `SELECT COUNT(*) AS n FROM (SELECT 1 ${LATER} LIMIT @limit)`);
  const countMarks = db.prepare<[number, number], { n: number }>('count marks of account',
    'SELECT COUNT(*) AS n FROM (SELECT 1 FROM read_marks WHERE account_id = ? LIMIT ?)');
  const insertRange = db.prepare<[Range & { now: number; isRead: 0 | 1 }]>('mark posts in a row', `
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
    SELECT @accountId, @sourceId, p.id, @isRead, @now ${LATER} ON CONFLICT DO NOTHING`);

  const selectReadAbove = db.prepare<[Range], { n: number; last: number | null }>('count marks above', `
    SELECT COUNT(*) AS n, MAX(m.post_id) AS last ${MARKS} AND m.post_id > @after AND m.is_read = 1`);
  const selectOld = db.prepare<[Key & { before: number }], { id: number }>('an old mark', `
    SELECT m.post_id AS id ${MARKS} AND m.is_read = 1 AND m.marked_at < @before LIMIT 1`);
  const removeNeedless = db.prepare<[Key & { readUpTo: number; before: number; limit: number }]>('remove old marks', `
    DELETE FROM read_marks WHERE (account_id, source_id, post_id) IN
      (SELECT m.account_id, m.source_id, m.post_id ${MARKS} AND m.marked_at < @before
          AND m.is_read = (m.post_id <= @readUpTo) LIMIT @limit)`);

  const selectOf = db.prepare<[number, number, number, number], Mark>('marks of account', `
    SELECT source_id AS sourceId, post_id AS postId, is_read AS isRead, marked_at AS markedAt FROM read_marks
     WHERE account_id = ? AND (source_id, post_id) > (?, ?) ORDER BY source_id, post_id LIMIT ?`);
  const removeOf = db.prepare<[number, number]>('remove marks of account', `
    DELETE FROM read_marks WHERE (account_id, source_id, post_id) IN
      (SELECT account_id, source_id, post_id FROM read_marks WHERE account_id = ? LIMIT ?)`);

  return {
    find: (accountId: number, sourceId: number, postId: number): Mark | undefined =>
      select.get(accountId, sourceId, postId),
    /** Of those that are there and that the viewer may see. */
    statesOf: (viewer: Pick<Viewer, 'id' | 'role'>, postIds: number[]): PostState[] =>
      selectStates.all({ ...asking(viewer), ids: JSON.stringify(postIds) }),
    /** When the account set its last mark; 0 where it has none. */
    lastMarkedAt: (accountId: number): number => selectLast.get(accountId)?.at ?? 0,
    put: (mark: NewMark): void => void upsert.run(mark),
    remove: (accountId: number, sourceId: number, postId: number): void =>
      void remove.run(accountId, sourceId, postId),

    firstUnread: (range: Range): number | undefined => selectUnread.get(range)?.id,
    /** The unread post of the range that arrived first of those that are not covered; Infinity where all are. */
    firstUncovered(cover: Cover): number {
      const older = cover.aboveAt === OLDEST.publishedAt ? undefined : selectUncoveredBelow.get(cover);
      return Math.min(selectUncoveredAbove.get(cover)?.id ?? Infinity, older?.id ?? Infinity);
    },

    /** The unread posts of the range that are covered. */
    covered: (cover: Cover & Limit): number[] => selectCovered.all(cover).map(({ id }) => id),
    /** Covered posts up to the end of the range that are marked as unread. */
    markedUnread: (cover: Cover & Limit): number[] => selectMarkedUnread.all(cover).map(({ id }) => id),
    countUnread: (range: Range): number => countUnread.get(range)?.n ?? 0,
    /** All posts of the range, up to `limit`. */
    count: (range: Range, limit: number): number => countSome.get({ ...range, limit })?.n ?? 0,
    /** How many more an account may have. */
    left: (accountId: number): number => MARKS_MAX - (countMarks.get(accountId, MARKS_MAX)?.n ?? 0),
    /** All posts of the range that have no mark; returns how many. */
    putRange: (range: Range & { isRead: 0 | 1 }): number => insertRange.run({ ...range, now: clock() }).changes,

    /** How many later posts are marked as read, and the last of them. */
    readAbove: (key: Key, after: number): { n: number; last: number | null } =>
      selectReadAbove.get({ ...key, after, upTo: 0 }) ?? { n: 0, last: null },
    hasOld: (key: Key): boolean => selectOld.get({ ...key, before: clock() - KEPT }) !== undefined,
    /** Up to `limit` old marks that say what is said without them; returns how many. */
    removeNeedless: (key: Key, readUpTo: number, limit: number): number =>
      removeNeedless.run({ ...key, readUpTo, before: clock() - KEPT, limit }).changes,

    /** By source and post. */
    listOf: (accountId: number, after: Pick<Mark, 'sourceId' | 'postId'> | undefined, limit: number): Mark[] =>
      selectOf.all(accountId, after?.sourceId ?? 0, after?.postId ?? 0, limit),
    /** Up to `limit` of them; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});

/** Posts that people keep. */
export const stars = store(({ db, clock }) => {
  const insert = db.prepare<[number, number, number]>('star post', `
    INSERT INTO stars (account_id, post_id, source_id, published_at, starred_at)
    SELECT ?, p.id, p.source_id, p.published_at, ? ${FROM_POSTS} WHERE p.id = ? ON CONFLICT DO NOTHING`);
  const remove = db.prepare<[number, number]>('remove star', 'DELETE FROM stars WHERE account_id = ? AND post_id = ?');
  const selectOf = db.prepare<[number, number, number], Star>('stars of account', `
    SELECT post_id AS postId, starred_at AS starredAt FROM stars
     WHERE account_id = ? AND post_id > ? ORDER BY post_id LIMIT ?`);
  const removeOf = db.prepare<[number, number]>('remove stars of account', `
    DELETE FROM stars WHERE (account_id, post_id) IN
      (SELECT account_id, post_id FROM stars WHERE account_id = ? LIMIT ?)`);

  return {
    add: (accountId: number, postId: number): void => void insert.run(accountId, clock(), postId),
    remove: (accountId: number, postId: number): void => void remove.run(accountId, postId),
    /** By the id of the post. */
    listOf: (accountId: number, after: number, limit: number): Star[] => selectOf.all(accountId, after, limit),
    /** Up to `limit` of them; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});

/** Markings of one account that are kept to be undone: the newest ones. */
const UNDOS_MAX = 20;

/** What can still be undone. */
export const readUndo = store(({ db, clock }) => {
  const insert = db.prepare<[number, number, string], { id: number }>('keep what was marked',
    'INSERT INTO read_undo (account_id, made_at, changes) VALUES (?, ?, ?) RETURNING id');
  const update = db.prepare<[string, number, number]>('keep what was marked so far',
    'UPDATE read_undo SET changes = ? WHERE id = ? AND account_id = ?');
  const select = db.prepare<[number, number], { madeAt: number; changes: string }>('what was marked',
    'SELECT made_at AS madeAt, changes FROM read_undo WHERE id = ? AND account_id = ?');
  const remove = db.prepare<[number, number]>('what was marked is undone',
    'DELETE FROM read_undo WHERE id = ? AND account_id = ?');
  const removeEarlier = db.prepare<[{ accountId: number; kept: number }]>('forget what was marked before', `
    DELETE FROM read_undo WHERE account_id = @accountId AND id NOT IN
      (SELECT id FROM read_undo WHERE account_id = @accountId ORDER BY id DESC LIMIT @kept)`);
  const selectLive = db.prepare<[number, number, number], { id: number }>('whether anything can be undone',
    'SELECT id FROM read_undo WHERE account_id = ? AND made_at BETWEEN ? AND ? LIMIT 1');
  // A time to come was written while the clock was ahead.
  const removeOld = db.prepare<[number, number, number]>('forget what was marked', `
    DELETE FROM read_undo WHERE id IN (SELECT id FROM read_undo WHERE made_at <= ? OR made_at > ? LIMIT ?)`);
  const removeOf = db.prepare<[number, number]>('forget what an account has marked',
    'DELETE FROM read_undo WHERE id IN (SELECT id FROM read_undo WHERE account_id = ? LIMIT ?)');

  return {
    /** Keeps one for the id 0, in the place of the account's oldest, or changes the one of that id; returns its id. */
    keep(id: number, accountId: number, madeAt: number, changes: ReadChanges): number {
      if (id !== 0) {
        update.run(JSON.stringify(changes), id, accountId);
        return id;
      }
      const added = insert.get(accountId, madeAt, JSON.stringify(changes))?.id ?? 0;
      removeEarlier.run({ accountId, kept: UNDOS_MAX });
      return added;
    },

    /** What was marked; `isLive`: within the last minute. */
    find(accountId: number, id: number): { madeAt: number; changes: ReadChanges; isLive: boolean } | undefined {
      const row = select.get(id, accountId);
      const isLive = row !== undefined && row.madeAt <= clock() && row.madeAt > clock() - UNDONE_WITHIN;
      return row && { madeAt: row.madeAt, changes: JSON.parse(row.changes) as ReadChanges, isLive };
    },

    remove: (accountId: number, id: number): void => void remove.run(id, accountId),
    hasLive: (accountId: number): boolean =>
      selectLive.get(accountId, clock() - UNDONE_WITHIN, clock()) !== undefined,
    /** Up to `limit` for which it is too late; returns how many. */
    removeOld: (limit: number): number => removeOld.run(clock() - UNDONE_WITHIN, clock(), limit).changes,
    /** Up to `limit` of an account; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});
