import type { Db } from '../../platform/db/open-database.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { actorOf, type RecordAct } from '../audit/audit.ts';
import type { MaySeeSource } from './list-posts.ts';
import type { Post, PostStore, PostWithAttachments } from './post-store.ts';

export type OnePostDeps = { db: Db; posts: PostStore; maySeeSource: MaySeeSource; recordAct: RecordAct };

export type OnePost = ReturnType<typeof onePost>;

/** The post that a request's path names, for those who may see or delete it. */
export function onePost({ db, posts, maySeeSource, recordAct }: OnePostDeps) {
  /** 404 where the viewer may not see it. */
  function visible({ params, viewer }: HubRequest): PostWithAttachments {
    const post = posts.find(pathId(params));
    if (!post || !(post.isPublic === 1 || maySeeSource(post.sourceId, viewer))) throw notFound('post');
    return post;
  }

  /** 403 for those who may only read it. */
  function deletable(req: MemberRequest): PostWithAttachments {
    const post = visible(req);
    if (!mayDelete(post, req.viewer)) throw new HttpError(403, 'Only the owner of its source may delete a post.');
    return post;
  }

  /** Deletes it for good: no sync brings it back. */
  function remove(req: MemberRequest): Post {
    const post = deletable(req);
    const work = db.transaction('delete post', () => {
      posts.delete(post);
      recordAct('post.deleted', actorOf(req), { kind: 'post', id: post.id, name: post.title });
    });
    work();
    return post;
  }

  return { visible, deletable, remove };
}

/** The owner of its source may, and administrators. */
export function mayDelete(post: Post, viewer: Viewer | null): boolean {
  return viewer !== null && (viewer.id === post.ownerId || viewer.role === 'admin');
}
