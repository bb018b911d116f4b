import { DAY, MINUTE } from '../../platform/clock.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { asking, FOLLOWS, MAY_SEE, type Asking } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { TABLES } from '../hub/tables.ts';
import { POSTS, type Position } from '../posts/post-store.ts';
import { joinSource } from '../sources/source-store.ts';
import { IS_MUTED, UNREAD_MUTED } from './muted-store.ts';

/** How long marking posts as read can be undone; the stylesheet of a page hides the offer after that. */
export const UNDO_MS = 2 * MINUTE;

/** How long the scheduled compaction keeps a needless mark, because open pages may list the post. */
const KEPT = DAY;

/** With this many read-state exceptions, a reader can mark no more posts one by one: each page counts them all. */
const MARKS_MAX = TABLES.read_marks.most;

/** A read-state exception; it is needless, and removed later, once the high-water mark says the same of its post. */
export type Mark = { sourceId: number; postId: number; isRead: number; markedAt: number };
export type Star = { postId: number; starredAt: number };

export type PostState = {
  id: number; sourceId: number; isRead: number; isStarred: number; isFollowed: number; ownTitle: string | null;
};

/**
 * `moved`: the sources whose `readUpTo` was raised. `marked`: the posts that were marked as read one by one; `before`:
 * 0 if the post had been marked as unread, else null.
 */
export type ReadChanges = {
  moved: [sourceId: number, from: number, to: number][];
  marked: [sourceId: number, postId: number, before: 0 | null][];
  /** How many posts one request of an app has marked as read; undefined if a page or the hub's own API marked them. */
  byApp?: number;
};

/** The changes of one mark-as-read action, for undoing. `id`: 0 until the record is stored. `madeAt`: unix ms. */
export type Undoable = { id: number; madeAt: number; changes: ReadChanges };
type FollowKey = { accountId: number; sourceId: number };
type NewMark = FollowKey & { postId: number; isRead: 0 | 1; now: number };
/** The posts of a source whose ids are above `after` and at most `upTo`, for one reader. */
export type ArrivalRange = FollowKey & { after: number; upTo: number };
/** Posts of an id range, listed below the post `belowId` (time `belowAt`) and above the post `aboveId` (`aboveAt`). */
export type Selection = ArrivalRange & { belowAt: number; belowId: number; aboveAt: number; aboveId: number };
type Limit = { limit: number };

export const OLDEST: Position = { publishedAt: -Number.MAX_SAFE_INTEGER, id: 0 };

/** SQL: whether the post `p` with the mark `m` is read by the account of the follow `f`; both may be missing. */
export const IS_READ = 'COALESCE(m.is_read, p.id <= COALESCE(f.read_up_to, 0))';

const IS_UNREAD = `NOT EXISTS (SELECT 1 FROM read_marks m WHERE m.account_id = @accountId AND m.source_id = @sourceId
                                 AND m.post_id = p.id AND m.is_read = 1)`;

