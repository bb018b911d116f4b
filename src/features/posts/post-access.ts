import { cursorOf, isUnreadOnly, pageOf, readAfter, readCursor, readLimit } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/reply.ts';
import type { HubRequest, Viewer } from '../../platform/http/router.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub, StoreHub } from '../hub/hub.ts';
import { mayManage, maySeeSource, visibleSource, type Source } from '../sources/source-store.ts';
import { feedPosts } from './feed-posts-store.ts';
import { posts, type Position, type Post, type PostAccess, type WholePost } from './post-store.ts';
import { unreadPosts } from './reading-history-store.ts';

/** Whether the viewer may see a post and its files. */
export function maySeePost(hub: StoreHub, post: PostAccess, viewer: Viewer | null): boolean {
  return post.isPublic === 1 || maySeeSource(hub, post.sourceId, viewer);
}

/** The owner of its source may delete a post and take files off it, and administrators. */
export function mayManagePost(post: PostAccess, viewer: Viewer | null): boolean {
  return viewer !== null && (viewer.id === post.ownerId || viewer.role === 'admin');
}

/** The post, for who may see it; 404 for anybody else. */
export function visiblePost(hub: StoreHub, id: number, viewer: Viewer | null): WholePost {
  const post = posts(hub).find(id);
  if (!post || !maySeePost(hub, post, viewer)) throw notFound('post');
  return post;
}

/** The file and its post, for who may see that; 404 for anybody else, and where there is none. */
export function visibleFile(hub: StoreHub, attachment: Attachment | undefined, viewer: Viewer | null) {
  const post = attachment && posts(hub).accessOf(attachment.postId);
  if (!attachment || !post || !maySeePost(hub, post, viewer)) throw notFound('file');
  return { attachment, post };
}

/** The post, for who may delete it; 403 for who may only read it. */
export function deletablePost(hub: Hub, id: number, viewer: Viewer): WholePost {
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
export function changeablePost(hub: Hub, id: number, viewer: Viewer): WholePost {
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
  hub.db.write('delete post', () => {
    feedPosts(hub).rememberDeleted(post.sourceId, post.guid);
    posts(hub).remove(post.sourceId, post.guid);
    audit(hub, 'post.deleted', by, { kind: 'post', id, name: post.title });
  });
  return post;
}

/** Bytes of contents and files in one answer, which with very long posts ends early. */
const ANSWER_BYTES = 512 * 1024;

export type PostList = { items: Post[]; next: string | null };

/** What a file beside a post adds to an answer, about. */
const FILE_BYTES = 512;

/** How many of these posts may give their contents and files to one answer: at least one. */
export function fittingContents(hub: StoreHub, posts: Post[]): number {
  const files = attachments(hub).countsOfPosts(posts.map(({ id }) => id));
  let bytes = 0;
  const fitting = posts.findIndex(({ id, contentBytes }) =>
    (bytes += contentBytes + FILE_BYTES * (files.get(id) ?? 0)) > ANSWER_BYTES);
  return fitting < 0 ? posts.length : Math.max(1, fitting);
}

/** `withContents`: the page holds no more posts than fit into one answer with their contents. */
type Wanted = { sourceId?: number | undefined; withContents?: boolean };

/**
 * One page of posts, of all or of one source, as `?q=&unread=&cursor=&limit=` ask for it. One of unread posts may be
 * short although there is a next. 400 for a broken query, 404 for a hidden source.
 */
export function queryPosts(hub: Hub, { query, viewer }: HubRequest, { sourceId, withContents }: Wanted = {}): PostList {
  if (sourceId !== undefined && !maySeeSource(hub, sourceId, viewer)) throw notFound('source');
  const limit = readLimit(query);
  const unreadOnly = isUnreadOnly(query);
  if (unreadOnly && !viewer) throw new HttpError(401, 'Sign in to see unread posts.');
  const ofSource = sourceId === undefined ? {} : { sourceId };
  const wanted = { viewerId: viewer?.id ?? null, limit: limit + 1, ...ofSource };
  const paged = (rows: Post[], cursor: (last: Post) => string): PostList =>
    pageOf(rows, withContents ? Math.min(limit, fittingContents(hub, rows)) : limit, cursor);
  const typed = query.get('q') ?? '';
  if (!typed.trim()) {
    const after = readAfter(query, ['publishedAt', 'id']);
    const position = { ...wanted, ...(after && { after }) };
    if (!unreadOnly || !viewer) return paged(posts(hub).newest(position), positionCursor);
    const { posts: found, reached } = unreadPosts(hub).page({ ...position, viewerId: viewer.id });
    const { items, next } = paged(found, positionCursor);
    return { items, next: next ?? (reached && positionCursor(reached)) };
  }
  const [after] = readCursor(query, 1) ?? [];
  if (unreadOnly) throw new HttpError(400, 'unread and q cannot be combined.');
  const found = posts(hub).search({ ...wanted, typed, ...(after === undefined ? {} : { after }) });
  return paged(found, (last) => cursorOf(last.searchKey));
}

function positionCursor({ publishedAt, id }: Position): string {
  return cursorOf(publishedAt, id);
}
