import { JOINS_DOUBLES } from '../accounts/preferences-store.ts';
import {
  FOLLOWS, IN_FOLDER, IN_LIST, MAY_SEE, READING_LIST, SEEN_TITLE, type Asking,
} from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { DOUBLES } from '../posts/link-store.ts';
import { POSTS } from '../posts/post-store.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import { notMuted } from './muted-store.ts';

// Doubles are posts of several sources with the same link. A list of several sources shows only the double that arrived
// first, unless the viewer's preferences say otherwise. Each query of a list finds out which doubles are visible.

/** A post with the same link as the post `of`, in another source that the viewer follows and may see. */
export type Double = { of: number; id: number; sourceId: number; sourceTitle: string; sourceKind: string };

/** The number of a source's unread posts that lists leave out, because they show an earlier post with the same link. */
export type LaterDoubles = { inFolder: number; inAll: number; inApps: number };
export type MarkedRange = [sourceId: number, after: number, upTo: number];

/** Maximum number of doubles above the high-water marks, and of others, that one count examines, in about 5 ms. */
const COUNTED_MAX = 4_000;

/** Maximum number of a newly followed source's doubles, the newest, that take over states of posts with their link. */
const FOLLOWED_MAX = 1_000;

/** SQL: the doubles `other` of `own` in followed sources `s` that the viewer may see, with the viewer's follows `f`. */
const FOLLOWED_DOUBLES = `
  CROSS JOIN ${DOUBLES} other ON other.row_id = own.row_id AND other.post_id <> own.post_id
  CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = other.source_id
  CROSS ${joinSource('other.source_id')} AND ${MAY_SEE}`;

/** SQL: as FOLLOWED_DOUBLES, only doubles that are not muted and arrived before `own`. */
const EARLIER_DOUBLES =
  `${FOLLOWED_DOUBLES} AND other.post_id < own.post_id AND ${notMuted('other.source_id', 'other.post_id')}`;

/** SQL: the reading list has no double of the post `p` that arrived before `p`. */
export const STANDS = `NOT EXISTS (SELECT 1 FROM ${DOUBLES} own ${EARLIER_DOUBLES}
  WHERE own.post_id = p.id AND ${IN_LIST}
    AND @joined AND ${JOINS_DOUBLES})`;

/**
 * SQL: no earlier post `other` with the link of the post `p` is in the viewer's `list` (row `t`) and fulfils
 * `condition`.
 */
const standsIn = (list: 'stars' | 'muted_posts', condition: string): string => `NOT EXISTS (SELECT 1 FROM ${DOUBLES} own
  CROSS JOIN ${DOUBLES} other ON other.row_id = own.row_id AND other.post_id < own.post_id
  CROSS JOIN ${list} t ON t.account_id = @viewerId AND t.post_id = other.post_id
  CROSS ${joinSource('other.source_id')}
   LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = other.source_id
  WHERE own.post_id = p.id AND ${MAY_SEE} AND ${condition} AND ${JOINS_DOUBLES})`;

/** SQL: the viewer has not muted the double `other`. */
const IS_SHOWN = notMuted('other.source_id', 'other.post_id');

/** SQL: the starred list, or the muted list, has no double of the post `p` that arrived before `p`. */
export const STANDS_STARRED = standsIn('stars', `${IN_FOLDER} AND @joined AND ${IS_SHOWN}`);
export const STANDS_MUTED = standsIn('muted_posts', `${IN_FOLDER} AND @joined`);

/** SQL: the source of the double `other` is one of `@sources`. */
const AMONG_SOURCES = 'other.source_id IN (SELECT value FROM json_each(@sources))';

/** SQL: no starred post of `@sources` has the link of the post `p` and arrived before `p`. */
export const STANDS_STARRED_AMONG = standsIn('stars', `${AMONG_SOURCES} AND ${IS_SHOWN}`);

/** SQL: among the posts of `@sources`, no double of the post `p` arrived before `p`. */
export const STANDS_AMONG = `NOT EXISTS (SELECT 1 FROM ${DOUBLES} own ${EARLIER_DOUBLES}
  WHERE own.post_id = p.id AND ${AMONG_SOURCES} AND ${JOINS_DOUBLES})`;

