import { overwritingDeleted } from '../../platform/db/open-database.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { audit, type Actor } from '../audit/audit.ts';
import type { Hub, StoreHub } from '../hub/hub.ts';
import { mayManage, maySeeSource, visibleSource } from '../sources/source-access.ts';
import type { Source } from '../sources/source-store.ts';
import { posts, type PostAccess, type PostWithAttachments } from './post-store.ts';
import type { Post } from './post.ts';

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
export function deletePostForGood(hub: Hub, id: number, viewer: Viewer, actor: Actor): Post {
  const post = deletablePost(hub, id, viewer);
  overwritingDeleted(hub.db, () => hub.db.write('delete post', () => {
    posts(hub).remove(post.sourceId, post.guid);
    audit(hub, 'post.deleted', actor, { kind: 'post', id, name: post.title });
  }));
  return post;
}
