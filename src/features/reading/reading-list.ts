import { notFound } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { asking, follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { searchExpression } from '../posts/find-posts-store.ts';
import { FROM_THE_TOP, newestFirst, posts, type Position, type Post } from '../posts/post-store.ts';
import { searchKey } from '../posts/search-index-store.ts';
import { visibleSource } from '../sources/source-store.ts';
import { doubles, type Double } from './double-store.ts';
import { followedPosts, newestOfEach, postsOfSource, searchList, starredPosts, type Paging } from './find-in-lists.ts';
import { OLDEST, readMarks } from './reading-store.ts';

/**
 * A list of posts of all followed sources, a folder or a source; `q` is a search in the list. `since` (unix ms): a list
 * of unread posts also contains posts that were read after this time. `order`: a list with the oldest posts first.
 * `each`: only the newest unread post of each source. A search ignores `order` and `each`.
 */
export type View = {
  kind: 'unread' | 'all' | 'starred'; folder?: string; sourceId?: number; q?: string; since?: number;
  order?: 'oldest'; each?: true;
};

/** `also`: the posts with the same link in other sources that the viewer follows. */
export type ListedPost = Post & { read: boolean; starred: boolean; also: Double[] };

/** A post's neighbours in a list. `nextUnread`: the next unread post below, or else the list's first unread post. */
export type Neighbours = {
  previous: Post | null; next: Post | null; nextUnread: Post | null; following: Post[];
};

/** Number of next posts that a post's page lists. */
const FOLLOWING = 5;

/** Maximum steps of one search, each of 2,500 examined matches; after the last step the page of results ends. */
const SEARCH_STEPS = 40;

/** `next`: the position after which the next page of the list begins. */
type ListPage = { items: ListedPost[]; next: Position | null };

/** A page of a reading list or of a search, in the view's order. Throws 404 for an unknown folder or hidden source. */
export function listView(
  hub: Hub, viewer: Viewer, view: View, { after = startOf(view), limit }: { after?: Position; limit: number },
): ListPage {
  const { found, reached } = find(hub, viewer, view, { from: after, isBack: isOldestFirst(view), limit: limit + 1 });
  const items = withReadState(hub, viewer, posts(hub).listed(found.slice(0, limit).map(({ id }) => id)));
  return { items, next: found.length > limit ? found[limit - 1] ?? null : reached ?? null };
}

/** Returns a page like `listView`, but repeats search steps until the page is full; other requests run in between. */
export async function wholePage(
  hub: Hub, viewer: Viewer, view: View, { after, limit }: { after?: Position | undefined; limit: number },
): Promise<ListPage> {
  const items: ListedPost[] = [];
  let next = after ?? startOf(view);
  for (let steps = 1; ; steps++) {
    const step = listView(hub, viewer, view, { after: next, limit: limit - items.length });
    items.push(...step.items);
    if (step.next === null || items.length === limit || steps === SEARCH_STEPS) return { items, next: step.next };
    next = step.next;
    await nextTurn();
  }
}

function isSearch({ q }: View): boolean {
  return q !== undefined && q.trim() !== '';
}

function isOldestFirst(view: View): boolean {
  return view.order === 'oldest' && !isSearch(view);
}

/** The position before the first post of a list. */
function startOf(view: View): Position {
  return isOldestFirst(view) ? OLDEST : FROM_THE_TOP;
}

/** Returns the neighbours of a post in a list. */
export function neighbours(hub: Hub, viewer: Viewer, view: View, post: Position): Neighbours {
  const from = { publishedAt: post.publishedAt, id: post.id };
  const { previous, below, nextUnread } = view.each && !isSearch(view) ? aroundInEach(hub, viewer, view, from)
    : around(hub, viewer, view, from);
  const wanted = [previous, nextUnread, ...below].flatMap((position) => position?.id ?? []);
  const byId = new Map(posts(hub).listed([...new Set(wanted)]).map((listed) => [listed.id, listed]));
  const postAt = (position: Position | undefined): Post | null => byId.get(position?.id ?? 0) ?? null;
  const following = withReadState(hub, viewer, below.flatMap((position) => postAt(position) ?? []));
  return { previous: postAt(previous), next: following[0] ?? null, nextUnread: postAt(nextUnread), following };
}

type Around = { previous: Position | undefined; below: Position[]; nextUnread: Position | undefined };

function around(hub: Hub, viewer: Viewer, view: View, from: Position): Around {
  const isBack = isOldestFirst(view);
  const { found: [previous] } = find(hub, viewer, view, { from, isBack: !isBack, limit: 1 });
  const { found: below } = find(hub, viewer, view, { from, isBack, limit: FOLLOWING });
  const unread: View = { ...view, kind: 'unread', since: Infinity };
  const { found: [unreadBelow] } = find(hub, viewer, unread, { from, isBack, limit: 1 });
  const fromTheStart = { from: startOf(view), isBack, limit: 2 };
  const nextUnread = unreadBelow ?? find(hub, viewer, unread, fromTheStart).found.find(({ id }) => id !== from.id);
  return { previous, below, nextUnread };
}

/** The neighbours in a list of one post of each source. A source whose post was read gets no other post here. */
function aroundInEach(hub: Hub, viewer: Viewer, view: View, from: Position): Around {
  const isBack = isOldestFirst(view);
  const { found } = find(hub, viewer, view, { from: startOf(view), isBack, limit: Infinity });
  const others = found.filter(({ id }) => id !== from.id);
  const isBelow = (other: Position): boolean => (newestFirst(from, other) < 0) !== isBack;
  const below = others.filter(isBelow);
  const above = others.filter((other) => !isBelow(other));
  const states = readMarks(hub).statesOf(viewer, others.map(({ id }) => id));
  const unread = new Set(states.filter(({ isRead }) => isRead === 0).map(({ id }) => id));
  const nextUnread = [...below, ...above].find(({ id }) => unread.has(id));
  return { previous: above.at(-1), below: below.slice(0, FOLLOWING), nextUnread };
}

/** Dates and ids of a list's posts. `reached`: the post at which a search stopped before it found enough posts. */
function find(
  hub: Hub, viewer: Viewer, view: View, paging: Paging,
): { found: Position[]; reached?: Position | undefined } {
  const { kind, folder, sourceId, since, q } = view;
  if (folder !== undefined && !follows(hub).hasFolder(viewer.id, folder)) throw notFound('folder');
  if (sourceId !== undefined) visibleSource(hub, sourceId, viewer);
  const isJoined = sourceId === undefined && !isSearch(view);
  const list = { viewer, folder, since, isUnread: kind === 'unread', joined: Number(isJoined) };
  if (q !== undefined && isSearch(view)) {
    const expression = searchExpression(hub, { typed: q, viewerId: viewer.id, sourceId });
    if (expression === undefined) return { found: [] };
    const { publishedAt, id } = paging.from;
    const key = paging.from === FROM_THE_TOP ? Number.MAX_SAFE_INTEGER : searchKey(publishedAt, id);
    const wanted = { ...list, expression, key, isStarred: kind === 'starred', sourceId: sourceId ?? 0 };
    return searchList(hub, wanted, paging);
  }
  if (view.each) return { found: newestOfEach(hub, list, paging) };
  if (kind === 'starred') return { found: starredPosts(hub, { ...list, sourceId: sourceId ?? 0 }, paging) };
  if (sourceId === undefined) return { found: followedPosts(hub, list, paging) };
  // If the viewer does not follow a source, its posts are unread, except posts that the viewer has marked as read.
  const readUpTo = follows(hub).find(viewer.id, sourceId)?.readUpTo ?? 0;
  return { found: postsOfSource(hub, { ...list, sourceId, readUpTo }, paging) };
}

/**
 * Adds to each post whether the viewer has read and starred the post, and the post's doubles. The source has the
 * viewer's own name for it.
 */
export function withReadState<Shown extends { id: number; sourceTitle: string }>(
  hub: Hub, viewer: Viewer, shown: Shown[],
): (Shown & Pick<ListedPost, 'read' | 'starred' | 'also'>)[] {
  const ids = shown.map(({ id }) => id);
  const states = new Map(readMarks(hub).statesOf(viewer, ids).map((state) => [state.id, state]));
  const also = Map.groupBy(doubles(hub).of(asking(viewer), ids), (double) => double.of);
  return shown.map((post) => {
    const state = states.get(post.id);
    const sourceTitle = state?.ownTitle ?? post.sourceTitle;
    const [read, starred] = [state?.isRead === 1, state?.isStarred === 1];
    return { ...post, sourceTitle, read, starred, also: also.get(post.id) ?? [] };
  });
}
