import { cursorOf, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import type { HubRequest, Viewer } from '../../platform/http/router.ts';
import type { Position, PostStore, PostWithAttachments } from './post-store.ts';
import { searchWords } from './search-words.ts';
import type { UnreadQuery } from './unread-store.ts';

/** Characters of content in one page of a list. A page with very long posts ends early, after at least one. */
const PAGE_CONTENT = 4_000_000;

/** Whether the viewer may see the posts of a source; given by app. */
export type MaySeeSource = (sourceId: number, viewer: Viewer | null) => boolean;

export type PostList = { items: PostWithAttachments[]; next: string | null };

export type ListPosts = (request: HubRequest, sourceId: number | undefined) => PostList;

/**
 * One page of posts, as `?q=&unread=&cursor=&limit=` ask for it. One of unread posts may be short although there is a
 * next. 400 for a broken query, 404 for a hidden source.
 */
export function listingPosts(posts: PostStore, maySeeSource: MaySeeSource): ListPosts {
  return ({ query, viewer }, sourceId) => {
    if (sourceId !== undefined && !maySeeSource(sourceId, viewer)) throw notFound('source');
    const limit = readLimit(query);
    const unreadOnly = isUnreadOnly(query);
    if (unreadOnly && !viewer) throw new HttpError(401, 'Sign in to see what you have not read.');
    const ofSource = sourceId === undefined ? {} : { sourceId };
    const wanted = { viewerId: viewer?.id ?? null, limit: limit + 1, ...ofSource };
    const typed = query.get('q') ?? '';
    if (!typed.trim()) {
      const after = readPosition(query);
      const position = { ...wanted, ...(after ? { after } : {}) };
      if (unreadOnly && viewer) return unreadPage({ ...position, viewerId: viewer.id }, limit);
      return bounded(posts.newest(position), limit, positionCursor);
    }
    const [after] = readCursor(query, 1) ?? [];
    if (unreadOnly) throw new HttpError(400, 'unread and q cannot be combined.');
    const words = searchWords(typed);
    const rows = words ? posts.search({ ...wanted, words, ...(after === undefined ? {} : { after }) }) : [];
    return bounded(rows, limit, (last) => cursorOf(last.searchKey));
  };

  function unreadPage(query: UnreadQuery, limit: number): PostList {
    const { posts: rows, reached } = posts.unread(query);
    const { items, next } = bounded(rows, limit, positionCursor);
    return { items, next: next ?? (reached && positionCursor(reached)) };
  }
}

/** `?unread=1`; a search looks through everything. */
export function isUnreadOnly(query: URLSearchParams): boolean {
  const unread = query.get('unread') ?? '';
  if (!['', '0', '1'].includes(unread)) throw new HttpError(400, 'unread must be 1 or 0.');
  return unread === '1';
}

function bounded(rows: PostWithAttachments[], limit: number, cursor: (last: PostWithAttachments) => string): PostList {
  let content = 0;
  const fitting = rows.findIndex((row) => (content += row.contentHtml.length) > PAGE_CONTENT);
  return pageOf(rows, fitting < 0 ? limit : Math.min(limit, Math.max(1, fitting)), cursor);
}

function positionCursor({ publishedAt, id }: Position): string {
  return cursorOf(publishedAt, id);
}

function readPosition(query: URLSearchParams): Position | undefined {
  const [publishedAt, id] = readCursor(query, 2) ?? [];
  return publishedAt === undefined || id === undefined ? undefined : { publishedAt, id };
}
