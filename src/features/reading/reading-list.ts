import { notFound } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { asking, follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { typedQuery } from '../posts/find-posts-store.ts';
import { FROM_THE_TOP, newestFirst, posts, type Position, type Post } from '../posts/post-store.ts';
import { visibleSource } from '../sources/source-store.ts';
import { doubles, type Double } from './double-store.ts';
import {
  bestFound, followedPosts, mergeSources, newestOfEach, postsOfKind, searchList, type Paging,
} from './find-in-lists.ts';
import { OLDEST, readMarks } from './reading-store.ts';

/**
 * `q`: a search in the list. `since` (unix ms): a list of unread posts also has posts that were read after this time.
 * `each`: only the newest unread post of each source. A search (`q`) ignores the fields `order` and `each`.
 */
export type View = {
  kind: 'unread' | 'all' | 'starred' | 'muted'; folder?: string; sourceId?: number; q?: string; since?: number;
  order?: 'oldest'; each?: true; by?: 'relevance';
};

/** `also`: the posts with the same link in other sources that the viewer follows. */
export type ListedPost = Post & { read: boolean; starred: boolean; also: Double[] };

/** A post's neighbours in a list. `nextUnread`: the next unread post below the post, or else the list's first. */
export type Neighbours = {
  previous: Post | null; next: Post | null; nextUnread: Post | null; following: Post[];
};

/** Number of next posts that a post's page lists. */
const FOLLOWING = 5;

/** Maximum steps of one search, each of 2,500 examined matches; after the last step the page of results ends. */
const SEARCH_STEPS = 40;

type ListPage = { items: ListedPost[]; next: Position | null };

/** A page of a reading list or of a search, in the view's order. Throws 404 for an unknown folder or hidden source. */
export function listView(
  hub: Hub, viewer: Viewer, view: View, { after = startOf(view), limit }: { after?: Position; limit: number },
): ListPage {
  const { found, reached } = find(hub, viewer, view, { from: after, isBack: isOldestFirst(view), limit: limit + 1 });
  const items = withReadState(hub, viewer, posts(hub).listed(found.slice(0, limit).map(({ id }) => id)));
  return { items, next: found.length > limit ? found[limit - 1] ?? null : reached ?? null };
}

/** Returns a page of a list or search. A search fills the page in several steps, between which other requests run. */
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

/** Counts the posts that a search of a list finds, up to `most`. `isAll`: whether the search looked at all posts. */
export function countFound(hub: Hub, viewer: Viewer, view: View, most: number): { count: number; isAll: boolean } {
  const { by: _, ...search } = view;
  const { found, reached } = find(hub, viewer, search, { from: FROM_THE_TOP, isBack: false, limit: most });
  return { count: found.length, isAll: reached === undefined };
}

/** Number of posts that a search by relevance shows, on a single page. */
const BEST = 100;
type Around = { previous: Position | undefined; below: Position[]; nextUnread: Position | undefined };

function around(hub: Hub, viewer: Viewer, view: View, from: Position): Around {
  const isBack = isOldestFirst(view);
  const { found: [previous] } = find(hub, viewer, view, { from, isBack: !isBack, limit: 1 });
  const { found: below } = find(hub, viewer, view, { from, isBack, limit: FOLLOWING });
  const unread: View = view.kind === 'muted' ? view : { ...view, kind: 'unread', since: Infinity };
  const { found: [unreadBelow] } = find(hub, viewer, unread, { from, isBack, limit: 1 });
  const fromTheStart = { from: startOf(view), isBack, limit: 2 };
  const nextUnread = unreadBelow ?? find(hub, viewer, unread, fromTheStart).found.find(({ id }) => id !== from.id);
  return { previous, below, nextUnread };
}

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
  const { kind, folder, sourceId, since, q, by } = view;
  if (folder !== undefined && !follows(hub).hasFolder(viewer.id, folder)) throw notFound('folder');
  if (sourceId !== undefined) visibleSource(hub, sourceId, viewer);
  const isJoined = sourceId === undefined && !isSearch(view);
  const list = { viewer, folder, since, isUnread: kind === 'unread', joined: Number(isJoined) };
  if (q !== undefined && isSearch(view)) {
    const query = typedQuery(hub, { typed: q, viewer, sourceId });
    if (query === undefined) return { found: [] };
    const isStarred = kind === 'starred' || query.states.has('starred');
    const isUnread = list.isUnread || query.states.has('unread');
    const isMuted = kind === 'muted' || query.states.has('muted');
    const searched = { ...list, isUnread, isStarred, isMuted, query, sourceId: sourceId ?? 0 };
    if (by === 'relevance') return { found: pageOfBest(bestFound(hub, searched, BEST), paging) };
    return searchList(hub, searched, paging);
  }
  if (view.each) return { found: newestOfEach(hub, list, paging) };
  if (kind === 'muted' || kind === 'starred') {
    return { found: postsOfKind(hub, kind, { ...list, sourceId: sourceId ?? 0 }, paging) };
  }
  if (sourceId === undefined) return { found: followedPosts(hub, list, paging) };
  // If the viewer does not follow a source, its posts are unread, except posts that the viewer has marked as read.
  const readUpTo = follows(hub).find(viewer.id, sourceId)?.readUpTo ?? 0;
  return { found: mergeSources(hub, [{ sourceId, readUpTo }], list, paging) };
}

function pageOfBest(best: Position[], { from, isBack, limit }: Paging): Position[] {
  const at = best.findIndex(({ id }) => id === from.id);
  return (isBack ? best.slice(0, Math.max(0, at)).toReversed() : best.slice(at + 1)).slice(0, limit);
}

/** Adds to each post its read state, its star and its doubles, and the viewer's own name for its source. */
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
