import type { StoreHub } from '../hub/hub.ts';
import { foundPosts } from './find-posts-store.ts';
import type { Post, PostQuery } from './post-store.ts';
import { searchWords } from './search-words.ts';

type Typed = Pick<PostQuery, 'viewerId' | 'sourceId'> & { typed: string };

/** The page begins after the search key `after`. */
type SearchQuery = Typed & { after?: number | undefined; limit: number };

/**
 * What the full-text index is asked for what somebody typed; undefined where that is nothing. Looked through are also
 * private posts: the viewer's, or those of a source, which the viewer may see.
 */
export function searchExpression(hub: StoreHub, { viewerId, sourceId, typed }: Typed): string | undefined {
  const ownerId = sourceId === undefined ? viewerId ?? 0 : foundPosts(hub).ownerOf(sourceId) ?? 0;
  const open = searchWords(typed);
  if (open === undefined) return undefined;
  const words = ownerId === 0 ? open : `(${open}) OR (${searchWords(typed, ownerId)})`;
  return `{title body} : (${words})${sourceId === undefined ? '' : ` AND source : "${sourceId}"`}`;
}

/** Posts with all the words, newest first. The caller checks who may see a source. */
export function findPosts(hub: StoreHub, { after = Number.MAX_SAFE_INTEGER, limit, ...typed }: SearchQuery): Post[] {
  const expression = searchExpression(hub, typed);
  if (expression === undefined) return [];
  if (typed.sourceId !== undefined) return foundPosts(hub).ofSource(expression, after, limit);
  return foundPosts(hub).all(expression, after, typed.viewerId ?? 0, limit);
}
