import { HttpError, notFound } from '../../platform/http/problem.ts';
import { pathId } from '../../platform/http/input.ts';
import { nextLink } from '../../platform/http/paging.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route, type Viewer } from '../../platform/http/router.ts';
import { actorOf, type RecordAct } from '../../platform/record-act.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { listingPosts, type MaySeeSource } from './list-posts.ts';
import { postJson } from './post-json.ts';
import type { Post, PostStore, PostWithAttachments } from './post-store.ts';

type Deps = { db: Db; posts: PostStore; maySeeSource: MaySeeSource; recordAct: RecordAct };

export function postRoutes({ db, posts, maySeeSource, recordAct }: Deps): Route[] {
  const listPosts = listingPosts(posts, maySeeSource);

  return [
    route('GET /api/posts', 'public', 'Posts, newest first; q searches their words', list, { cached: true }),
    route('GET /api/posts/:id', 'public', 'One post', show, { cached: true }),
    route('DELETE /api/posts/:id', 'member', 'Delete a post for good: no sync brings it back', remove),
  ];

  function list(req: HubRequest): Reply {
    const { items, next } = listPosts(req, readSourceId(req.query));
    return json({ items: items.map(postJson), next }, 200, nextLink(req.path, req.query, next));
  }

  function show(req: HubRequest): Reply {
    return json(postJson(visiblePost(posts, maySeeSource, req)));
  }

  function remove(req: MemberRequest): Reply {
    const post = visiblePost(posts, maySeeSource, req);
    if (!mayDelete(post, req.viewer)) throw new HttpError(403, 'Only the owner of its source may delete a post.');
    deletePost(post, req);
    return noContent();
  }

  function deletePost(post: Post, req: MemberRequest): void {
    db.transaction('delete post', () => {
      posts.delete(post);
      recordAct('post.deleted', actorOf(req), { kind: 'post', id: post.id, name: post.title });
    })();
  }
}

/** The post of the path, 404 where the viewer may not see it. */
export function visiblePost(posts: PostStore, maySeeSource: MaySeeSource, req: HubRequest): PostWithAttachments {
  const post = posts.find(pathId(req.params));
  if (!post || !(post.isPublic === 1 || maySeeSource(post.sourceId, req.viewer))) throw notFound('post');
  return post;
}

export function mayDelete(post: Post, viewer: Viewer | null): boolean {
  return viewer !== null && (viewer.id === post.ownerId || viewer.role === 'admin');
}

function readSourceId(query: URLSearchParams): number | undefined {
  const value = query.get('source');
  if (value === null || value === '') return undefined;
  if (!/^[1-9]\d{0,14}$/.test(value)) throw new HttpError(400, 'source must be the id of a source.');
  return Number(value);
}
