import { MINUTE } from '../../platform/clock.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { isAdmin } from '../accounts/account-store.ts';
import { JOINS_DOUBLES } from '../accounts/preferences-store.ts';
import { asking, FOLLOWS, IN_LIST, MAY_SEE, SEEN_TITLE, type Asking } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { LINK_ROWS } from '../posts/link-store.ts';
import { POSTS, type Position } from '../posts/post-store.ts';
import { fromSource, joinSource, type SourceKind } from '../sources/source-store.ts';

// A reader's list is the table `entries`: one row for each account and post of a source that the account follows, with
// the post's state, and one for each post of another source that the account has marked or starred, or that a rule has
// muted. Lists have the newest 20,000 posts of a source. SQL triggers add rows for new posts (migration 0043);
// `settle-entries.ts` does so for follows.

/** How long marking posts as read can be undone; the stylesheet of a page hides the offer after that. */
export const UNDO_MS = 2 * MINUTE;

/** This many markings of an account can be undone. */
const ACTS_MAX = 20;

export const OLDEST: Position = { publishedAt: -Number.MAX_SAFE_INTEGER, id: 0 };

export type PostState = {
  id: number; sourceId: number; isRead: number; isStarred: number; isFollowed: number; ownTitle: string | null;
};

/** A post with the same link as the post `of`, in another source that the viewer follows and may see. */
export type Double = { of: number; id: number; sourceId: number; sourceTitle: string; sourceKind: SourceKind };

/** An account and a post, and the id of the rule that mutes the post. */
export type EntryRow = [accountId: number, postId: number, ruleId?: number];

export type Mark = { sourceId: number; postId: number; isRead: number; markedAt: number };
export type Star = { postId: number; starredAt: number };
export type MutedPost = { sourceId: number; postId: number; ruleId: number };

/** A marking of several posts, which can be undone. `id`: 0 until it is stored. `madeAt`: unix ms. */
export type ReadAct = { id: number; madeAt: number };

/**
 * Posts of followed sources: of the source `sourceId`, or if that is 0, of `folder` or (null) of all lists, with ids up
 * to `upTo`, below the post `belowId` (time `belowAt`) and above the post `aboveId` (time `aboveAt`).
 */
export type Selection = {
  sourceId: number; folder: string | null; upTo: number;
  belowAt: number; belowId: number; aboveAt: number; aboveId: number;
};

type Marking = { act: number; now: number; limit: number };

/** A post that was marked. `rowId`: of its link; null if no other source has it. */
export type Marked = { rowId: number | null };

/** SQL: whether the post `p` is read, by its entry `e` or, where it has none, by the follow `f`. */
export const IS_READ = 'COALESCE(NOT e.is_unread, p.id <= COALESCE(f.read_up_to, 0))';

/**
 * SQL: no entry `o` of an earlier post with the link of the entry `e` fulfils `condition`. Posts of several sources
 * with the same link are doubles: a list shows only the first, unless the viewer's preferences say otherwise.
 */
export function standsAmong(condition: string): string {
  return `(e.row_id IS NULL OR NOT ${JOINS_DOUBLES} OR NOT EXISTS (
    SELECT 1 FROM entries o INDEXED BY entries_row
     WHERE o.account_id = @viewerId AND o.row_id = e.row_id AND o.post_id < e.post_id AND ${condition}))`;
}

/** SQL: the entry `o` is in the list of `@folder` or, if that is null, of all sources. */
const IS_LISTED = `o.place > 0 AND o.muted_by IS NULL AND EXISTS (
  SELECT 1 FROM ${FOLLOWS} f CROSS ${joinSource('f.source_id')} AND ${MAY_SEE}
   WHERE f.account_id = @viewerId AND f.source_id = o.source_id AND ${IN_LIST})`;

/** SQL: the reading list shows the entry `e`, not an earlier post with its link. */
export const STANDS = `(NOT @joined OR ${standsAmong(IS_LISTED)})`;

/** SQL: the viewer has read the post of the entry `e` since `@since`, by its name and not with a whole list. */
export const READ_SINCE = 'e.marked_at >= @since AND e.is_unread = 0 AND (e.act IS NULL OR e.act < 0)';

/** SQL: the entry `e`, if there is one, of the post `p`. */
export const ENTRY_OF_POST = 'LEFT JOIN entries e ON e.account_id = @viewerId AND e.post_id = p.id';

