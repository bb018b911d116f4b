import type { Db } from '../../platform/db/open-database.ts';
import { store, type StoreHub } from '../hub/hub.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import { COLUMNS, POSTS_SEARCH, type Post, type PostQuery } from './post-store.ts';
import { searchWords } from './search-words.ts';

/** `after`: the row id, in the search index, of the post after which a page of search results begins. */
export type SearchQuery = Typed & { after?: number | undefined; limit: number };
type Typed = Pick<PostQuery, 'viewerId' | 'sourceId'> & { typed: string };

/** Prepares searches in a full-text index with the columns, row ids and marks of the index of posts. */
export const prepareSearch = (db: Db, index: string) => ({
  // better-sqlite3 binds numbers as REAL, but FTS5 takes only integers as bounds of its row ids.
  all: db.prepare<[string, number, number, number], Post>('search posts', `
    SELECT ${COLUMNS} FROM ${index} CROSS JOIN posts p ON p.search_key = +${index}.rowid
     CROSS ${joinSource('p.source_id')}
     WHERE ${index} MATCH ? AND ${index}.rowid < CAST(? AS INTEGER)
       AND (s.visibility = 'public' OR s.owner_id = ?)
     ORDER BY ${index}.rowid DESC LIMIT ?`),
  ofSource: db.prepare<[string, number, number], Post>('search the posts of a source', `
    SELECT ${COLUMNS} FROM ${index} CROSS JOIN posts p ON p.search_key = +${index}.rowid
     CROSS ${joinSource('p.source_id')}
     WHERE ${index} MATCH ? AND ${index}.rowid < CAST(? AS INTEGER)
     ORDER BY ${index}.rowid DESC LIMIT ?`),
});

const postSearch = store(({ db }) => ({
  posts: prepareSearch(db, POSTS_SEARCH),
  owner: db.prepare<[number], { id: number }>('owner of source', `SELECT s.owner_id AS id ${fromSource('?')}`),
}));

/**
 * Returns the FTS5 expression for the typed words; undefined without words. The expression matches public posts and
 * the viewer's own private posts or, with `sourceId`, all posts of a source that the caller has checked for access.
 */
export function searchExpression(hub: StoreHub, { viewerId, sourceId, typed }: Typed): string | undefined {
  const ownerId = sourceId === undefined ? viewerId ?? 0 : postSearch(hub).owner.get(sourceId)?.id ?? 0;
  const publicWords = searchWords(typed);
  if (publicWords === undefined) return undefined;
  const words = ownerId === 0 ? publicWords : `(${publicWords}) OR (${searchWords(typed, ownerId)})`;
  return `{title body} : (${words})${sourceId === undefined ? '' : ` AND source : "${sourceId}"`}`;
}

/** Returns posts that contain all typed words, newest first. The caller checks access to the source. */
export function findPosts(
  hub: StoreHub, { after = Number.MAX_SAFE_INTEGER, limit, ...typed }: SearchQuery, index = postSearch(hub).posts,
): Post[] {
  const expression = searchExpression(hub, typed);
  if (expression === undefined) return [];
  if (typed.sourceId !== undefined) return index.ofSource.all(expression, after, limit);
  return index.all.all(expression, after, typed.viewerId ?? 0, limit);
}
