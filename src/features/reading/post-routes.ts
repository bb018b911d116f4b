import { isoTime } from '../../platform/clock.ts';
import { nextLink, parseId, pathId, readAfter, readLimit } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import { findForMember } from '../full-text/full-text-store.ts';
import { fullTextJson } from '../full-text/show-full-text.ts';
import type { Hub } from '../hub/hub.ts';
import { mayManagePost, visiblePost } from '../posts/post-access.ts';
import { fittingContents, positionCursor, postJson, queryPosts, refuseFault } from '../posts/query-posts.ts';
import { postTexts } from '../posts/post-text-store.ts';
import { posts, type WholePost } from '../posts/post-store.ts';
import type { Double } from './entry-store.ts';
import { setRead, setStar } from './mark-read.ts';
import { readingHistory } from './reading-history-store.ts';
import { wholePage, withReadState, type View } from './reading-list.ts';

const VIEWS = { unread: 'unread', list: 'all', starred: 'starred', muted: 'muted' } as const;

/** GET /api/posts */
export async function listPosts(hub: Hub, req: HubRequest): Promise<Reply> {
  const { query, viewer } = req;
  const view = readView(query);
  const isList = view !== null && view !== 'public';
  if (isList && !viewer) throw new HttpError(401, 'Sign in to see your reading list.');
  const { items, next, searchedTo } = isList && viewer
    ? await listedPosts(hub, viewer, view, query)
    : queryPosts(hub, view === 'public' ? { ...req, viewer: null } : req,
      { sourceId: readSourceId(query), withContents: true, ...(viewer && view === null && { find: findForMember }) });
  const shown = asJson(hub, posts(hub).whole(items), viewer);
  const searched = searchedTo === null ? {} : { searchedBackTo: isoTime(searchedTo) };
  return json({ items: shown, next, ...searched }, 200, nextLink(req.path, query, next));
}

/** GET /api/posts/:id */
export function showPostJson(hub: Hub, { params, viewer }: HubRequest): Reply {
  const post = visiblePost(hub, pathId(params), viewer);
  const [shown] = asJson(hub, [post], viewer);
  const written = mayManagePost(post, viewer) ? postTexts(hub).find(post.id) : undefined;
  return json({ ...shown, ...written, ...(viewer && { fullText: fullTextJson(hub, post) }) });
}

function asJson(hub: Hub, whole: WholePost[], viewer: Viewer | null) {
  if (!viewer) return whole.map((post) => postJson(hub, post));
  return withReadState(hub, viewer, whole).map((post) =>
    ({ ...postJson(hub, post), read: post.read, starred: post.starred, also: post.also.map(doubleJson) }));
}

function doubleJson({ id, sourceId, sourceTitle, sourceKind }: Double) {
  return { id, source: { id: sourceId, title: sourceTitle, kind: sourceKind } };
}

/** Returns a page of a reading list, by `?cursor=&limit=`; fewer posts than `limit` if their contents are large. */
async function listedPosts(hub: Hub, viewer: Viewer, view: View, query: URLSearchParams) {
  refuseFault(view.q ?? '', { hasStates: true });
  const after = readAfter(query, ['publishedAt', 'id']);
  const { items, next, searchedTo } = await wholePage(hub, viewer, view, { limit: readLimit(query), after });
  const fitting = fittingContents(hub, items);
  const last = items[fitting - 1];
  const end = fitting < items.length && last ? last : next;
  const isWhole = fitting === items.length;
  return { items: items.slice(0, fitting), next: end && positionCursor(end), searchedTo: isWhole ? searchedTo : null };
}

function readView(query: URLSearchParams): View | 'public' | null {
  const name = query.get('view');
  const isList = name !== null && name !== '' && name !== 'public';
  if (!isList && query.get('folder')) throw new HttpError(400, 'folder is for view=unread, list, starred or muted.');
  if (!isList) return name === 'public' ? 'public' : null;
  const kind = Object.hasOwn(VIEWS, name) ? VIEWS[name as keyof typeof VIEWS] : undefined;
  if (!kind) throw new HttpError(400, 'view must be unread, list, starred, muted or public.');
  const [folder, q, sourceId] = [query.get('folder'), query.get('q'), readSourceId(query)];
  return { kind, ...(folder && { folder }), ...(q && { q }), ...(sourceId !== undefined && { sourceId }) };
}

function readSourceId(query: URLSearchParams): number | undefined {
  const value = query.get('source');
  if (value === null || value === '') return undefined;
  const id = parseId(value);
  if (id === undefined) throw new HttpError(400, 'source must be the id of a source.');
  return id;
}

/** PUT /api/posts/:id/read: for a post opened elsewhere, such as in an app; marks it as read if opening a post does. */
export function markPostRead(hub: Hub, { params, viewer }: MemberRequest): Reply {
  const id = pathId(params);
  if (viewer.preferences.marksOpened) setRead(hub, viewer, id, true);
  readingHistory(hub).note(viewer.id, id);
  return noContent();
}

/** DELETE /api/posts/:id/read: marks a post as unread, and takes the post out of the reading history. */
export function markPostUnread(hub: Hub, { params, viewer }: MemberRequest): Reply {
  const id = pathId(params);
  setRead(hub, viewer, id, false);
  readingHistory(hub).forget(viewer.id, id);
  return noContent();
}

/** PUT /api/posts/:id/star */
export function star(hub: Hub, { params, viewer }: MemberRequest): Reply {
  setStar(hub, viewer, pathId(params), true);
  return noContent();
}

/** DELETE /api/posts/:id/star */
export function unstar(hub: Hub, { params, viewer }: MemberRequest): Reply {
  setStar(hub, viewer, pathId(params), false);
  return noContent();
}