/** SQL: where entries of the follow `f` and its source `s` stand in lists (`entries.place`). */
export const PLACE = `iif(s.visibility = 'public' OR s.owner_id = f.account_id OR ${isAdmin('f.account_id')},
                2 - f.hide_globally, 0)`;

/** SQL: inserts entries of the rows `r` (JSON), or changes them. Posts of unfollowed sources get an entry by it. */
const INTO_ENTRIES = `INSERT INTO entries (account_id, post_id, source_id, published_at, place, row_id, is_unread,
                         marked_at, act, starred_at, muted_by)
    SELECT r.value ->> 0, p.id, p.source_id, p.published_at, iif(f.source_id IS NULL, 0, ${PLACE}), l.row_id,`;
const OF_ROWS = `FROM json_each(@rows) r CROSS JOIN ${POSTS} p ON p.id = r.value ->> 1
      CROSS ${joinSource('p.source_id')}
      LEFT JOIN ${FOLLOWS} f ON f.account_id = r.value ->> 0 AND f.source_id = p.source_id
      LEFT JOIN ${LINK_ROWS} l ON l.post_id = p.id
     WHERE true ON CONFLICT (account_id, post_id) DO UPDATE SET`;

/** SQL: marks up to `@limit` of the entries `e` that the statement finds within the bounds of a `Selection`. */
const MARK = `UPDATE entries SET is_unread = 0, marked_at = @now, act = @act
     WHERE account_id = @viewerId AND post_id IN (
      SELECT e.post_id FROM`;
const IN_BOUNDS = `AND e.account_id = @viewerId AND e.is_unread = 1 AND e.muted_by IS NULL AND e.post_id <= @upTo
         AND (e.published_at, e.post_id) < (@belowAt, @belowId) AND (e.published_at, e.post_id) > (@aboveAt, @aboveId)
       LIMIT @limit) RETURNING row_id AS rowId`;

const WITH_RULE = `CASE WHEN muted_by IS NULL THEN excluded.muted_by
  WHEN EXISTS (SELECT 1 FROM json_each(entries.muted_by) WHERE value = excluded.muted_by ->> 0) THEN muted_by
  ELSE json_insert(muted_by, '$[#]', excluded.muted_by ->> 0) END`;

