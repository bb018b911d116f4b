import { createHash } from 'node:crypto';
import { counts, store } from '../hub/hub.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';

export const LINK_ROWS = 'link_rows';

/**
 * Maximum number of posts with one link that lists show in one row; later ones have rows of their own. For each row, a
 * list examines all posts with its link, so more would make lists slow. Posts of other owners' private sources do not
 * count: else owners could learn that such a source has a link.
 */
const ROW_MAX = 32;

/** If so many sources have a link, also private ones, lists show each new post with it in a row of its own. */
const LINKED_MAX = 1_000;

const LINKED_UP_TO = 'posts_linked_up_to';

const KEY_BYTES = 16;

const FRONT_PAGE = /^(?:\/(?:index|default|home)\.[a-z]{3,5})?$/i;

/**
 * The key of a post's link: the hash of the address without scheme, `www.`, fragment and slashes at the path's end.
 * Posts with the same key link to the same page. Returns null for a link to a front page, also with a query, and for an
 * address other than http and https. The caller removes tracking parameters from `address` (`safeLink`).
 */
export function linkKey(address: string | null): Buffer | null {
  const url = address === null ? null : URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  const path = url.pathname.replace(/(?<!\/)\/+$/, '');
  if (FRONT_PAGE.test(path)) return null;
  const link = url.host.replace(/^www\./, '') + path + url.search;
  return createHash('sha256').update(link).digest().subarray(0, KEY_BYTES);
}

type Linked = { postId: number; sourceId: number; rowId: number | null; isSeen: number };
type Unlinked = { id: number; sourceId: number; url: string | null; isLinked: number };

export const links = store((hub) => {
  const { db } = hub;
  const select = db.prepare<[number], { link: Uint8Array }>('link of post',
    'SELECT link FROM post_links WHERE post_id = ?');
  const insert = db.prepare<[Uint8Array, number, number]>('store link of post',
    'INSERT INTO post_links (link, source_id, post_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const removeLink = db.prepare<[number]>('remove link of post', 'DELETE FROM post_links WHERE post_id = ?');
  const removeDouble = db.prepare<[number]>('take post out of its row', 'DELETE FROM link_rows WHERE post_id = ?');
  const selectLike = db.prepare<[number, Uint8Array, number], Linked>('posts with a link', `
    SELECT l.post_id AS postId, l.source_id AS sourceId, d.row_id AS rowId,
           s.visibility = 'public' OR s.owner_id = (SELECT s.owner_id ${fromSource('?')}) AS isSeen
      FROM post_links l ${joinSource('l.source_id')} LEFT JOIN link_rows d ON d.post_id = l.post_id
     WHERE l.link = ? LIMIT ?`);
  const selectAfter = db.prepare<[number, number], Unlinked>('posts after a post, with their links', `
    SELECT p.id, p.source_id AS sourceId, p.url, l.post_id IS NOT NULL AS isLinked
      FROM posts p LEFT JOIN post_links l ON l.post_id = p.id WHERE p.id > ? ORDER BY p.id LIMIT ?`);
  const selectFree = db.prepare<[], { rowId: number }>('number for a new row of posts with the same link',
    'SELECT COALESCE(MAX(row_id), 0) + 1 AS rowId FROM link_rows');
  const join = db.prepare<[number, number, number]>('join post to a row',
    'INSERT INTO link_rows (post_id, source_id, row_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');

  /** All posts with the link; none if a row would have too many, of which it reads few: thousands may have the link. */
  function notTooMany(sourceId: number, link: Uint8Array): Linked[] {
    const alike: Linked[] = [];
    const note = (post: Linked): boolean => alike.push(post) > 0 && post.isSeen === 1;
    const seen = selectLike.first(ROW_MAX + 1, note, sourceId, link, LINKED_MAX);
    return seen.length > ROW_MAX || alike.length === LINKED_MAX ? [] : alike;
  }

  const linked = {
    /** Removes rows of version 2.0.0, which migration 0042 has copied. */
    emptyDoubles: db.prepare<[limit: number]>('empty doubles',
      'DELETE FROM doubles WHERE post_id IN (SELECT post_id FROM doubles LIMIT ?)').change,
    /**
     * Stores the link of a new or changed post, in the caller's transaction, and joins the post to the posts with the
     * same link in other sources. If another post of the source has the link, the link is not stored. `isOld`: readers
     * may already have read or starred the post, so the posts of its row join anew, and take over that state.
     */
    put(
      { id, sourceId, isNew, isOld = false }: { id: number; sourceId: number; isNew: boolean; isOld?: boolean },
      link: Uint8Array | null,
    ): void {
      const known = isNew ? undefined : select.get(id)?.link;
      if (known !== undefined && link !== null && Buffer.compare(known, link) === 0) return;
      if (known !== undefined) {
        removeLink.run(id);
        removeDouble.run(id);
      }
      if (link === null || insert.run(link, sourceId, id).changes === 0) return;
      const alike = notTooMany(sourceId, link).sort((a, b) => a.postId - b.postId);
      const [first] = alike.filter(({ postId }) => postId !== id);
      if (!first) return;
      // A post's id cannot number a new row: an old row that the post has left may still have the id as its number.
      const joined = alike.find(({ rowId }) => rowId !== null)?.rowId;
      const rowId = joined ?? selectFree.get()?.rowId ?? 1;
      if (joined === undefined) join.run(first.postId, first.sourceId, rowId);
      join.run(id, sourceId, rowId);
      for (const other of isOld ? alike : []) {
        if (other !== first && other.rowId === null) continue;
        removeDouble.run(other.postId);
        join.run(other.postId, other.sourceId, rowId); // SQL triggers give the post its row's states
      }
    },

    /** Scheduled task: stores the missing link keys of the next `limit` posts; returns the number of examined posts. */
    putOld(limit: number): number {
      const after = counts(hub).value(LINKED_UP_TO);
      const some = selectAfter.all(after, limit);
      for (const { id, sourceId, url, isLinked } of some) {
        if (isLinked === 0) linked.put({ id, sourceId, isNew: true, isOld: true }, linkKey(url));
      }
      const last = some.at(-1);
      if (last) counts(hub).add(LINKED_UP_TO, '', last.id - after);
      return some.length;
    },
  };
  return linked;
});
