import { nextLink } from '../../platform/http/paging.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { parseId } from '../../platform/parse-id.ts';
import type { ListPosts } from './list-posts.ts';
import type { OnePost } from './one-post.ts';
import { postJson } from './post-json.ts';

/** The API of posts. */
export function postRoutes({ listPosts, one }: { listPosts: ListPosts; one: OnePost }): Route[] {
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
    return json(postJson(one.visible(req)));
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