/** Reads and changes what accounts have read and starred. */
export const entries = store(({ db, clock }) => {
  const selectStates = db.prepare<[Asking & { ids: string }], PostState>('read the read states of posts', `
    SELECT p.id, p.source_id AS sourceId, ${IS_READ} AS isRead,
           e.starred_at IS NOT NULL AS isStarred, f.source_id IS NOT NULL AS isFollowed, f.title AS ownTitle
      FROM json_each(@ids) j CROSS JOIN ${POSTS} p ON p.id = j.value CROSS ${joinSource('p.source_id')}
      LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id ${ENTRY_OF_POST}
     WHERE ${MAY_SEE}`);
  const selectLast = db.prepare<[number], { at: number }>('time of the last mark of an account', `
    SELECT marked_at AS at FROM entries INDEXED BY entries_marked
     WHERE account_id = ? AND marked_at IS NOT NULL AND is_unread = 0 ORDER BY marked_at DESC LIMIT 1`);
  const selectDoubles = db.prepare<[Asking & { ids: string }], Double>('doubles of posts', `
    SELECT own.post_id AS "of", o.post_id AS id, o.source_id AS sourceId, ${SEEN_TITLE} AS sourceTitle,
           s.kind AS sourceKind
      FROM json_each(@ids) j CROSS JOIN ${LINK_ROWS} own ON own.post_id = j.value
      CROSS JOIN entries o INDEXED BY entries_row
         ON o.account_id = @viewerId AND o.row_id = own.row_id AND o.post_id <> own.post_id
      CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = o.source_id
      CROSS ${joinSource('o.source_id')} AND ${MAY_SEE}
     WHERE ${JOINS_DOUBLES} AND EXISTS (SELECT 1 ${fromSource('own.source_id')} AND ${MAY_SEE})
     ORDER BY o.post_id`);
  const selectLinked = db.prepare<[string], { id: number }>('posts that have doubles',
    `SELECT post_id AS id FROM ${LINK_ROWS} WHERE post_id IN (SELECT value FROM json_each(?))`);

  const putRead = db.prepare<[{ rows: string; isUnread: number; act: number | null; now: number }]>('mark posts', `
    ${INTO_ENTRIES} @isUnread, @now, @act, NULL, NULL ${OF_ROWS}
      is_unread = excluded.is_unread, marked_at = excluded.marked_at, act = excluded.act`);
  const putStars = db.prepare<[{ rows: string; now: number }]>('star posts', `
    ${INTO_ENTRIES} p.id > COALESCE(f.read_up_to, 0), NULL, NULL, @now, NULL ${OF_ROWS}
      starred_at = COALESCE(starred_at, excluded.starred_at)`);
  const removeStars = db.prepare<[{ rows: string }]>('remove stars', `
    UPDATE entries SET starred_at = NULL WHERE (account_id, post_id) IN
      (SELECT value ->> 0, value ->> 1 FROM json_each(@rows)) AND starred_at IS NOT NULL`);
  const removeStateless = db.prepare<[{ rows: string }]>('remove entries without a state', `
    DELETE FROM entries WHERE (account_id, post_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(@rows))
       AND place = 0 AND starred_at IS NULL AND muted_by IS NULL AND marked_at IS NULL AND NOT EXISTS (
         SELECT 1 FROM ${FOLLOWS} f WHERE f.account_id = entries.account_id AND f.source_id = entries.source_id)`);

  const rowsOf = (accountId: number, postIds: number[]): string => JSON.stringify(postIds.map((id) => [accountId, id]));

  return {
    /** Returns the read states of those given posts that exist and that the viewer may see. */
    statesOf: (viewer: Pick<Viewer, 'id' | 'role'>, postIds: number[]): PostState[] =>
      selectStates.all({ ...asking(viewer), ids: JSON.stringify(postIds) }),
    /** When the account last marked a post as read (unix ms); 0 without such a mark. */
    lastReadAt: (accountId: number): number => selectLast.get(accountId)?.at ?? 0,
    /** Posts that the viewer may not see have no doubles: apps send any ids, and must not learn hidden posts’ links. */
    doublesOf: (viewer: Asking, postIds: number[]): Double[] =>
      selectDoubles.all({ ...viewer, ids: JSON.stringify(postIds) }),
    /** Returns which posts have the link of a post in another source, even if no reader may see the other post. */
    linkedAmong: (postIds: number[]): Set<number> =>
      new Set(selectLinked.all(JSON.stringify(postIds)).map(({ id }) => id)),

    /** `act`: the marking that marks several posts as read, at its time; none: they are marked one by one, now. */
    setRead(accountId: number, postIds: number[], isRead: boolean, act?: ReadAct): void {
      const rows = rowsOf(accountId, postIds);
      putRead.run({ rows, isUnread: isRead ? 0 : 1, act: act ? -act.id : null, now: act?.madeAt ?? clock() });
    },
    star: (accountId: number, postIds: number[]): void =>
      void putStars.run({ rows: rowsOf(accountId, postIds), now: clock() }),
    unstar(accountId: number, postIds: number[]): void {
      const rows = rowsOf(accountId, postIds);
      removeStars.run({ rows });
      removeStateless.run({ rows });
    },

    /** What rules do with posts of several accounts. */
    putRead: (rows: EntryRow[]): void =>
      void putRead.run({ rows: JSON.stringify(rows), isUnread: 0, act: null, now: clock() }),
    putStars: (rows: EntryRow[]): void => void putStars.run({ rows: JSON.stringify(rows), now: clock() }),

    marksOf: db.prepare<[accountId: number, after: number, limit: number], Mark>('marks of account', `
      SELECT source_id AS sourceId, post_id AS postId, NOT is_unread AS isRead, marked_at AS markedAt FROM entries
       WHERE account_id = ? AND post_id > ? AND marked_at IS NOT NULL ORDER BY post_id LIMIT ?`).all,
    starsOf: db.prepare<[accountId: number, after: number, limit: number], Star>('stars of account', `
      SELECT post_id AS postId, starred_at AS starredAt FROM entries
       WHERE account_id = ? AND post_id > ? AND starred_at IS NOT NULL ORDER BY post_id LIMIT ?`).all,
    removeOf: db.prepare<[accountId: number, limit: number]>('remove the entries of an account', `
      DELETE FROM entries WHERE (account_id, post_id) IN
        (SELECT account_id, post_id FROM entries WHERE account_id = ? LIMIT ?)`).change,
  };
});

