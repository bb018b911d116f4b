import type { Html } from '../../platform/http/html.ts';
import { isUnreadOnly, pathId } from '../../platform/http/input.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { deletablePost, deletePostForGood, mayManagePost, queryPosts, visiblePost } from './post-access.ts';
import { confirmDeletePage, postList, postPage, timelinePage } from './post-views.ts';
import { noteOpened, readAmong } from './reading-history-store.ts';
import { removeFile } from './write-post.ts';

export function showPosts(hub: Hub, req: HubRequest): Reply {
  const { query, viewer } = req;
  const list = queryPosts(hub, req);
  const read = readAmong(hub, viewer, list.items.map(({ id }) => id));
  const [typed, isFirstPage] = [query.get('q') ?? '', !query.get('cursor')];
  return page(timelinePage({ ...list, typed, isFirstPage, viewer, read, unreadOnly: isUnreadOnly(query) }));
}

/** The list of posts on a source's page, null where there is none. */
export function sourcePostList(
  hub: Hub, req: HubRequest, sourceId: number,
): { posts: Html | null; next: string | null } {
  const { items, next } = queryPosts(hub, req, { sourceId });
  const read = readAmong(hub, req.viewer, items.map(({ id }) => id));
  return { posts: items.length > 0 ? postList(items, { withSource: false, read }) : null, next };
}

export function showPost(hub: Hub, req: HubRequest): Reply {
  const { params, viewer } = req;
  const post = visiblePost(hub, pathId(params), viewer);
  if (viewer && viewer.scope !== 'read' && isOpening(req)) noteOpened(hub, viewer, post.id);
  const may = mayManagePost(post, viewer);
  return page(postPage(hub, post, { delete: may, change: may && post.sourceKind === 'native' }));
}

export function confirmDeletePost(hub: Hub, req: MemberRequest): Reply {
  return page(confirmDeletePage(deletablePost(hub, pathId(req.params), req.viewer)));
}

export function submitDeletePost(hub: Hub, req: MemberRequest): Reply {
  return seeOther(`/sources/${deletePostForGood(hub, pathId(req.params), req).sourceId}`);
}

export function submitDeleteAttachment(hub: Hub, req: MemberRequest): Reply {
  return seeOther(`/posts/${removeFile(hub, pathId(req.params), req).postId}`);
}

/** Not when a browser only fetches ahead what might be opened (Sec-Purpose), or asks for the head. */
function isOpening({ method, headers }: HubRequest): boolean {
  return method === 'GET' && !String(headers['sec-purpose'] ?? '').includes('prefetch');
}
