import type { Db } from '../../platform/db/open-database.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { store, type StoreHub } from '../hub/hub.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import { parseExpression } from './expression.ts';
import { COLUMNS, POSTS_SEARCH, type Post } from './post-store.ts';
import { searchQuery, type SearchQuery } from './search-query.ts';

/** `sourceId`: searches only this source, which the caller has checked for access. */
type Typed = { viewer: Pick<Viewer, 'id' | 'role'> | null; sourceId?: number | undefined; typed: string };

/** `after`: the row id, in the search index, of the post after which a page of search results begins. */
export type PostSearch = Typed & { after?: number | undefined; limit: number };

/** Maximum number of posts that one search reads and checks one by one (`fits`), in some 10 ms for all posts. */
const CHECKED_MAX = 1_000;

export const prepareSearch = (db: Db, index: string) => ({
  // better-sqlite3 binds numbers as REAL, but FTS5 takes only integers as bounds of its row ids.
  all: db.prepare<[string, number, number, number, number], Post>('search posts', `
    SELECT ${COLUMNS} FROM ${index} CROSS JOIN posts p ON p.search_key = +${index}.rowid
     CROSS ${joinSource('p.source_id')}
     WHERE ${index} MATCH ? AND ${index}.rowid < CAST(? AS INTEGER) AND ${index}.rowid > CAST(? AS INTEGER)
       AND (s.visibility = 'public' OR s.owner_id = ?)
     ORDER BY ${index}.rowid DESC LIMIT ?`),
  ofSource: db.prepare<[string, number, number, number], Post>('search the posts of a source', `
    SELECT ${COLUMNS} FROM ${index} CROSS JOIN posts p ON p.search_key = +${index}.rowid
     CROSS ${joinSource('p.source_id')}
     WHERE ${index} MATCH ? AND ${index}.rowid < CAST(? AS INTEGER) AND ${index}.rowid > CAST(? AS INTEGER)
     ORDER BY ${index}.rowid DESC LIMIT ?`),
});

const postSearch = store(({ db }) => ({
  posts: prepareSearch(db, POSTS_SEARCH),
  owner: db.prepare<[number], { id: number }>('owner of source', `SELECT s.owner_id AS id ${fromSource('?')}`),
}));

/**
 * Returns the query for a typed search; undefined if nothing is searched for. The query matches public posts and the
 * viewer's own private posts or, with `sourceId`, all posts of this source.
 */
export function typedQuery(hub: StoreHub, { viewer, sourceId, typed }: Typed): SearchQuery | undefined {
  const ownerId = sourceId === undefined ? viewer?.id ?? 0 : postSearch(hub).owner.get(sourceId)?.id ?? 0;
  return searchQuery(hub, parseExpression(typed, { isSearch: true }), { viewer, ownerId, sourceId });
}

/** `reached`: the search key of the last checked post if a search stopped before it found enough posts, else null. */
export type FoundPosts = { posts: Post[]; reached: number | null };

/** Returns the posts that a typed search finds, newest first. The caller checks access to the source. */
export function findPosts(
  hub: StoreHub, { after = Number.MAX_SAFE_INTEGER, limit, ...typed }: PostSearch, index = postSearch(hub).posts,
): FoundPosts {
  const query = typedQuery(hub, typed);
  if (query === undefined) return { posts: [], reached: null };
  const { match, above, below, fits } = query;
  const read = (before: number, most: number): Post[] => typed.sourceId !== undefined
    ? index.ofSource.all(match, before, above, most)
    : index.all.all(match, before, above, typed.viewer?.id ?? 0, most);
  const start = Math.min(after, below);
  if (!fits) return { posts: read(start, limit), reached: null };
  const checked = read(start, CHECKED_MAX);
  const found = checked.filter(fits).slice(0, limit);
  const isCut = found.length < limit && checked.length === CHECKED_MAX;
  return { posts: found, reached: isCut ? checked.at(-1)?.searchKey ?? null : null };
}