/** SQL: the viewer's follows of sources that the viewer may see; none if the viewer's lists do not join doubles. */
const LISTED = `(SELECT f.source_id, f.read_up_to, f.folder_id, f.hide_globally ${READING_LIST} AND ${JOINS_DOUBLES})`;

/** SQL: the double `other` is read, by its read mark `m` or by the high-water mark of its follow `f`. */
const IS_READ = 'COALESCE(m.is_read, other.post_id <= f.read_up_to)';
const MARK = `LEFT JOIN read_marks m
  ON m.account_id = @viewerId AND m.source_id = other.source_id AND m.post_id = other.post_id`;

/** SQL: the newest FOLLOWED_MAX doubles of the source `@sourceId`. */
const OF_SOURCE = `(SELECT post_id, row_id FROM ${DOUBLES} WHERE source_id = @sourceId
  ORDER BY post_id DESC LIMIT ${FOLLOWED_MAX})`;

/** Reads doubles (posts with the same link), and makes doubles read, starred and muted together. */
export const doubles = store(({ db, clock }) => {
  const selectOf = db.prepare<[Asking & { ids: string }], Double>('doubles of posts', `
    SELECT own.post_id AS "of", other.post_id AS id, other.source_id AS sourceId, ${SEEN_TITLE} AS sourceTitle,
           s.kind AS sourceKind
      FROM json_each(@ids) j CROSS JOIN ${DOUBLES} own ON own.post_id = j.value ${FOLLOWED_DOUBLES}
     WHERE ${JOINS_DOUBLES} AND EXISTS (SELECT 1 ${fromSource('own.source_id')} AND ${MAY_SEE})
     ORDER BY other.post_id`);
  const selectUnread = db.prepare<[Asking & { ranges: string; limit: number }], { id: number; sourceId: number }>(
    'unread doubles of marked posts', `
    SELECT DISTINCT other.post_id AS id, other.source_id AS sourceId FROM json_each(@ranges) j
      CROSS JOIN ${DOUBLES} own ON own.source_id = j.value ->> 0
       AND own.post_id > j.value ->> 1 AND own.post_id <= j.value ->> 2 ${FOLLOWED_DOUBLES} ${MARK}
     WHERE NOT ${IS_READ} AND ${JOINS_DOUBLES} AND ${notMuted('own.source_id', 'own.post_id')} LIMIT @limit`);
  const selectLater = db.prepare<[Asking & { folder: null }], LaterDoubles & { sourceId: number }>(
    'count later doubles', `
    SELECT sourceId, SUM(inFolder) AS inFolder, SUM(inAll) AS inAll, COUNT(*) AS inApps FROM (
      SELECT own.source_id AS sourceId, MAX(own.folder_id IS f.folder_id) AS inFolder,
             MAX(NOT own.hide_globally AND NOT f.hide_globally) AS inAll
        FROM (SELECT own.post_id, own.row_id, l.* FROM ${LISTED} l
                CROSS JOIN ${DOUBLES} own ON own.source_id = l.source_id AND own.post_id > l.read_up_to
               LIMIT ${COUNTED_MAX}
             ) own ${EARLIER_DOUBLES} AND ${notMuted('own.source_id', 'own.post_id')}
        LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = own.source_id AND m.post_id = own.post_id
       WHERE m.is_read IS NOT 1 GROUP BY own.post_id
      UNION ALL
      SELECT own.source_id, MAX(own.folder_id IS f.folder_id), MAX(NOT own.hide_globally AND NOT f.hide_globally)
        FROM (SELECT own.post_id, own.row_id, l.* FROM ${LISTED} l
                CROSS JOIN read_marks m INDEXED BY read_marks_unread ON m.account_id = @viewerId
                 AND m.source_id = l.source_id AND m.is_read = 0 AND m.post_id <= l.read_up_to
                CROSS JOIN ${DOUBLES} own ON own.post_id = m.post_id LIMIT ${COUNTED_MAX}
             ) own ${EARLIER_DOUBLES} AND ${notMuted('own.source_id', 'own.post_id')}
       GROUP BY own.post_id)
     GROUP BY sourceId`);
  const takeStates = db.prepare<[Asking & { sourceId: number; readUpTo: number; now: number; limit: number }]>(
    'give doubles the states of their rows', `
    INSERT INTO read_marks (account_id, source_id, post_id, is_read, marked_at)
    SELECT @viewerId, @sourceId, own.post_id, MAX(${IS_READ}) AS isRead, @now
      FROM ${OF_SOURCE} own ${FOLLOWED_DOUBLES} ${MARK}
      LEFT JOIN read_marks o ON o.account_id = @viewerId AND o.source_id = @sourceId AND o.post_id = own.post_id
     WHERE ${JOINS_DOUBLES}
     GROUP BY own.post_id HAVING isRead <> COALESCE(o.is_read, own.post_id <= @readUpTo) LIMIT @limit
    ON CONFLICT DO UPDATE SET is_read = excluded.is_read, marked_at = excluded.marked_at`);
  const takeStars = db.prepare<[Asking & { sourceId: number }]>('star doubles of starred posts', `
    INSERT INTO stars (account_id, post_id, source_id, published_at, starred_at)
    SELECT @viewerId, p.id, p.source_id, p.published_at, MAX(t.starred_at)
      FROM ${OF_SOURCE} own ${FOLLOWED_DOUBLES}
      CROSS JOIN stars t ON t.account_id = @viewerId AND t.post_id = other.post_id
      CROSS JOIN ${POSTS} p ON p.id = own.post_id
     WHERE ${JOINS_DOUBLES} GROUP BY p.id ON CONFLICT DO NOTHING`);
  const takeMutes = db.prepare<[Asking & { sourceId: number }]>('mute doubles of muted posts', `
    INSERT INTO muted_posts (account_id, source_id, post_id, rule_id, published_at)
    SELECT DISTINCT @viewerId, p.source_id, p.id, u.rule_id, p.published_at
      FROM ${OF_SOURCE} own ${FOLLOWED_DOUBLES}
      CROSS JOIN muted_posts u
        ON u.account_id = @viewerId AND u.source_id = other.source_id AND u.post_id = other.post_id
      CROSS JOIN ${POSTS} p ON p.id = own.post_id
     WHERE ${JOINS_DOUBLES} ON CONFLICT DO NOTHING`);

  const selectAmong = db.prepare<[string], { id: number }>('posts that have doubles', `
    SELECT post_id AS id FROM ${DOUBLES} WHERE post_id IN (SELECT value FROM json_each(?))`);

  return {
    /** Returns which posts have the link of a post in another source, even if no reader may see the other post. */
    among: (postIds: number[]): Set<number> =>
      new Set(selectAmong.all(JSON.stringify(postIds)).map(({ id }) => id)),
    /** Posts that the viewer may not see have no doubles: apps send any ids, and must not learn hidden posts’ links. */
    of: (viewer: Asking, postIds: number[]): Double[] => selectOf.all({ ...viewer, ids: JSON.stringify(postIds) }),
    unread: (viewer: Asking, ranges: MarkedRange[], limit: number): { id: number; sourceId: number }[] =>
      selectUnread.all({ ...viewer, ranges: JSON.stringify(ranges), limit }),
    later: (viewer: Asking): Map<number, LaterDoubles> =>
      new Map(selectLater.all({ ...viewer, folder: null }).map(({ sourceId, ...later }) => [sourceId, later])),
    /** Gives posts of a newly followed source the states of their doubles; up to `limit` become read or unread. */
    takeStates(viewer: Asking, sourceId: number, readUpTo: number, limit: number): void {
      takeStates.run({ ...viewer, sourceId, readUpTo, now: clock(), limit });
      takeStars.run({ ...viewer, sourceId });
      takeMutes.run({ ...viewer, sourceId });
    },
  };
});
