import type { StoreHub } from '../hub/hub.ts';
import { store } from '../hub/hub.ts';
import { findPosts, prepareSearch, type SearchQuery } from '../posts/find-posts-store.ts';
import type { Post } from '../posts/post-store.ts';
import { FULL_TEXTS_SEARCH } from './full-text-store.ts';

const fullTextSearch = store(({ db }) => prepareSearch(db, FULL_TEXTS_SEARCH));

/** Finds posts like `findPosts`, for a member: also posts whose full text contains the typed words. */
export function findForMember(hub: StoreHub, query: SearchQuery): Post[] {
  const found = [...findPosts(hub, query), ...findPosts(hub, query, fullTextSearch(hub))];
  const byKey = new Map(found.map((post) => [post.searchKey, post]));
  return [...byKey.values()].sort((a, b) => b.searchKey - a.searchKey).slice(0, query.limit);
}
