import { HttpError, notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import type { Attachment } from '../attachments/attachment-store.ts';
import type { Hub, StoreHub } from '../hub/hub.ts';
import { mayManage, maySeeSource, visibleSource, type Source } from '../sources/source-store.ts';
import { posts, type PostAccess, type WholePost } from './post-store.ts';

/** Whether the viewer may see a post and its files. */
export function maySeePost(hub: StoreHub, post: PostAccess, viewer: Viewer | null): boolean {
  return post.isPublic === 1 || maySeeSource(hub, post.sourceId, viewer);
}

/** Whether the viewer may delete a post and remove its files: only the source's owner and administrators may. */
export function mayManagePost(post: PostAccess, viewer: Viewer | null): boolean {
  return viewer !== null && (viewer.id === post.ownerId || viewer.role === 'admin');
}

/** Whether there is such a post, and the viewer may see it. */
export function maySeeId(hub: StoreHub, id: number, viewer: Viewer | null): boolean {
  const post = posts(hub).accessOf(id);
  return post !== undefined && maySeePost(hub, post, viewer);
}

/** Returns the data that decides who may see the post. Throws status 404 if the viewer may not see the post. */
export function requireVisible(hub: StoreHub, id: number, viewer: Viewer | null): PostAccess {
  const post = posts(hub).accessOf(id);
  if (!post || !maySeePost(hub, post, viewer)) throw notFound('post');
  return post;
}

/** Returns the post with its content. Throws status 404 if the viewer may not see the post. */
export function visiblePost(hub: StoreHub, id: number, viewer: Viewer | null): WholePost {
  const post = posts(hub).find(id);
  if (!post || !maySeePost(hub, post, viewer)) throw notFound('post');
  return post;
}

/** Returns an attachment and its post. Throws status 404 if the attachment is missing or the post is hidden. */
export function visibleFile(hub: StoreHub, attachment: Attachment | undefined, viewer: Viewer | null) {
  const post = attachment && posts(hub).accessOf(attachment.postId);
  if (!attachment || !post || !maySeePost(hub, post, viewer)) throw notFound('file');
  return { attachment, post };
}

/** Returns a post that the viewer may delete. Throws 403 if the viewer may only read the post, 404 if hidden. */
export function deletablePost(hub: Hub, id: number, viewer: Viewer): WholePost {
  const post = visiblePost(hub, id, viewer);
  if (!mayManagePost(post, viewer)) throw new HttpError(403, 'Only the owner of the source can delete its posts.');
  return post;
}

/**
 * Returns a native source whose posts the viewer may write. Throws 404 for a hidden source, 403 if the viewer may not
 * manage it, 409 for a feed or a webhook.
 */
export function writableSource(hub: Hub, id: number, viewer: Viewer): Source {
  const source = visibleSource(hub, id, viewer);
  if (!mayManage(source, viewer)) throw new HttpError(403, 'Only the owner of the source can write posts for it.');
  if (source.kind !== 'native') throw new HttpError(409, 'Posts can be written only for native sources.');
  return source;
}

/** Returns a native source's post that the viewer may change. */
export function changeablePost(hub: Hub, id: number, viewer: Viewer): WholePost {
  const post = visiblePost(hub, id, viewer);
  writableSource(hub, post.sourceId, viewer);
  return post;
}