/** The read-state exceptions to high-water marks (`follows.read_up_to`). */
export const readMarks = store(({ db, clock }) => {
  const select = db.prepare<[number, number, number], Mark>('mark of post', `
    SELECT source_id AS sourceId, post_id AS postId, is_read AS isRead, marked_at AS markedAt FROM read_marks
     WHERE account_id = ? AND source_id = ? AND post_id = ?`);
  const selectStates = db.prepare<[Asking & { ids: string }], PostState>('read the read states of posts', `
    SELECT p.id, p.source_id AS sourceId, ${IS_READ} AS isRead,
           t.post_id IS NOT NULL AS isStarred, f.source_id IS NOT NULL AS isFollowed, f.title AS ownTitle
      FROM json_each(@ids) j CROSS JOIN ${POSTS} p ON p.id = j.value CROSS ${joinSource('p.source_id')}
      LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
      LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
      LEFT JOIN stars t ON t.account_id = @viewerId AND t.post_id = p.id
     WHERE ${MAY_SEE}`);
  const selectLast = db.prepare<[number], { at: number | null }>('time of the last read mark of an account',
    'SELECT MAX(marked_at) AS at FROM read_marks WHERE account_id = ?');
  const upsert = db.prepare<[NewMark]>('mark post', `
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
    SELECT @accountId, @sourceId, p.id, @isRead, @now FROM ${POSTS} p WHERE p.id = @postId
    ON CONFLICT DO UPDATE SET is_read = excluded.is_read, marked_at = excluded.marked_at`);
  const insertRead = db.prepare<[number, string]>('mark new posts as read', `
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
    SELECT r.value ->> 0, p.source_id, p.id, 1, ? FROM json_each(?) r CROSS JOIN ${POSTS} p ON p.id = r.value ->> 1
     WHERE true ON CONFLICT DO NOTHING`);
  const remove = db.prepare<[number, number, number]>('remove the read mark of a post',
    'DELETE FROM read_marks WHERE account_id = ? AND source_id = ? AND post_id = ?');

  // Newer posts are few: use published_at. Older ones: use the arrival index.
  const selectUnselectedNewer = db.prepare<[Selection], { id: number | null }>('first newer post that is unread', `
    SELECT MIN(+p.id) AS id FROM ${POSTS} p
     WHERE p.source_id = @sourceId AND +p.id > @after AND +p.id <= @upTo
       AND (p.published_at, p.id) >= (@belowAt, @belowId) AND ${IS_UNREAD}`);
  const selectUnselectedOlder = db.prepare<[Selection], { id: number }>('first older post that is unread', `
    SELECT p.id FROM ${POSTS} p WHERE p.source_id = @sourceId AND p.id > @after AND p.id <= @upTo
       AND (p.published_at, p.id) <= (@aboveAt, @aboveId) AND ${IS_UNREAD}
     ORDER BY p.id LIMIT 1`);
  const selectFirstUnread = db.prepare<[ArrivalRange & { except: string }], { id: number }>('first unread post', `
    SELECT p.id FROM ${POSTS} p WHERE p.source_id = @sourceId AND p.id > @after AND p.id <= @upTo AND ${IS_UNREAD}
       AND p.id NOT IN (SELECT value FROM json_each(@except)) ORDER BY p.id LIMIT 1`);
  const selectSelected = db.prepare<[Selection & Limit], { id: number }>('find the unread posts to mark as read', `
    SELECT p.id FROM ${POSTS} p WHERE p.source_id = @sourceId AND p.id > @after AND p.id <= @upTo
       AND (p.published_at, p.id) < (@belowAt, @belowId) AND (p.published_at, p.id) > (@aboveAt, @aboveId)
       AND ${IS_UNREAD} AND NOT ${IS_MUTED} ORDER BY p.id LIMIT @limit`);
  const selectMarkedUnread = db.prepare<[Selection & Limit], { id: number }>('find the posts marked as unread', `
    SELECT m.post_id AS id FROM read_marks m JOIN ${POSTS} p ON p.id = m.post_id
     WHERE m.account_id = @accountId AND m.source_id = @sourceId AND m.is_read = 0 AND m.post_id <= @upTo
       AND (p.published_at, p.id) < (@belowAt, @belowId) AND (p.published_at, p.id) > (@aboveAt, @aboveId)
       AND NOT ${IS_MUTED} LIMIT @limit`);
  const countUnread = db.prepare<[ArrivalRange], { n: number }>('count the unread, not muted posts of a range', `
    SELECT (SELECT COUNT(*) FROM ${POSTS} p WHERE p.source_id = @sourceId AND p.id > @after AND p.id <= @upTo)
         - (SELECT COUNT(*) FROM read_marks m WHERE m.account_id = @accountId AND m.source_id = @sourceId
               AND m.post_id > @after AND m.post_id <= @upTo AND m.is_read = 1)
         - ${UNREAD_MUTED} AS n`);
  const countSome = db.prepare<[ArrivalRange & Limit], { n: number }>('count the posts of a range', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${POSTS} p
     WHERE p.source_id = @sourceId AND p.id > @after AND p.id <= @upTo LIMIT @limit)`);
  const countMarks = db.prepare<[number, number], { n: number }>('count the read marks of an account',
    'SELECT COUNT(*) AS n FROM (SELECT 1 FROM read_marks WHERE account_id = ? LIMIT ?)');
  const insertRange = db.prepare<[ArrivalRange & { now: number; isRead: 0 | 1 }]>('mark the posts of a range as read', `
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
    SELECT @accountId, @sourceId, p.id, @isRead, @now FROM ${POSTS} p
     WHERE p.source_id = @sourceId AND p.id > @after AND p.id <= @upTo ON CONFLICT DO NOTHING`);

  const selectReadAbove = db.prepare<[FollowKey & { readUpTo: number }], { n: number; last: number | null }>(
    'count marks above', `
    SELECT COUNT(*) AS n, MAX(m.post_id) AS last FROM read_marks m
     WHERE m.account_id = @accountId AND m.source_id = @sourceId AND m.post_id > @readUpTo AND m.is_read = 1`);
  const selectOld = db.prepare<[FollowKey & { before: number }], { id: number }>('an old mark', `
    SELECT m.post_id AS id FROM read_marks m
     WHERE m.account_id = @accountId AND m.source_id = @sourceId AND m.is_read = 1 AND m.marked_at < @before LIMIT 1`);
  const removeNeedless = db.prepare<[FollowKey & Limit & { readUpTo: number; before: number }]>('remove old marks', `
    DELETE FROM read_marks WHERE (account_id, source_id, post_id) IN
      (SELECT m.account_id, m.source_id, m.post_id FROM read_marks m
        WHERE m.account_id = @accountId AND m.source_id = @sourceId AND m.marked_at <= @before
          AND m.is_read = (m.post_id <= @readUpTo) LIMIT @limit)`);

  const selectOf = db.prepare<[number, number, number, number], Mark>('marks of account', `
    SELECT source_id AS sourceId, post_id AS postId, is_read AS isRead, marked_at AS markedAt FROM read_marks
     WHERE account_id = ? AND (source_id, post_id) > (?, ?) ORDER BY source_id, post_id LIMIT ?`);
  const removeOf = db.prepare<[number, number]>('remove the read marks of an account', `
    DELETE FROM read_marks WHERE (account_id, source_id, post_id) IN
      (SELECT account_id, source_id, post_id FROM read_marks WHERE account_id = ? LIMIT ?)`);

  return {
    find: (accountId: number, sourceId: number, postId: number): Mark | undefined =>
      select.get(accountId, sourceId, postId),
    /** Returns the read states of those given posts that exist and that the viewer may see. */
    statesOf: (viewer: Pick<Viewer, 'id' | 'role'>, postIds: number[]): PostState[] =>
      selectStates.all({ ...asking(viewer), ids: JSON.stringify(postIds) }),
    /** The latest time (unix ms) of the account's stored marks, also of those that the hub made; 0 without marks. */
    lastMarkedAt: (accountId: number): number => selectLast.get(accountId)?.at ?? 0,
    put: (mark: NewMark): void => void upsert.run(mark),
    remove: (accountId: number, sourceId: number, postId: number): void =>
      void remove.run(accountId, sourceId, postId),

    firstUnread: (range: ArrivalRange, except: number[] = []): number | undefined =>
      selectFirstUnread.get({ ...range, except: JSON.stringify(except) })?.id,
    /** The id of the first arrived unread post that the bounds `selection` leave out; Infinity without such a post. */
    firstNotSelected(selection: Selection): number {
      const older = selection.aboveAt === OLDEST.publishedAt ? undefined : selectUnselectedOlder.get(selection);
      return Math.min(selectUnselectedNewer.get(selection)?.id ?? Infinity, older?.id ?? Infinity);
    },

    selected: (selection: Selection & Limit): number[] => selectSelected.all(selection).map(({ id }) => id),
    /** Ids of posts within `selection` that are marked as unread and not muted; the bound `after` is ignored. */
    markedUnread: (selection: Selection & Limit): number[] => selectMarkedUnread.all(selection).map(({ id }) => id),
    countUnread: (range: ArrivalRange): number => countUnread.get(range)?.n ?? 0,
    count: (range: ArrivalRange, limit: number): number => countSome.get({ ...range, limit })?.n ?? 0,
    /** How many more posts the account may mark as read or unread one by one (as read-state exceptions). */
    left: (accountId: number): number => MARKS_MAX - (countMarks.get(accountId, MARKS_MAX)?.n ?? 0),
    putRange: (range: ArrivalRange & { isRead: 0 | 1 }): number => insertRange.run({ ...range, now: clock() }).changes,

    readAbove: (key: FollowKey, readUpTo: number): { n: number; last: number | null } =>
      selectReadAbove.get({ ...key, readUpTo }) ?? { n: 0, last: null },
    hasOld: (key: FollowKey): boolean => selectOld.get({ ...key, before: clock() - KEPT }) !== undefined,
    /** Removes read-state exceptions, `age` ms or older, that `readUpTo` makes needless; returns how many. */
    removeNeedless: (key: FollowKey, readUpTo: number, limit: number, age = KEPT): number =>
      removeNeedless.run({ ...key, readUpTo, before: clock() - age, limit }).changes,

    listOf: (accountId: number, after: Pick<Mark, 'sourceId' | 'postId'> | undefined, limit: number): Mark[] =>
      selectOf.all(accountId, after?.sourceId ?? 0, after?.postId ?? 0, limit),
    addRead: (rows: [accountId: number, postId: number, ...unknown[]][]): void =>
      void insertRead.run(clock(), JSON.stringify(rows)),
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});

export const stars = store(({ db, clock }) => {
  const insert = db.prepare<[number, string]>('star posts', `
    INSERT INTO stars (account_id, post_id, source_id, published_at, starred_at)
    SELECT r.value ->> 0, p.id, p.source_id, p.published_at, ?
      FROM json_each(?) r CROSS JOIN ${POSTS} p ON p.id = r.value ->> 1 WHERE true ON CONFLICT DO NOTHING`);
  const remove = db.prepare<[number, number]>('remove star', 'DELETE FROM stars WHERE account_id = ? AND post_id = ?');
  const selectOf = db.prepare<[number, number, number], Star>('stars of account', `
    SELECT post_id AS postId, starred_at AS starredAt FROM stars
     WHERE account_id = ? AND post_id > ? ORDER BY post_id LIMIT ?`);
  const removeOf = db.prepare<[number, number]>('remove the stars of an account', `
    DELETE FROM stars WHERE (account_id, post_id) IN
      (SELECT account_id, post_id FROM stars WHERE account_id = ? LIMIT ?)`);

  return {
    add: (rows: [accountId: number, postId: number, ...unknown[]][]): void =>
      void insert.run(clock(), JSON.stringify(rows)),
    remove: (accountId: number, postId: number): void => void remove.run(accountId, postId),
    listOf: (accountId: number, after: number, limit: number): Star[] => selectOf.all(accountId, after, limit),
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});

const UNDOS_MAX = TABLES.read_undo.most;

export const readUndo = store(({ db, clock }) => {
  const insert = db.prepare<[number, number, string], { id: number }>('add undo record',
    'INSERT INTO read_undo (account_id, made_at, changes) VALUES (?, ?, ?) RETURNING id');
  const update = db.prepare<[string, number, number]>('update undo record',
    'UPDATE read_undo SET changes = ? WHERE id = ? AND account_id = ?');
  const select = db.prepare<[number, number], { madeAt: number; changes: string }>('undo record',
    'SELECT made_at AS madeAt, changes FROM read_undo WHERE id = ? AND account_id = ?');
  const remove = db.prepare<[number, number]>('remove undo record',
    'DELETE FROM read_undo WHERE id = ? AND account_id = ?');
  const removeEarlier = db.prepare<[{ accountId: number; kept: number }]>('remove earlier undo records', `
    DELETE FROM read_undo WHERE account_id = @accountId AND id NOT IN
      (SELECT id FROM read_undo WHERE account_id = @accountId ORDER BY id DESC LIMIT @kept)`);
  const selectLive = db.prepare<[number, number, number], { id: number }>('whether an account can undo a marking',
    'SELECT id FROM read_undo WHERE account_id = ? AND made_at BETWEEN ? AND ? LIMIT 1');
  const selectByApp = db.prepare<[number, number, number], { id: number; posts: number }>('marking of an app', `
    SELECT id, json_extract(changes, '$.byApp') AS posts FROM read_undo
     WHERE account_id = ? AND made_at BETWEEN ? AND ? AND json_extract(changes, '$.byApp') > 0
     ORDER BY id DESC LIMIT 1`);
  // Undo records with a time in the future, which were written while the clock was ahead, are removed too.
  const removeOld = db.prepare<[number, number, number]>('remove old undo records', `
    DELETE FROM read_undo WHERE id IN (SELECT id FROM read_undo WHERE made_at <= ? OR made_at > ? LIMIT ?)`);
  const removeOf = db.prepare<[number, number]>('remove the undo records of an account',
    'DELETE FROM read_undo WHERE id IN (SELECT id FROM read_undo WHERE account_id = ? LIMIT ?)');

  return {
    keep(accountId: number, { id, madeAt, changes }: Undoable): number {
      if (id !== 0) {
        update.run(JSON.stringify(changes), id, accountId);
        return id;
      }
      const added = insert.get(accountId, madeAt, JSON.stringify(changes))?.id ?? 0;
      removeEarlier.run({ accountId, kept: UNDOS_MAX });
      return added;
    },

    /** A mark-as-read action. `isLive`: it can still be undone. */
    find(accountId: number, id: number) {
      const row = select.get(id, accountId);
      const isLive = row !== undefined && row.madeAt <= clock() && row.madeAt > clock() - UNDO_MS;
      return row && { madeAt: row.madeAt, changes: JSON.parse(row.changes) as ReadChanges, isLive };
    },

    remove: (accountId: number, id: number): void => void remove.run(id, accountId),
    lastOfApp: (accountId: number): { id: number; posts: number } | undefined =>
      selectByApp.get(accountId, clock() - UNDO_MS + 1, clock()),
    hasLive: (accountId: number): boolean =>
      selectLive.get(accountId, clock() - UNDO_MS, clock()) !== undefined,
    removeOld: (limit: number): number => removeOld.run(clock() - UNDO_MS, clock(), limit).changes,
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
  };
});
