import { HttpError, notFound } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import { audit, type By } from '../audit/audit.ts';
import type { Hub, StoreHub } from '../hub/hub.ts';
import { mayManage, maySeeSource, visibleSource, type Source } from '../sources/source-store.ts';
import { feedPosts } from './feed-posts-store.ts';
import { posts, type Post, type PostAccess, type WholePost } from './post-store.ts';

/** Whether the viewer may see a post and its files. */
export function maySeePost(hub: StoreHub, post: PostAccess, viewer: Viewer | null): boolean {
  return post.isPublic === 1 || maySeeSource(hub, post.sourceId, viewer);
}

/** The owner of its source may delete a post and take files off it, and administrators. */
export function mayManagePost(post: PostAccess, viewer: Viewer | null): boolean {
  return viewer !== null && (viewer.id === post.ownerId || viewer.role === 'admin');
}

/** What decides who may see a post, for who may; 404 for anybody else. */
export function requireVisible(hub: StoreHub, id: number, viewer: Viewer | null): PostAccess {
  const post = posts(hub).accessOf(id);
  if (!post || !maySeePost(hub, post, viewer)) throw notFound('post');
  return post;
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
