import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { isUnreadOnly } from './list-posts.ts';
import { mayDelete } from './one-post.ts';
import type { PostRouteDeps } from './post-routes.ts';
import { confirmDeletePage, postPage, timelinePage } from './post-views.ts';

/** The pages on which posts are read and deleted. */
export function postPages({ listPosts, one, serving, reading }: PostRouteDeps): Route[] {
  return [
    route('GET /', 'public', 'Page: the timeline, and searching it', showTimeline, { cached: true }),
    route('GET /posts/:id', 'public', 'Page: one post', showPost, { cached: true }),
    route('GET /posts/:id/delete', 'member', 'Page: really delete this post?', askDelete),
    route('POST /posts/:id/delete', 'member', 'Form: delete a post', remove),
  ];

  function showTimeline(req: HubRequest): Reply {
    const { query, viewer } = req;
    const list = listPosts(req, undefined);
    const read = reading.readAmong(viewer, list.items.map(({ id }) => id));
    const [typed, isFirstPage] = [query.get('q') ?? '', !query.get('cursor')];
    return page(timelinePage({ ...list, typed, isFirstPage, viewer, read, unreadOnly: isUnreadOnly(query) }));
  }

  function showPost(req: HubRequest): Reply {
    const post = one.visible(req);
    if (req.viewer && isOpening(req)) reading.opened(req.viewer, post.id);
    const may = mayDelete(post, req.viewer);
    return page(postPage(post, serving, { delete: may, change: may && post.sourceKind === 'native' }));
  }

  function askDelete(req: MemberRequest): Reply {
    return page(confirmDeletePage(one.deletable(req)));
  }

  function remove(req: MemberRequest): Reply {
    return seeOther(`/sources/${one.remove(req).sourceId}`);
  }
}

/** Not when a browser only fetches ahead what might be opened (Sec-Purpose), or asks for the head. */
function isOpening({ method, headers }: HubRequest): boolean {
  return method === 'GET' && !String(headers['sec-purpose'] ?? '').includes('prefetch');
}
