import { nextLink } from '../../platform/http/paging.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route, type Viewer } from '../../platform/http/router.ts';
import { parseId } from '../../platform/http/input.ts';
import type { ListPosts } from './list-posts.ts';
import type { OnePost } from './one-post.ts';
import { postJson } from './post-json.ts';
import type { PostWithAttachments } from './post-store.ts';
import type { Serving } from './served-attachments.ts';

/** What each person has read; given by app. */
export type Reading = {
  /** Those of the posts that the viewer has read; none for anybody. */
  readAmong(viewer: Viewer | null, postIds: number[]): Set<number>;
  /** The viewer has opened the post. */
  opened(viewer: Viewer, postId: number): void;
};

export type PostRouteDeps = { listPosts: ListPosts; one: OnePost; serving: Serving; reading: Reading };

/** The API of posts. */
export function postRoutes({ listPosts, one, serving, reading }: PostRouteDeps): Route[] {
  return [
    route('GET /api/posts', 'public', 'Posts, newest first; q searches their words', list, { cached: true }),
    route('GET /api/posts/:id', 'public', 'One post', show, { cached: true }),
    route('DELETE /api/posts/:id', 'member', 'Delete a post for good: no sync brings it back', remove),
  ];

  function list(req: HubRequest): Reply {
    const { items, next } = listPosts(req, readSourceId(req.query));
    const shown = withReadState(items, req.viewer);
    return json({ items: shown, next }, 200, nextLink(req.path, req.query, next));
  }

  function show(req: HubRequest): Reply {
    return json(withReadState([one.visible(req)], req.viewer)[0]);
  }

  /** Posts as the API shows them; to a member also whether they are read. */
  function withReadState(posts: PostWithAttachments[], viewer: Viewer | null) {
    if (!viewer) return posts.map((post) => postJson(post, serving));
    const read = reading.readAmong(viewer, posts.map(({ id }) => id));
    return posts.map((post) => ({ ...postJson(post, serving), read: read.has(post.id) }));
  }

  function remove(req: MemberRequest): Reply {
    one.remove(req);
    return noContent();
  }
}

function readSourceId(query: URLSearchParams): number | undefined {
  const value = query.get('source');
  if (value === null || value === '') return undefined;
  const id = parseId(value);
  if (id === undefined) throw new HttpError(400, 'source must be the id of a source.');
  return id;
}
