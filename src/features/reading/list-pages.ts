import { readForm } from '../../platform/http/body.ts';
import type { Html } from '../../platform/http/html.ts';
import { parseId, pathId } from '../../platform/http/input.ts';
import { HttpError, json, noContent, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { HubRequest, MemberRequest, Viewer } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { mayManagePost, visiblePost } from '../posts/post-access.ts';
import type { Post } from '../posts/post-store.ts';
import { postList, postPage, timelinePage } from '../posts/post-views.ts';
import { showPublic } from '../posts/public-pages.ts';
import { queryPosts } from '../posts/query-posts.ts';
import { followSource } from './follow-source.ts';
import { noteOpened } from './history-list.ts';
import { listedPosts } from './list-routes.ts';
import { markRead, undoMark } from './mark-read.ts';
import { setRead, setStar, withReadState } from './reading-list.ts';
import { readFollow, readMarking } from './reading-routes.ts';

export function showPosts(hub: Hub, req: HubRequest): Reply {
  const { query, viewer } = req;
  const unreadOnly = query.get('unread') === '1';
  if (!unreadOnly && !viewer && !query.get('q')) return showPublic(hub, req);
  if (unreadOnly && !viewer) throw new HttpError(401, 'Sign in to see unread posts.');
  const list = unreadOnly && viewer ? listedPosts(hub, viewer, { kind: 'unread' }, query) : queryPosts(hub, req);
  const [typed, isFirstPage] = [query.get('q') ?? '', !query.get('cursor')];
  const read = readAmong(hub, list.items, viewer);
  return page(timelinePage({ ...list, typed, isFirstPage, viewer, read, unreadOnly }));
}

/** The list of posts on a source's page, null where there is none. */
export function sourcePostList(
  hub: Hub, req: HubRequest, sourceId: number,
): { posts: Html | null; next: string | null } {
  const { items, next } = queryPosts(hub, req, { sourceId });
  const read = readAmong(hub, items, req.viewer);
  return { posts: items.length > 0 ? postList(items, { withSource: false, read }) : null, next };
}

/** Those of the posts that the viewer has read; none for somebody who is not signed in. */
function readAmong(hub: Hub, shown: Post[], viewer: Viewer | null): Set<number> {
  const withState = viewer ? withReadState(hub, viewer, shown) : [];
  return new Set(withState.flatMap(({ id, read }) => (read ? [id] : [])));
}

export function showPost(hub: Hub, req: HubRequest): Reply {
  const { params, viewer } = req;
  const post = visiblePost(hub, pathId(params), viewer);
  if (viewer && viewer.scope !== 'read' && isOpening(req)) noteOpened(hub, viewer, post.id);
  const may = mayManagePost(post, viewer);
  return page(postPage(hub, post, { delete: may, change: may && post.sourceKind === 'native' }));
}

/** Not when a browser only fetches ahead what might be opened (Sec-Purpose), or asks for the head. */
function isOpening({ method, headers }: HubRequest): boolean {
  return method === 'GET' && !String(headers['sec-purpose'] ?? '').includes('prefetch');
}

export async function submitFollow(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { folder, notify } = await readForm(req);
  const change = { folder: folder === '' ? null : folder, notify: notify === undefined ? undefined : notify === '1' };
  followSource(hub, req.viewer, pathId(req.params), readFollow(change));
  return seeOther(`/sources/${pathId(req.params)}`);
}

/** Forms of lists: what they did leads back to the page, with a word for what it says of it. */
export async function submitRead(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { read, from } = await readForm(req);
  setRead(hub, req.viewer, pathId(req.params), read !== '0');
  return done(req, from, read === '0' ? 'unread' : 'read');
}

export async function submitStar(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { star: starred, from } = await readForm(req);
  setStar(hub, req.viewer, pathId(req.params), starred !== '0');
  return done(req, from, starred === '0' ? 'unstarred' : 'starred');
}

export async function submitMarkRead(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { from, posts: ids, all, ...fields } = await readForm(req);
  const values = {
    ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')),
    ...(all && { all: true }), ...(ids && { posts: ids.split(/[ ,]+/).flatMap((id) => parseId(id) ?? []) }),
  };
  const { marked, undo } = markRead(hub, req.viewer, ...readMarking(hub, req.viewer, values));
  return isForScript(req) ? json({ marked, undo }) : seeOther(back(from, { said: 'marked', marked, undo }));
}

export async function submitUndo(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { undo = '', from } = await readForm(req);
  undoMark(hub, req.viewer, parseId(undo) ?? 0);
  return done(req, from, 'undone');
}

function done(req: MemberRequest, from: string | undefined, said: string): Reply {
  return isForScript(req) ? noContent() : seeOther(back(from, { said }));
}

function isForScript({ headers }: MemberRequest): boolean {
  return /\bapplication\/json\b/.test(headers.accept ?? '');
}

/** The page that a form was on, which it names by its path here; the reading list for anything else. */
function back(from: string | undefined, said: Record<string, string | number>): string {
  const isLocal = from !== undefined && /^\/(?![/\\])[^\\\u0000-\u0020\u007f]*$/.test(from);
  const url = new URL(isLocal ? from : '/', 'http://here.invalid');
  for (const name of ['said', 'marked', 'undo']) url.searchParams.delete(name);
  for (const [name, value] of Object.entries(said)) url.searchParams.set(name, String(value));
  return url.pathname + url.search;
}
