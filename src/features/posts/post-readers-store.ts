import { store } from '../hub/hub.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import {
  AFTER, COLUMNS, NEWEST_FIRST, STORED, type Position, type Post, type SearchTerms, type StoredRow,
} from './post-store.ts';
import { searchIndex } from './search-index-store.ts';

/** A post with its possibly outdated copies of its source's visibility and owner (`wasPublic`, `wasOwnerId`). */
export type PostToMove = Post & { contentHash: string; wasPublic: number; wasOwnerId: number };

const SELECT_TO_MOVE = `
  SELECT ${COLUMNS}, p.content_hash AS contentHash, p.is_public AS wasPublic, p.owner_id AS wasOwnerId
    FROM posts p ${joinSource('p.source_id')} WHERE p.source_id = ? AND ${AFTER}`;

export const postReaders = store((hub) => {
  const { db } = hub;
  const index = searchIndex(hub);
  const selectAll = db.prepare<[number, number, number, number], PostToMove>('posts of a source with visibility',
    `${SELECT_TO_MOVE} ${NEWEST_FIRST}`);
  const selectOutdated = db.prepare<[number, number, number, number], PostToMove>('posts with outdated visibility', `
    ${SELECT_TO_MOVE} AND (p.is_public, p.owner_id) IS NOT (s.visibility = 'public', s.owner_id) ${NEWEST_FIRST}`);
  const update = db.prepare<[number, string], StoredRow>('update the readers of a post', `
    UPDATE posts SET (is_public, owner_id) =
           (SELECT s.visibility = 'public', s.owner_id ${fromSource('posts.source_id')})
     WHERE id = ? AND content_hash = ? AND EXISTS (SELECT 1 ${fromSource('posts.source_id')}) RETURNING ${STORED}`);

  return {
    toMove: (sourceId: number, { publishedAt, id }: Position, limit: number): PostToMove[] =>
      selectAll.all(sourceId, publishedAt, id, limit),
    outdated: (sourceId: number, { publishedAt, id }: Position, limit: number): PostToMove[] =>
      selectOutdated.all(sourceId, publishedAt, id, limit),

    /** Copies the source's visibility and owner into the post, unless the post has changed since it was read. */
    move({ id, sourceId, contentHash }: PostToMove, terms: SearchTerms | null): void {
      const row = update.get(id, contentHash);
      if (row && terms) index.put({ ...row, ...terms, sourceId });
    },

    /** Whether this account is the stored owner of any post, even if the post's source has a new owner by now. */
    ownsAny: db.prepare<[accountId: number], { id: number }>('whether an account has any post',
      'SELECT id FROM posts WHERE owner_id = ? LIMIT 1').has,
  };
});
