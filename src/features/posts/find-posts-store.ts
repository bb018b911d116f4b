import type { Db } from '../../platform/db/open-database.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { store, type StoreHub } from '../hub/hub.ts';
import { fromSource, joinSource } from '../sources/source-store.ts';
import { parseExpression } from './expression.ts';
import { prepareWordsFrom } from './index-words-store.ts';
import { COLUMNS, posts, type Post } from './post-store.ts';
import { contentWords } from './read-words.ts';
import { indexedFrom, POSTS_WORDS, timeOfKey } from './search-index-store.ts';
import { searchQuery, type Searched, type SearchQuery } from './search-query.ts';
import { searchTerms } from './search-words.ts';
import { prepareIndex, stretchesOf, type Index, type KeyRange } from './stretches-store.ts';
import { tokensOf } from './tokens-store.ts';

/** `sourceId`: searches only this source, which the caller has checked for access. */
type Typed = { viewer: Pick<Viewer, 'id' | 'role'> | null; sourceId?: number | undefined; typed: string };

/** `after`: the row id, in the search index, after which a page of search results begins. */
export type PostSearch = Typed & { after?: number | undefined; limit: number };

type FindParams = KeyRange & { match: string; viewerId: number; sourceId: number };

/** What a search looks into: the index of posts and, for members, the index of full texts. */
export type SearchedIndexes = Searched & { indexes: Index[]; find: ReturnType<typeof prepareFind> };

/** A search stops when its stretches have cost this much, after some 10 ms. */
const COST_MAX = 30;

/** SQL: the row ids (`place`) between `@key` and `@end` at which one of the indexes matches `@match`. */
export function matchesIn(indexes: string[], onwards: '<' | '>', back: '<' | '>'): string {
  return indexes.map((index) => `SELECT rowid AS place FROM ${index} WHERE ${index} MATCH @match
    AND rowid ${onwards} CAST(@key AS INTEGER) AND rowid ${back} CAST(@end AS INTEGER)`).join(' UNION ');
}

export function prepareFind(db: Db, indexes: string[]) {
  return db.prepare<[FindParams], Post>('search posts', `
    WITH n (place) AS MATERIALIZED (${matchesIn(indexes, '<', '>')})
    SELECT ${COLUMNS} FROM n CROSS JOIN posts p ON p.search_key = n.place CROSS ${joinSource('p.source_id')}
     WHERE s.visibility = 'public' OR s.owner_id = @viewerId OR p.source_id = @sourceId ORDER BY n.place DESC`);
}

const owners = store(({ db }) =>
  db.prepare<[number], { id: number }>('owner of source', `SELECT s.owner_id AS id ${fromSource('?')}`));

export const postsSearch = store((hub) => ({
  indexes: [prepareIndex(hub.db, POSTS_WORDS)],
  find: prepareFind(hub.db, [POSTS_WORDS]),
  wordsFrom: prepareWordsFrom(hub.db, POSTS_WORDS),
  textsOf: (postId: number): string[][] => textsOf(hub, postId),
}));

/** The tokens of a post's title, and of its author and content; empty if the post is gone. */
function textsOf(hub: StoreHub, postId: number): string[][] {
  const post = posts(hub).find(postId);
  return post ? [tokensOf(searchTerms(post.title)), contentWords(post.contentHtml, post.author ?? '')] : [];
}

/**
 * Returns the query for a typed search; undefined if nothing is searched for. The query matches public posts and the
 * viewer's own private posts or, with `sourceId`, all posts of this source.
 */
export function typedQuery(
  hub: StoreHub, { viewer, sourceId, typed }: Typed, searched: Searched = postsSearch(hub),
): SearchQuery | undefined {
  const ownerId = sourceId === undefined ? viewer?.id ?? 0 : owners(hub).get(sourceId)?.id ?? 0;
  return searchQuery(hub, parseExpression(typed, { isSearch: true }), { viewer, ownerId, sourceId, searched });
}

/**
 * `reached`: the search key at which a search stopped before it found enough posts, else null. `searchedTo`: the time
 * (unix ms) back to which the search looked; null if it found enough posts or looked at all posts.
 */
export type FoundPosts = { posts: Post[]; reached: number | null; searchedTo: number | null };

/** Returns the posts that a typed search finds, newest first. The caller checks access to the source. */
export function findPosts(
  hub: StoreHub, { after = Number.MAX_SAFE_INTEGER, limit, ...typed }: PostSearch,
  searched: SearchedIndexes = postsSearch(hub),
): FoundPosts {
  const query = typedQuery(hub, typed, searched);
  if (query === undefined) return { posts: [], reached: null, searchedTo: null };
  const found: Post[] = [];
  const stopAt = (key: number): FoundPosts => ({ posts: found, reached: key, searchedTo: timeOfKey(key) });
  const rights = { viewerId: typed.viewer?.id ?? 0, sourceId: typed.sourceId ?? 0 };
  const range = { key: Math.min(after, query.below), end: query.above };
  let spent = 0;
  for (const { match, cost, ...stretch } of stretchesOf(searched.indexes, query, range, false)) {
    let last = stretch.key;
    const fits = (post: Post): boolean => {
      if (!query.isSpent()) last = post.searchKey;
      return query.fits(post);
    };
    const params = { ...stretch, ...rights };
    if (match !== undefined) found.push(...searched.find.first(limit - found.length, fits, { ...params, match }));
    if (found.length === limit) return { posts: found, reached: null, searchedTo: null };
    if (query.isSpent()) return stopAt(last);
    spent += cost;
    if (spent >= COST_MAX && stretch.end > range.end) return stopAt(stretch.end + 1);
  }
  return { posts: found, reached: null, searchedTo: endOfIndex(hub, query) };
}

/** The time (unix ms) back to which the worker has indexed posts so far, if the search asks for older posts too. */
export function endOfIndex(hub: StoreHub, { above }: SearchQuery): number | null {
  const from = indexedFrom(hub);
  return from > -Number.MAX_SAFE_INTEGER && above === from - 1 ? timeOfKey(from) : null;
}
