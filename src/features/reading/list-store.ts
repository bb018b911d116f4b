import type { Db } from '../../platform/db/open-database.ts';
import { JOINS_DOUBLES } from '../accounts/preferences-store.ts';
import {
  FOLLOW, FOLLOWS, IN_FOLDER, IN_LIST, MAY_SEE, READING_LIST, SEEN_TITLE, type Asking, type ListedFollow,
} from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { POSTS } from '../posts/post-store.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import { ENTRY_OF_POST, READ_SINCE, STANDS, standsAmong } from './entry-store.ts';
import { KEYS, type Key, type ListPlace } from './list-orders.ts';

/** Pages show "999+" from this number on; found and starred posts are counted no further. */
export const COUNT_MAX = 1_000;

/** Maximum number of unread posts with doubles that one count examines, in about 5 ms. */
const DOUBLES_MAX = 4_000;

/** Lists of unread posts keep posts that were read since they were opened only among so many last marks. */
const MARKS_MAX = 2_000;

/** A followed source with its number of unread posts. */
type CountRow = ListedFollow & { id: number; unread: number };

/** The number of a source's unread posts that lists leave out, because they show an earlier post with the same link. */
export type LaterDoubles = { inFolder: number; inAll: number; inApps: number };

/** `folder`: null for lists of all sources. `joined`: 1 to show one post per link if wanted. */
type ListParams = Asking & { folder: string | null; joined: number };
export type PageParams = ListParams & ListPlace & { limit: number };
type SourceParams = PageParams & { sourceId: number };
type BoundParams = SourceParams & { boundAt: number; boundId: number };
type CountParams = ListParams & { limit: number };
type SomeParams = CountParams & { isUnread: number };
type ListedPlace = ListPlace & { sourceId: number };

/** SQL: the follow `f` and the source `s` of the entry `e`, which the viewer may see. */
const OF_FOLLOWED = `CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = e.source_id
        CROSS ${joinSource('e.source_id')} AND ${MAY_SEE}`;

/** SQL: the source `s` of the entry `e`, which the viewer may see, and the follow `f`, if there is one. */
const OF_ANY = `CROSS ${joinSource('e.source_id')} AND ${MAY_SEE}
        LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = e.source_id`;

/** SQL: the source of the entry `o` is in `@folder`, and the viewer may see it. */
const IN_FOLDER_TOO = `EXISTS (SELECT 1 ${fromSource('o.source_id')} AND ${MAY_SEE})
      AND (@folder IS NULL OR EXISTS (SELECT 1 FROM ${FOLLOWS} f
            WHERE f.account_id = @viewerId AND f.source_id = o.source_id AND ${IN_FOLDER}))`;

/** SQL: the starred list, or the muted list, has no earlier post with the link of the entry `e`. */
const STANDS_STARRED =
  `(NOT @joined OR ${standsAmong(`o.starred_at IS NOT NULL AND o.muted_by IS NULL AND ${IN_FOLDER_TOO}`)})`;
const STANDS_MUTED = `(NOT @joined OR ${standsAmong(`o.muted_by IS NOT NULL AND ${IN_FOLDER_TOO}`)})`;

const POSITION = 'e.post_id AS id, e.published_at AS at';
const IS_UNREAD = 'e.is_unread = 1 AND e.muted_by IS NULL';
const IS_STARRED = 'e.starred_at IS NOT NULL AND e.muted_by IS NULL';
const IN_ALL = 'e.place = 2 AND e.muted_by IS NULL AND NOT f.hide_globally';
const IN_LIST_OR_SOURCE = `(CASE WHEN @sourceId = 0 THEN f.source_id IS NOT NULL AND ${IN_LIST}
  ELSE e.source_id = @sourceId END)`;

/** SQL: the number of unread posts of the follow `f`. */
const UNREAD_COUNT = `COALESCE((SELECT unread FROM unread_counts WHERE account_id = f.account_id
                            AND source_id = f.source_id), 0)`;

const SOME = `
    SELECT ${POSITION} FROM (SELECT f.source_id ${READING_LIST} AND ${IN_LIST}) f
      CROSS JOIN entries e INDEXED BY entries_source ON e.account_id = @viewerId AND e.source_id = f.source_id
     WHERE NOT @isUnread AND e.muted_by IS NULL
    UNION ALL SELECT ${POSITION} FROM (SELECT f.source_id ${READING_LIST} AND ${IN_LIST}) f
      CROSS JOIN entries e INDEXED BY entries_source_unread ON e.account_id = @viewerId AND e.source_id = f.source_id
     WHERE @isUnread AND ${IS_UNREAD} LIMIT @limit`;

