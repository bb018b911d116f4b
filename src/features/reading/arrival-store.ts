import { FOLLOWS, MAY_SEE, READING_LIST, type Asking } from '../follows/follow-store.ts';
import { store } from '../hub/hub.ts';
import { POSTS, type WholePost } from '../posts/post-store.ts';
import { AUTHOR } from '../posts/post-text-store.ts';
import { joinSource } from '../sources/source-store.ts';
import { STANDS_AMONG, STANDS_STARRED_AMONG } from './double-store.ts';
import { notMuted } from './muted-store.ts';
import { IS_READ } from './reading-store.ts';

/** Posts with `from` <= id < `to`. `sources`: ids as JSON. `isRead`, `isStarred`: null fits both states. */
export type ArrivedParams = Asking & {
  sources: string; from: number; to: number; isRead: number | null; isStarred: number | null;
  direction: 1 | -1; limit: number;
};

type Id = { id: number };

/** A post with the fields that apps need. `summary`: empty if the post has a title. `isRead`, `isStarred`: 1 or 0. */
export type AppPost = Pick<WholePost, 'id' | 'sourceId' | 'title' | 'summary' | 'url' | 'author' | 'contentHtml'
  | 'publishedAt' | 'updatedAt' | 'createdAt'> & { isRead: number; isStarred: number };

type PostSize = Pick<WholePost, 'id' | 'contentBytes'>;

const STATE = `
  LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
  LEFT JOIN stars t ON t.account_id = @viewerId AND t.post_id = p.id`;
const STAR_FITS = '(@isStarred IS NULL OR (t.post_id IS NOT NULL) = @isStarred)';
const READ_FITS = `(@isRead IS NULL OR ${IS_READ} = @isRead)`;

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
           t.post_id IS NOT NULL AS isStarred
      FROM json_each(@ids) j CROSS JOIN ${POSTS} p ON p.id = j.value CROSS ${joinSource('p.source_id')}
      CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id ${STATE}
     WHERE ${MAY_SEE}`);

  return {
    all: db.prepare<[ArrivedParams], Id>('posts by arrival', `
      SELECT p.id FROM json_each(@sources) j
        CROSS JOIN ${POSTS} p INDEXED BY posts_arrival ON p.source_id = j.value AND p.id >= @from AND p.id < @to
        LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id ${STATE}
       WHERE ${READ_FITS} AND ${STAR_FITS} AND ${STANDS_AMONG} AND ${notMuted('p.source_id', 'p.id')}
       ORDER BY p.id * @direction LIMIT @limit`),
    unread: db.prepare<[ArrivedParams], Id>('unread posts by arrival', `
      SELECT id FROM (
        SELECT p.id FROM json_each(@sources) j
          CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = j.value
          CROSS JOIN ${POSTS} p INDEXED BY posts_arrival ON p.source_id = f.source_id
           AND p.id > max(f.read_up_to, @from - 1) AND p.id < @to ${STATE}
         WHERE m.is_read IS NOT 1 AND ${STAR_FITS} AND ${STANDS_AMONG} AND ${notMuted('p.source_id', 'p.id')}
        UNION ALL SELECT p.id FROM json_each(@sources) j
          CROSS JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = j.value
          CROSS JOIN (SELECT source_id, post_id AS id FROM read_marks INDEXED BY read_marks_unread
                       WHERE account_id = @viewerId AND is_read = 0) p
             ON p.source_id = f.source_id AND p.id >= @from AND p.id < @to AND p.id <= f.read_up_to
          LEFT JOIN stars t ON t.account_id = @viewerId AND t.post_id = p.id
         WHERE ${STAR_FITS} AND ${STANDS_AMONG} AND ${notMuted('p.source_id', 'p.id')})
       ORDER BY id * @direction LIMIT @limit`),
    starred: db.prepare<[ArrivedParams], Id>('starred posts by arrival', `
      SELECT p.id FROM (SELECT post_id AS id, source_id FROM stars
               WHERE account_id = @viewerId AND post_id >= @from AND post_id < @to) p ${joinSource('p.source_id')}
        LEFT JOIN ${FOLLOWS} f ON f.account_id = @viewerId AND f.source_id = p.source_id
        LEFT JOIN read_marks m ON m.account_id = @viewerId AND m.source_id = p.source_id AND m.post_id = p.id
       WHERE ${MAY_SEE} AND ${READ_FITS} AND ${STANDS_STARRED_AMONG}
         AND ${notMuted('p.source_id', 'p.id')}
         AND p.source_id IN (SELECT value FROM json_each(@sources))
       ORDER BY p.id * @direction LIMIT @limit`),

    sizesOf: (ids: number[]): PostSize[] => selectSizes.all(JSON.stringify(ids)),
    whole: (viewer: Asking, ids: number[]): AppPost[] => selectWhole.all({ ...viewer, ids: JSON.stringify(ids) }),

    /** When the newest post of each followed source arrived (unix ms), by source id; null: the source has no post. */
    newestOf: (viewer: Asking): Map<number, number | null> =>
      new Map(selectNewest.all({ ...viewer, folder: null }).map(({ sourceId, at }) => [sourceId, at])),
  };
});
