import type { StoreHub } from '../hub/hub.ts';
import { store } from '../hub/hub.ts';
import { findPosts, prepareSearch, type FoundPosts, type PostSearch } from '../posts/find-posts-store.ts';
import { FULL_TEXTS_SEARCH } from './full-text-store.ts';

const fullTextSearch = store(({ db }) => prepareSearch(db, FULL_TEXTS_SEARCH));

/** Finds posts like `findPosts`, for a member: also posts whose full text contains the typed words. */
export function findForMember(hub: StoreHub, query: PostSearch): FoundPosts {
  const both = [findPosts(hub, query), findPosts(hub, query, fullTextSearch(hub))];
  const stops = both.flatMap(({ reached }) => reached ?? []);
  const reached = stops.length > 0 ? Math.max(...stops) : null; // the newest key at which a search stopped
  const byKey = new Map(both.flatMap(({ posts }) => posts).map((post) => [post.searchKey, post]));
  const found = [...byKey.values()].filter(({ searchKey }) => searchKey >= (reached ?? -Infinity));
  const posts = found.sort((a, b) => b.searchKey - a.searchKey).slice(0, query.limit);
  return { posts, reached: posts.length < query.limit ? reached : null };
}