/** In this SQL, `e` is an entry, `p` a post, `s` its source, `f` the viewer's follow. */
export const lists = store(({ db }) => ({
  /** By the key of an order, and its direction. */
  by: Object.fromEntries(Object.entries(KEYS).map(([key, columns]) => [key, {
    down: prepareLists(db, columns, '<', '>', 'DESC'), up: prepareLists(db, columns, '>', '<', 'ASC'),
  }])) as Record<Key, Record<'up' | 'down', ReturnType<typeof prepareLists>>>,

  sources: db.prepare<[Asking & { folder: string | null }], { sourceId: number }>('sources of a reading list',
    `SELECT f.source_id AS sourceId ${READING_LIST} AND ${IN_LIST}`).all,
  unreadSources: db.prepare<[Asking & { folder: string | null }], { sourceId: number }>('sources with unread posts', `
    SELECT f.source_id AS sourceId ${READING_LIST} AND ${IN_LIST} AND ${UNREAD_COUNT} > 0`).all,
  newestOfEach: db.prepare<[ListParams], ListedPlace>('newest unread post of each source', `
    SELECT n.post_id AS id, n.published_at AS at, n.source_id AS sourceId
      FROM (SELECT f.source_id ${READING_LIST} AND ${IN_LIST}) f
      CROSS JOIN entries n ON n.account_id = @viewerId AND n.post_id =
        (SELECT e.post_id FROM entries e INDEXED BY entries_source_unread
          WHERE e.account_id = @viewerId AND e.source_id = f.source_id AND ${IS_UNREAD}
            AND ${STANDS} ORDER BY e.published_at DESC, e.post_id DESC LIMIT 1)`).all,
  /** Up to `limit` posts of a list, in no order; doubles are not joined. */
  some: db.prepare<[SomeParams], ListPlace>('some posts of a reading list', SOME).all,
  countSome: db.prepare<[SomeParams], { n: number }>(
    'count some posts of a list', `SELECT COUNT(*) AS n FROM (${SOME})`).count,

  counts: db.prepare<[Asking & { folder: null }], CountRow>('unread counts',
    `SELECT s.id, ${FOLLOW}, ${SEEN_TITLE} AS title, s.state, ${UNREAD_COUNT} AS unread ${READING_LIST}`).all,
  later: db.prepare<[Asking], LaterDoubles & { sourceId: number }>('count later doubles', `
    SELECT sourceId, SUM(inFolder) AS inFolder, SUM(inAll) AS inAll, COUNT(*) AS inApps FROM (
      SELECT e.source_id AS sourceId, MAX(g.folder_id IS f.folder_id) AS inFolder,
             MAX(NOT g.hide_globally AND NOT f.hide_globally) AS inAll
        FROM (SELECT e.post_id, e.row_id, e.source_id FROM entries e INDEXED BY entries_row_unread
               WHERE e.account_id = @viewerId AND e.row_id IS NOT NULL AND ${IS_UNREAD} LIMIT ${DOUBLES_MAX}) e
        CROSS JOIN entries o INDEXED BY entries_row
           ON o.account_id = @viewerId AND o.row_id = e.row_id AND o.post_id < e.post_id AND o.place > 0
          AND o.muted_by IS NULL
        CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = e.source_id
        CROSS JOIN ${FOLLOWS} g ON g.account_id = @viewerId AND g.source_id = o.source_id
        CROSS ${joinSource('o.source_id')} AND ${MAY_SEE}
       WHERE ${JOINS_DOUBLES} GROUP BY e.row_id, e.post_id)
     GROUP BY sourceId`).all,
  countArrived: db.prepare<[CountParams & { newest: number }], { n: number }>('count the posts that arrived later', `
    SELECT COUNT(*) AS n
      FROM (SELECT * FROM entries WHERE account_id = @viewerId AND post_id > @newest ORDER BY post_id LIMIT @limit) e
      ${OF_FOLLOWED}
     WHERE e.muted_by IS NULL AND ${IN_LIST} AND ${STANDS}`).get,
  countArrivedIn: db.prepare<[Asking & { sourceId: number; newest: number; limit: number }], { n: number }>(
    'count the posts of a source that arrived later', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${POSTS} p ${ENTRY_OF_POST}
     WHERE p.source_id = @sourceId AND p.id > @newest AND e.muted_by IS NULL LIMIT @limit)`).get,
  countStars: db.prepare<[CountParams], { n: number }>('count stars', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM entries e INDEXED BY entries_starred ${OF_ANY}
     WHERE e.account_id = @viewerId AND ${IS_STARRED} AND ${IN_FOLDER} AND ${STANDS_STARRED} LIMIT @limit)`).get,
}));