/** What rules do to hide posts from lists. */
export const mutedPosts = store(({ db }) => {
  const mute = db.prepare<[{ rows: string }]>('mute posts', `
    ${INTO_ENTRIES} p.id > COALESCE(f.read_up_to, 0), NULL, NULL, NULL, json_array(r.value ->> 2) ${OF_ROWS}
      muted_by = ${WITH_RULE}`);
  const countAmong = db.prepare<[number, string], { n: number }>('count the muted posts among posts', `
    SELECT COUNT(*) AS n FROM entries
     WHERE account_id = ? AND post_id IN (SELECT value FROM json_each(?)) AND muted_by IS NOT NULL`);
  const selectPage = db.prepare<[number, number, number], Omit<MutedPost, 'ruleId'> & { rules: string }>(
    'muted posts of account', `
    SELECT source_id AS sourceId, post_id AS postId, muted_by AS rules FROM entries
     WHERE account_id = ? AND post_id > ? AND muted_by IS NOT NULL ORDER BY post_id LIMIT ?`);

  return {
    mute: (rows: EntryRow[]): void => void mute.run({ rows: JSON.stringify(rows) }),
    /** Takes a rule off the posts that it has muted; a post that no other rule has muted is in lists again. */
    unmute: db.prepare<[{ accountId: number; ruleId: number; limit: number }]>('show the posts of a rule', `
      UPDATE entries
         SET muted_by = NULLIF(
               (SELECT json_group_array(value) FROM json_each(entries.muted_by) WHERE value <> @ruleId), '[]')
       WHERE account_id = @accountId AND post_id IN
         (SELECT m.post_id FROM entries m INDEXED BY entries_muted CROSS JOIN json_each(m.muted_by) r
           WHERE m.account_id = @accountId AND m.muted_by IS NOT NULL AND r.value = @ruleId LIMIT @limit)`).change,
    countAmong: (accountId: number, postIds: number[]): number =>
      countAmong.get(accountId, JSON.stringify(postIds))?.n ?? 0,
    hasAny: db.prepare<[viewer: Asking], { id: number }>('whether a post is muted', `
      SELECT e.post_id AS id FROM entries e INDEXED BY entries_muted ${joinSource('e.source_id')}
       WHERE e.account_id = @viewerId AND e.muted_by IS NOT NULL AND ${MAY_SEE} LIMIT 1`).has,
    listOf: (accountId: number, after: number, limit: number): MutedPost[] =>
      selectPage.all(accountId, after, limit).flatMap(({ rules, ...post }) =>
        (JSON.parse(rules) as number[]).map((ruleId) => ({ ...post, ruleId }))),
  };
});

