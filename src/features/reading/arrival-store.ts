import type { Db } from '../../platform/db/open-database.ts';
import { FOLLOWS, MAY_SEE, READING_LIST, type Asking } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { POSTS, type WholePost } from '../posts/post-store.ts';
import { AUTHOR } from '../posts/post-text-store.ts';
import { joinSource } from '../sources/source-store.ts';
import { ENTRY_OF_POST, IS_READ, standsAmong } from './entry-store.ts';

/** Posts with `from` <= id < `to`. `sources`: ids as JSON. `isRead`, `isStarred`: null fits both states. */
export type ArrivedParams = Asking & {
  sources: string; from: number; to: number; isRead: number | null; isStarred: number | null; limit: number;
};

type Id = { id: number };

/** A post with the fields that apps need. `summary`: empty if the post has a title. `isRead`, `isStarred`: 1 or 0. */
export type AppPost = Pick<WholePost, 'id' | 'sourceId' | 'title' | 'summary' | 'url' | 'author' | 'contentHtml'
  | 'publishedAt' | 'updatedAt' | 'createdAt'> & { isRead: number; isStarred: number };

type PostSize = Pick<WholePost, 'id' | 'contentBytes'>;

/** SQL: among the posts of `@sources`, no earlier post has the link of the entry `e`. */
const AMONG_SOURCES = 'o.muted_by IS NULL AND o.source_id IN (SELECT value FROM json_each(@sources))';
const STANDS_AMONG = standsAmong(`o.place > 0 AND ${AMONG_SOURCES}`);

/** SQL: among the starred posts of `@sources`, no earlier post has the link of the entry `e`. */
const STANDS_STARRED_AMONG = standsAmong(`o.starred_at IS NOT NULL AND ${AMONG_SOURCES}`);

const FITS = `e.post_id < @to AND e.muted_by IS NULL AND e.source_id IN (SELECT value FROM json_each(@sources))
         AND (@isRead IS NULL OR NOT e.is_unread = @isRead)
         AND (@isStarred IS NULL OR (e.starred_at IS NOT NULL) = @isStarred)`;

/** Queries for posts in the order of arrival, which is the order of post ids and of the Google Reader API's lists. */
export const arrivals = store(({ db }) => {
  const selectNewest = db.prepare<[Asking & { folder: null }], { sourceId: number; at: number | null }>(
    'newest arrivals of sources', `
    SELECT f.source_id AS sourceId,
           (SELECT created_at FROM ${POSTS} WHERE source_id = f.source_id ORDER BY id DESC LIMIT 1) AS at
    ${READING_LIST}`);
  const selectSizes = db.prepare<[string], PostSize>('sizes of posts', `
    SELECT p.id, octet_length(p.content_html) AS contentBytes
      FROM json_each(?) j CROSS JOIN ${POSTS} p ON p.id = j.value`);
  // A single statement with few columns, because an app may ask for 10,000 posts at once.
  const selectWhole = db.prepare<[Asking & { ids: string }], AppPost>('posts for an app', `
    SELECT p.id, p.source_id AS sourceId, p.title, iif(p.title = '', p.summary, '') AS summary, p.url,
           ${AUTHOR} AS author,
           p.content_html AS contentHtml, p.published_at AS publishedAt, p.updated_at AS updatedAt,
           p.created_at AS createdAt, ${IS_READ} AS isRead,
           e.starred_at IS NOT NULL AS isStarred
      FROM json_each(@ids) j CROSS JOIN ${POSTS} p ON p.id = j.value CROSS ${joinSource('p.source_id')}
      CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id ${ENTRY_OF_POST}
     WHERE ${MAY_SEE}`);

  return {
    up: prepareArrived(db, 'ASC'),
    down: prepareArrived(db, 'DESC'),

    sizesOf: (ids: number[]): PostSize[] => selectSizes.all(JSON.stringify(ids)),
    whole: (viewer: Asking, ids: number[]): AppPost[] => selectWhole.all({ ...viewer, ids: JSON.stringify(ids) }),

    /** When the newest post of each followed source arrived (unix ms), by source id; null: the source has no post. */
    newestOf: (viewer: Asking): Map<number, number | null> =>
      new Map(selectNewest.all({ ...viewer, folder: null }).map(({ sourceId, at }) => [sourceId, at])),
  };
});

function prepareArrived(db: Db, order: 'ASC' | 'DESC') {
  return {
    all: db.prepare<[ArrivedParams], Id>('posts by arrival', `
      SELECT e.post_id AS id FROM entries e
       WHERE e.account_id = @viewerId AND e.post_id >= @from AND ${FITS} AND e.place > 0 AND ${STANDS_AMONG}
       ORDER BY e.post_id ${order} LIMIT @limit`).all,
    unread: db.prepare<[ArrivedParams], Id>('unread posts by arrival', `
      SELECT e.post_id AS id FROM entries e INDEXED BY entries_arrival_unread
       WHERE e.account_id = @viewerId AND e.post_id >= @from AND e.is_unread = 1 AND ${FITS} AND e.place > 0
         AND ${STANDS_AMONG}
       ORDER BY e.post_id ${order} LIMIT @limit`).all,
    starred: db.prepare<[ArrivedParams], Id>('starred posts by arrival', `
      SELECT e.post_id AS id FROM entries e INDEXED BY entries_starred
       WHERE e.account_id = @viewerId AND e.post_id >= @from AND e.starred_at IS NOT NULL AND ${FITS}
         AND ${STANDS_STARRED_AMONG}
       ORDER BY e.post_id ${order} LIMIT @limit`).all,
  };
}
