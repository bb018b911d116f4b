import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import type { ListPosts } from './list-posts.ts';
import { mayDelete, type OnePost } from './one-post.ts';
import { confirmDeletePage, postPage, timelinePage } from './post-views.ts';

/** The pages on which posts are read and deleted. */
export function postPages({ listPosts, one }: { listPosts: ListPosts; one: OnePost }): Route[] {
  return [
    route('GET /', 'public', 'Page: the timeline, and searching it', showTimeline, { cached: true }),
    route('GET /posts/:id', 'public', 'Page: one post', showPost, { cached: true }),
    route('GET /posts/:id/delete', 'member', 'Page: really delete this post?', askDelete),
    route('POST /posts/:id/delete', 'member', 'Form: delete a post', remove),
  ];

  function showTimeline(req: HubRequest): Reply {
    const { query, viewer } = req;
    const list = listPosts(req, undefined);
    return page(timelinePage({ ...list, typed: query.get('q') ?? '', isFirstPage: !query.get('cursor'), viewer }));
  }

  function showPost(req: HubRequest): Reply {
    const post = one.visible(req);
    return page(postPage(post, mayDelete(post, req.viewer)));
  }

  function askDelete(req: MemberRequest): Reply {
    return page(confirmDeletePage(one.deletable(req)));
  }

  function remove(req: MemberRequest): Reply {
    return seeOther(`/sources/${one.remove(req).sourceId}`);
  }
}