/** Markings of several posts. Of those with a time in the future, the clock was ahead: they cannot be undone. */
export const readActs = store(({ db, clock }) => {
  const insert = db.prepare<[number, number, number | null], { id: number }>('add marking',
    'INSERT INTO read_acts (account_id, made_at, by_app) VALUES (?, ?, ?) RETURNING id');
  const removeEarlier = db.prepare<[{ accountId: number; kept: number }]>('remove earlier markings', `
    DELETE FROM read_acts WHERE account_id = @accountId AND id NOT IN
      (SELECT id FROM read_acts WHERE account_id = @accountId ORDER BY id DESC LIMIT @kept)`);
  const addByApp = db.prepare<[number, number]>('count the posts of a marking by an app',
    'UPDATE read_acts SET by_app = by_app + ? WHERE id = ?');
  const select = db.prepare<[number, number, number, number], ReadAct>('marking', `
    SELECT id, made_at AS madeAt FROM read_acts WHERE id = ? AND account_id = ? AND made_at > ? AND made_at <= ?`);
  const selectByApp = db.prepare<[number, number, number], { id: number; posts: number }>('marking of an app', `
    SELECT id, by_app AS posts FROM read_acts
     WHERE account_id = ? AND made_at > ? AND made_at <= ? AND by_app > 0 ORDER BY id DESC LIMIT 1`);
  const removeOld = db.prepare<[number, number, number]>('remove old markings', `
    DELETE FROM read_acts WHERE id IN (SELECT id FROM read_acts WHERE made_at <= ? OR made_at > ? LIMIT ?)`);

  // In the order of the list, because the posts of a source lie far apart: a million took 10 s, source by source 60.
  const markAll = db.prepare<[Asking & Selection & Marking], Marked>('mark posts of all lists as read', `
    ${MARK} entries e INDEXED BY entries_unread
        CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = e.source_id AND NOT f.hide_globally
        CROSS ${joinSource('e.source_id')} AND ${MAY_SEE}
       WHERE e.place = 2 ${IN_BOUNDS}`);
  const markSources = db.prepare<[Asking & Selection & Marking], Marked>('mark posts of sources as read', `
    ${MARK} ${FOLLOWS} f CROSS ${joinSource('f.source_id')} AND ${MAY_SEE}
        CROSS JOIN entries e INDEXED BY entries_source_unread ON e.source_id = f.source_id
       WHERE f.account_id = @viewerId AND (CASE WHEN @sourceId = 0 THEN ${IN_LIST} ELSE f.source_id = @sourceId END)
         ${IN_BOUNDS}`);
  const markRows = db.prepare<[Asking & Omit<Marking, 'limit'> & { rowIds: string }]>('mark doubles of marked posts', `
    UPDATE entries SET is_unread = 0, marked_at = @now, act = @act WHERE account_id = @viewerId AND post_id IN (
      SELECT o.post_id FROM json_each(@rowIds) j
        CROSS JOIN entries o INDEXED BY entries_row ON o.account_id = @viewerId AND o.row_id = j.value
        CROSS ${joinSource('o.source_id')} AND ${MAY_SEE}
       WHERE o.is_unread = 1 AND o.place > 0 AND ${JOINS_DOUBLES})`);

  return {
    /** Stores a marking. `isByApp`: pages then offer to undo it, with the number of posts that `addByApp` adds up. */
    add(accountId: number, madeAt: number, isByApp: boolean): number {
      const id = insert.get(accountId, madeAt, isByApp ? 0 : null)?.id ?? 0;
      removeEarlier.run({ accountId, kept: ACTS_MAX });
      return id;
    },
    addByApp: (id: number, posts: number): void => void addByApp.run(posts, id),
    /** A marking that can still be undone. */
    live: (accountId: number, id: number): ReadAct | undefined =>
      select.get(id, accountId, clock() - UNDO_MS, clock()),
    lastOfApp: (accountId: number): { id: number; posts: number } | undefined =>
      selectByApp.get(accountId, clock() - UNDO_MS, clock()),
    /** Marks up to `limit` unread posts, which rules have not muted. */
    markSome(viewer: Asking, selection: Selection, { id: act, madeAt: now }: ReadAct, limit: number): Marked[] {
      const isAll = selection.sourceId === 0 && selection.folder === null;
      return (isAll ? markAll : markSources).all({ ...viewer, ...selection, act, now, limit });
    },
    /** Marks the unread posts with the links of these rows. */
    markRows: (viewer: Asking, { id: act, madeAt: now }: ReadAct, rowIds: number[]): void =>
      void markRows.run({ ...viewer, act, now, rowIds: JSON.stringify(rowIds) }),
    /** Marks up to `limit` posts as unread that the account has not marked since the act; returns how many. */
    undo: db.prepare<[{ accountId: number; limit: number } & ReadAct]>('undo a marking, some posts', `
      UPDATE entries SET is_unread = 1, marked_at = iif(act < 0, 0, NULL), act = NULL
       WHERE account_id = @accountId AND post_id IN
        (SELECT post_id FROM entries INDEXED BY entries_marked
          WHERE account_id = @accountId AND marked_at = @madeAt AND act IN (@id, -@id) LIMIT @limit)`).change,
    remove: db.prepare<[id: number]>('remove marking', 'DELETE FROM read_acts WHERE id = ?').run,
    removeOld: (limit: number): number => removeOld.run(clock() - UNDO_MS, clock(), limit).changes,
    removeOf: db.prepare<[accountId: number, limit: number]>('remove the markings of an account',
      'DELETE FROM read_acts WHERE id IN (SELECT id FROM read_acts WHERE account_id = ? LIMIT ?)').change,
  };
});
