import type { Db } from '../../platform/db/open-database.ts';
import { HttpError } from '../../platform/http/problem.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { actorOf, type RecordAct } from '../../platform/record-act.ts';
import { listingPosts, type MaySeeSource } from './list-posts.ts';
import { mayDelete, visiblePost } from './post-routes.ts';
import type { PostStore } from './post-store.ts';
import { confirmDeletePage, postPage, timelinePage } from './post-views.ts';

type Deps = { db: Db; posts: PostStore; maySeeSource: MaySeeSource; recordAct: RecordAct };

export function postPages({ db, posts, maySeeSource, recordAct }: Deps): Route[] {
  const listPosts = listingPosts(posts, maySeeSource);

  return [
    route('GET /', 'public', 'Page: the timeline, and searching it', showTimeline, { cached: true }),
    route('GET /posts/:id', 'public', 'Page: one post', showPost, { cached: true }),
    route('GET /posts/:id/delete', 'member', 'Page: really delete this post?', askDelete),
    route('POST /posts/:id/delete', 'member', 'Form: delete a post', remove),
  ];

  function showTimeline(req: HubRequest): Reply {
    const list = listPosts(req, undefined);
    return page(timelinePage({ ...list, typed: req.query.get('q') ?? '', isFirstPage: !req.query.get('cursor'), viewer: req.viewer }));
  }

  function showPost(req: HubRequest): Reply {
    const post = visiblePost(posts, maySeeSource, req);
    return page(postPage(post, mayDelete(post, req.viewer)));
  }

  function askDelete(req: MemberRequest): Reply {
    return page(confirmDeletePage(deletable(req)));
  }

  function remove(req: MemberRequest): Reply {
    const post = deletable(req);
    db.transaction('delete post', () => {
      posts.delete(post);
      recordAct('post.deleted', actorOf(req), { kind: 'post', id: post.id, name: post.title });
    })();
    return seeOther(`/sources/${post.sourceId}`);
  }

  function deletable(req: MemberRequest) {
    const post = visiblePost(posts, maySeeSource, req);
    if (!mayDelete(post, req.viewer)) throw new HttpError(403, 'Only the owner of its source may delete a post.');
    return post;
  }
}
