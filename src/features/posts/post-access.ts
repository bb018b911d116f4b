import { overwritingDeleted } from '../../platform/db/open-database.ts';
import { cursorOf, isUnreadOnly, pageOf, readAfter, readCursor, readLimit } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/reply.ts';
import type { HubRequest, Viewer } from '../../platform/http/router.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub, StoreHub } from '../hub/hub.ts';
import { mayManage, maySeeSource, visibleSource, type Source } from '../sources/source-store.ts';
import { posts, type Position, type Post, type PostAccess, type PostWithAttachments } from './post-store.ts';
import { unreadPosts, type UnreadQuery } from './reading-history-store.ts';
import { searchWords } from './search-index-store.ts';

/** Whether the viewer may see a post and its files. */
export function maySeePost(hub: StoreHub, post: PostAccess, viewer: Viewer | null): boolean {
  return post.isPublic === 1 || maySeeSource(hub, post.sourceId, viewer);
}

/** The owner of its source may delete a post and take files off it, and administrators. */
export function mayManagePost(post: PostAccess, viewer: Viewer | null): boolean {
  return viewer !== null && (viewer.id === post.ownerId || viewer.role === 'admin');
}

/** The post, for who may see it; 404 for anybody else. */
export function visiblePost(hub: StoreHub, id: number, viewer: Viewer | null): PostWithAttachments {
  const post = posts(hub).find(id);
  if (!post || !maySeePost(hub, post, viewer)) throw notFound('post');
  return post;
}

/** The post, for who may delete it; 403 for who may only read it. */
export function deletablePost(hub: Hub, id: number, viewer: Viewer): PostWithAttachments {
  const post = visiblePost(hub, id, viewer);
  if (!mayManagePost(post, viewer)) throw new HttpError(403, 'Only the owner of the source can delete its posts.');
  return post;
}

/** The source, for who may write posts for it; 404, 403 or 409 otherwise. */
export function writableSource(hub: Hub, id: number, viewer: Viewer): Source {
  const source = visibleSource(hub, id, viewer);
  if (!mayManage(source, viewer)) throw new HttpError(403, 'Only the owner of the source can write posts for it.');
  if (source.kind !== 'native') throw new HttpError(409, 'Posts can be written only for native sources.');
  return source;
}

/** A post of a source of own posts, for who may change it. */
export function changeablePost(hub: Hub, id: number, viewer: Viewer): PostWithAttachments {
  const post = visiblePost(hub, id, viewer);
  writableSource(hub, post.sourceId, viewer);
  return post;
}

/**
 * Deletes a post: no sync brings it back, and in the database's file it is overwritten (its words leave the search
 * index when that is next merged).
 */
export function deletePostForGood(hub: Hub, id: number, by: By): Post {
  const post = deletablePost(hub, id, by.viewer);
  overwritingDeleted(hub.db, () => hub.db.write('delete post', () => {
    posts(hub).remove(post.sourceId, post.guid);
    audit(hub, 'post.deleted', by, { kind: 'post', id, name: post.title });
  }));
  return post;
}

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
    const after = readAfter(query, ['publishedAt', 'id']);
    const position = { ...wanted, ...(after && { after }) };
    if (unreadOnly && viewer) return queryUnread(hub, { ...position, viewerId: viewer.id }, limit);
    return bounded(posts(hub).newest(position), limit, positionCursor);
  }
  const [after] = readCursor(query, 1) ?? [];
  if (unreadOnly) throw new HttpError(400, 'unread and q cannot be combined.');
  const words = searchWords(typed);
  const found = words ? posts(hub).search({ ...wanted, words, ...(after === undefined ? {} : { after }) }) : [];
  return bounded(found, limit, (last) => cursorOf(last.searchKey));
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
