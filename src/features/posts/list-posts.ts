import { cursorOf, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { notFound } from '../../platform/http/problem.ts';
import type { HubRequest, Viewer } from '../../platform/http/router.ts';
import type { Position, PostStore, PostWithAttachments } from './post-store.ts';
import { searchWords } from './search-words.ts';

/** Whether the viewer may see the posts of a source; given by app. */
export type MaySeeSource = (sourceId: number, viewer: Viewer | null) => boolean;

export type PostList = { items: PostWithAttachments[]; next: string | null };

/** One page of posts, as `?source=&q=&cursor=&limit=` ask for it. 400 for a broken query, 404 for a hidden source. */
export function listingPosts(posts: PostStore, maySeeSource: MaySeeSource) {
  return (request: HubRequest, sourceId: number | undefined): PostList => {
    const { query, viewer } = request;
    if (sourceId !== undefined && !maySeeSource(sourceId, viewer)) throw notFound('source');
    const limit = readLimit(query);
    const wanted = { viewerId: viewer?.id ?? null, limit: limit + 1, ...(sourceId === undefined ? {} : { sourceId }) };
    const typed = query.get('q') ?? '';
    if (!typed.trim()) {
      const after = readPosition(query);
      const rows = posts.newest({ ...wanted, ...(after ? { after } : {}) });
      return pageOf(rows, limit, (last) => cursorOf(last.publishedAt, last.id));
    }
    const [after] = readCursor(query, 1) ?? [];
    const words = searchWords(typed);
    const rows = words ? posts.search({ ...wanted, words, ...(after === undefined ? {} : { after }) }) : [];
    return pageOf(rows, limit, (last) => cursorOf(last.searchKey));
  };
}

function readPosition(query: URLSearchParams): Position | undefined {
  const [publishedAt, id] = readCursor(query, 2) ?? [];
  return publishedAt === undefined || id === undefined ? undefined : { publishedAt, id };
}