function prepareLists(
  db: Db, { ofEntry: key, ofPost }: (typeof KEYS)[Key], onwards: '<' | '>', back: '<' | '>', order: 'ASC' | 'DESC',
) {
  const [place, orderBy] = [`e.post_id AS id, ${key} AS at`, `${key} ${order}, e.post_id ${order}`];
  return {
    all: db.prepare<[PageParams], ListPlace>('posts of all sources', `
      SELECT ${place} FROM entries e INDEXED BY entries_newest ${OF_FOLLOWED}
       WHERE e.account_id = @viewerId AND ${IN_ALL}
         AND (${key}, e.post_id) ${onwards} (@at, @id) AND ${STANDS}
       ORDER BY ${orderBy} LIMIT @limit`).all,
    unread: db.prepare<[PageParams], ListPlace>('unread posts of all sources', `
      SELECT ${place} FROM entries e INDEXED BY entries_unread ${OF_FOLLOWED}
       WHERE e.account_id = @viewerId AND e.is_unread = 1 AND ${IN_ALL}
         AND (${key}, e.post_id) ${onwards} (@at, @id) AND ${STANDS}
       ORDER BY ${orderBy} LIMIT @limit`).all,
    ofSource: db.prepare<[BoundParams], ListPlace>('posts of a followed source', `
      SELECT ${place} FROM entries e INDEXED BY entries_source
       WHERE e.account_id = @viewerId AND e.source_id = @sourceId AND e.muted_by IS NULL
         AND (${key}, e.post_id) ${onwards} (@at, @id)
         AND (${key}, e.post_id) ${back} (@boundAt, @boundId) AND ${STANDS}
       ORDER BY ${orderBy} LIMIT @limit`).all,
    unreadOfSource: db.prepare<[BoundParams], ListPlace>('unread posts of a followed source', `
      SELECT ${place} FROM entries e INDEXED BY entries_source_unread
       WHERE e.account_id = @viewerId AND e.source_id = @sourceId AND ${IS_UNREAD}
         AND (${key}, e.post_id) ${onwards} (@at, @id)
         AND (${key}, e.post_id) ${back} (@boundAt, @boundId) AND ${STANDS}
       ORDER BY ${orderBy} LIMIT @limit`).all,
    /** Posts of a source, which the viewer need not follow. */
    ofAnySource: db.prepare<[SourceParams], ListPlace>('posts of a source', `
      SELECT p.id, ${ofPost} AS at FROM ${POSTS} p ${ENTRY_OF_POST}
       WHERE p.source_id = @sourceId AND e.muted_by IS NULL
         AND (${ofPost}, p.id) ${onwards} (@at, @id)
       ORDER BY ${ofPost} ${order}, p.id ${order} LIMIT @limit`).all,
    /** Nothing but an entry says that a post of a source is read which the viewer does not follow. */
    unreadOfAnySource: db.prepare<[SourceParams], ListPlace>('unread posts of a source', `
      SELECT p.id, ${ofPost} AS at FROM ${POSTS} p ${ENTRY_OF_POST}
       WHERE p.source_id = @sourceId AND e.muted_by IS NULL AND e.is_unread IS NOT 0
         AND (${ofPost}, p.id) ${onwards} (@at, @id)
       ORDER BY ${ofPost} ${order}, p.id ${order} LIMIT @limit`).all,
    /** Posts of a list of unread posts, or (`sourceId`) of a source, that the viewer has read by name since `since`. */
    readSince: db.prepare<[SourceParams & { since: number }], ListedPlace>('posts read since a time', `
      SELECT ${place}, e.source_id AS sourceId
        FROM (SELECT * FROM entries INDEXED BY entries_marked WHERE account_id = @viewerId AND marked_at >= @since
               ORDER BY marked_at DESC LIMIT ${MARKS_MAX}) e ${OF_ANY}
       WHERE ${READ_SINCE} AND e.muted_by IS NULL AND ${IN_LIST_OR_SOURCE}
         AND (${key}, e.post_id) ${onwards} (@at, @id) AND ${STANDS}
       ORDER BY ${orderBy} LIMIT @limit`).all,
    starred: db.prepare<[SourceParams], ListPlace>('starred posts', `
      SELECT ${place} FROM entries e INDEXED BY entries_starred ${OF_ANY}
       WHERE e.account_id = @viewerId AND ${IS_STARRED} AND (@sourceId = 0 OR e.source_id = @sourceId)
         AND ${IN_FOLDER} AND (${key}, e.post_id) ${onwards} (@at, @id) AND ${STANDS_STARRED}
       ORDER BY ${orderBy} LIMIT @limit`).all,
    muted: db.prepare<[SourceParams], ListPlace>('muted posts', `
      SELECT ${place} FROM entries e INDEXED BY entries_muted ${OF_ANY}
       WHERE e.account_id = @viewerId AND e.muted_by IS NOT NULL AND (@sourceId = 0 OR e.source_id = @sourceId)
         AND ${IN_FOLDER} AND (${key}, e.post_id) ${onwards} (@at, @id) AND ${STANDS_MUTED}
       ORDER BY ${orderBy} LIMIT @limit`).all,
  };
}
