import { cursorOf, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { maySeeSource } from '../sources/source-access.ts';
import { posts, type PostWithAttachments } from './post-store.ts';
import type { Position } from './post.ts';
import { searchWords } from './search-index-store.ts';
import { unreadPosts, type UnreadQuery } from './reading-history-store.ts';

/** Characters of content in one page of a list. A page with very long posts ends early, after at least one. */
const PAGE_CONTENT = 4_000_000;

export type PostList = { items: PostWithAttachments[]; next: string | null };

/**
 * One page of posts, of all or of one source, as `?q=&unread=&cursor=&limit=` ask for it. One of unread posts may be
 * short although there is a next. 400 for a broken query, 404 for a hidden source.
 */
export function queryPosts(hub: Hub, { query, viewer }: HubRequest, sourceId?: number): PostList {
  if (sourceId !== undefined && !maySeeSource(hub, sourceId, viewer)) throw notFound('source');
  const limit = readLimit(query);
  const unreadOnly = isUnreadOnly(query);
  if (unreadOnly && !viewer) throw new HttpError(401, 'Sign in to see unread posts.');
  const ofSource = sourceId === undefined ? {} : { sourceId };
  const wanted = { viewerId: viewer?.id ?? null, limit: limit + 1, ...ofSource };
  const typed = query.get('q') ?? '';
  if (!typed.trim()) {
    const after = readPosition(query);
    const position = { ...wanted, ...(after ? { after } : {}) };
    if (unreadOnly && viewer) return queryUnread(hub, { ...position, viewerId: viewer.id }, limit);
    return bounded(posts(hub).newest(position), limit, positionCursor);
  }
  const [after] = readCursor(query, 1) ?? [];
  if (unreadOnly) throw new HttpError(400, 'unread and q cannot be combined.');
  const words = searchWords(typed);
  const found = words ? posts(hub).search({ ...wanted, words, ...(after === undefined ? {} : { after }) }) : [];
  return bounded(found, limit, (last) => cursorOf(last.searchKey));
}

/** `?unread=1`; a search looks through everything. */
export function isUnreadOnly(query: URLSearchParams): boolean {
  const unread = query.get('unread') ?? '';
  if (!['', '0', '1'].includes(unread)) throw new HttpError(400, 'unread must be 1 or 0.');
  return unread === '1';
}

function queryUnread(hub: Hub, query: UnreadQuery, limit: number): PostList {
  const { posts: found, reached } = unreadPosts(hub).page(query);
  const { items, next } = bounded(found, limit, positionCursor);
  return { items, next: next ?? (reached && positionCursor(reached)) };
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
