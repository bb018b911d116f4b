import { store, type StoreHub } from '../hub/hub.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import { COLUMNS, type Post, type PostQuery } from './post-store.ts';
import { searchWords } from './search-words.ts';

/** `after`: the row id, in the search index, of the post after which a page of search results begins. */
type SearchQuery = Typed & { after?: number | undefined; limit: number };
type Typed = Pick<PostQuery, 'viewerId' | 'sourceId'> & { typed: string };

const postSearch = store(({ db }) => ({
  // better-sqlite3 binds numbers as REAL, but FTS5 takes only integers as bounds of its row ids.
  all: db.prepare<[string, number, number, number], Post>('search posts', `
    SELECT ${COLUMNS} FROM posts_search CROSS JOIN posts p ON p.search_key = +posts_search.rowid
     CROSS ${joinSource('p.source_id')}
     WHERE posts_search MATCH ? AND posts_search.rowid < CAST(? AS INTEGER)
       AND (s.visibility = 'public' OR s.owner_id = ?)
     ORDER BY posts_search.rowid DESC LIMIT ?`),
  ofSource: db.prepare<[string, number, number], Post>('search the posts of a source', `
    SELECT ${COLUMNS} FROM posts_search CROSS JOIN posts p ON p.search_key = +posts_search.rowid
     CROSS ${joinSource('p.source_id')}
     WHERE posts_search MATCH ? AND posts_search.rowid < CAST(? AS INTEGER)
     ORDER BY posts_search.rowid DESC LIMIT ?`),
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
export function findPosts(hub: StoreHub, { after = Number.MAX_SAFE_INTEGER, limit, ...typed }: SearchQuery): Post[] {
  const expression = searchExpression(hub, typed);
  if (expression === undefined) return [];
  if (typed.sourceId !== undefined) return postSearch(hub).ofSource.all(expression, after, limit);
  return postSearch(hub).all.all(expression, after, typed.viewerId ?? 0, limit);
}
