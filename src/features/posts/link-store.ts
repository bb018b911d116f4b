import { createHash } from 'node:crypto';
import { store } from '../hub/hub.ts';

/** The name of the table of posts whose link another source has too; queries of reading lists join this table. */
export const DOUBLES = 'doubles';

/**
 * Maximum number of posts with one link that lists show in one row; later posts with this link have rows of their own.
 * A list looks at all posts of a row, so this number limits what a row costs.
 */
const ROW_MAX = 32;

const KEY_BYTES = 16;

/** A path that leads to the front page of a site. */
const FRONT_PAGE = /^(?:\/(?:index|default|home)\.[a-z]{3,5})?$/i;

/**
 * The key of a post's link: the hash of the address without scheme, `www.`, fragment and slashes at the end. Posts with
 * the same key link to the same page. Null for a link to a front page, and for addresses that are not of the web. The
 * address has no tracking parameters (`safeLink`).
 */
export function linkKey(address: string | null): Buffer | null {
  const url = address === null ? null : URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const path = url.pathname.replace(/(?<!\/)\/+$/, '');
  if (FRONT_PAGE.test(path)) return null;
  const link = url.host.replace(/^www\./, '') + path + url.search;
  return createHash('sha256').update(link).digest().subarray(0, KEY_BYTES);
}

type Linked = { postId: number; sourceId: number; rowId: number | null };

/** The links of posts, and which posts of several sources have the same link. */
export const links = store(({ db }) => {
  const select = db.prepare<[number], { link: Uint8Array }>('link of post',
    'SELECT link FROM post_links WHERE post_id = ?');
  const insert = db.prepare<[Uint8Array, number, number]>('store link of post',
    'INSERT INTO post_links (link, source_id, post_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const removeLink = db.prepare<[number]>('remove link of post', 'DELETE FROM post_links WHERE post_id = ?');
  const removeDouble = db.prepare<[number]>('take post out of its row', 'DELETE FROM doubles WHERE post_id = ?');
  const selectLike = db.prepare<[Uint8Array, number], Linked>('posts with a link', `
    SELECT l.post_id AS postId, l.source_id AS sourceId, d.row_id AS rowId
      FROM post_links l LEFT JOIN doubles d ON d.post_id = l.post_id WHERE l.link = ? LIMIT ?`);
  const join = db.prepare<[number, number, number]>('join post to a row',
    'INSERT INTO doubles (post_id, source_id, row_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');

  return {
    /**
     * Stores the link of a new or changed post, in the caller's transaction, and joins the post to the posts with the
     * same link in other sources. A link that an earlier post of the source has already changes nothing.
     */
    put({ id, sourceId, isNew }: { id: number; sourceId: number; isNew: boolean }, link: Uint8Array | null): void {
      const known = isNew ? undefined : select.get(id)?.link;
      if (known !== undefined && link !== null && Buffer.compare(known, link) === 0) return;
      if (known !== undefined) {
        removeLink.run(id);
        removeDouble.run(id);
      }
      if (link === null || insert.run(link, sourceId, id).changes === 0) return;
      const alike = selectLike.all(link, ROW_MAX + 1).sort((a, b) => a.postId - b.postId);
      if (alike.length < 2 || alike.length > ROW_MAX) return;
      const rowId = alike.find((post) => post.rowId !== null)?.rowId ?? alike[0]?.postId ?? id;
      for (const post of alike) if (post.rowId === null) join.run(post.postId, post.sourceId, rowId);
    },
  };
});
