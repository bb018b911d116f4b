import { notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { asking, follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { membersSearch } from '../full-text/full-text-store.ts';
import { endOfIndex, typedQuery } from '../posts/find-posts-store.ts';
import { countFoundIn, readFound } from '../posts/mark-found.ts';
import { posts, type Position, type Post } from '../posts/post-store.ts';
import { visibleSource } from '../sources/source-store.ts';
import { entries, type Double } from './entry-store.ts';
import {
  followedPosts, newestOfEach, postsOfKind, postsOfSource, searchDays, searchList, type Paging,
} from './find-in-lists.ts';
import { inPlace, KEYS, LIST_ORDERS, startOf, type Order, type ListPlace } from './list-orders.ts';

/**
 * `q`: a search in the list. `since` (unix ms): a list of unread posts also has posts marked one by one since then.
 * `each`: only the newest unread post of each source. A search (`q`) ignores the fields `order` and `each`.
 */
export type View = {
  kind: 'unread' | 'all' | 'starred' | 'muted'; folder?: string; sourceId?: number; q?: string; since?: number;
  order?: Order; each?: true; by?: 'relevance';
};

/** `also`: the posts with the same link in other sources that the viewer follows; none if they are not to be joined. */
export type ListedPost = Post & { read: boolean; starred: boolean; also: Double[] };

/** `nextUnread`: the next unread post below the post, or else the list's first; in the muted list also read ones. */
export type Neighbours = {
  previous: Post | null; next: Post | null; nextUnread: Post | null; following: Post[];
};

/** Number of next posts that a post's page lists. */
const FOLLOWING = 5;

/** Maximum steps of one search (`searchList`), in some 20 ms; after the last step the page of results ends. */
const SEARCH_STEPS = 3;

/** How many posts one step of a search finds. `isAll`: false if the search could go on. */
export type Counted = { count: number; isAll: boolean };

/** `searchedTo`: the time (unix ms) back to which a search looked, if it ended before the page was full. */
type ListPage = { items: ListedPost[]; next: ListPlace | null; searchedTo: number | null; counted: Counted };

/** `countTo`: the (first) step looks for so many posts, though the page has `limit`. */
type Asked = { after?: ListPlace | undefined; limit: number; countTo?: number };

/** A page of a reading list, or what one step of a search finds, in the view's order. */
export function listView(
  hub: Hub, viewer: Viewer, view: View, { after = startOf(orderOf(view)), limit, countTo = 0 }: Asked,
): ListPage {
  const { found, reached, searchedTo = null } =
    find(hub, viewer, view, { from: after, isUp: orderOf(view).isUp, limit: Math.max(limit + 1, countTo) });
  const items = withReadState(hub, viewer, posts(hub).listed(found.slice(0, limit).map(({ id }) => id)));
  const counted = { count: found.length, isAll: reached === undefined };
  if (found.length > limit) return { items, next: found[limit - 1] ?? null, searchedTo: null, counted };
  return { items, next: reached ?? null, searchedTo: reached?.at ?? searchedTo, counted };
}

/**
 * A page of a list or search. A search fills it in up to SEARCH_STEPS steps, between which other requests run;
 * `counted` is of its first step.
 */
export async function wholePage(
  hub: Hub, viewer: Viewer, view: View, { after, limit, countTo = 0 }: Asked,
): Promise<ListPage> {
  const first = listView(hub, viewer, view, { after, limit, countTo });
  let last = first;
  const items = [...first.items];
  for (let steps = 1; last.next !== null && items.length < limit && steps < SEARCH_STEPS; steps++) {
    await nextTurn();
    last = listView(hub, viewer, view, { after: last.next, limit: limit - items.length });
    items.push(...last.items);
  }
  return { ...last, items, counted: first.counted };
}

function isSearch({ q }: View): boolean {
  return q !== undefined && q.trim() !== '';
}

/** A search has the newest posts first. */
export function orderOf(view: View): (typeof LIST_ORDERS)[Order] {
  return LIST_ORDERS[isSearch(view) ? 'newest' : view.order ?? 'newest'];
}

/** Where a post stands in the view. */
export function placeIn(view: View, post: Position): ListPlace {
  return { at: KEYS[orderOf(view).key].of(post), id: post.id };
}

export function neighbours(hub: Hub, viewer: Viewer, view: View, post: Position): Neighbours {
  const from = placeIn(view, post);
  const { previous, below, nextUnread } = view.each && !isSearch(view) ? aroundInEach(hub, viewer, view, from)
    : around(hub, viewer, view, from);
  const wanted = [previous, nextUnread, ...below].flatMap((place) => place?.id ?? []);
  const byId = new Map(posts(hub).listed([...new Set(wanted)]).map((listed) => [listed.id, listed]));
  const postAt = (place: ListPlace | undefined): Post | null => byId.get(place?.id ?? 0) ?? null;
  const following = withReadState(hub, viewer, below.flatMap((place) => postAt(place) ?? []));
  return { previous: postAt(previous), next: following[0] ?? null, nextUnread: postAt(nextUnread), following };
}

/** Counts the posts that one step of a search finds, up to `most`. */
export function countFound(hub: Hub, viewer: Viewer, view: View, most: number): Counted {
  const { by: _, ...search } = view;
  const { found, reached } = find(hub, viewer, search, { from: startOf(LIST_ORDERS.newest), isUp: false, limit: most });
  return { count: found.length, isAll: reached === undefined };
}

/** A search by relevance shows at most this many posts: the best of the newest BEST_AMONG found posts. */
const BEST = 100;
const BEST_AMONG = 200;
type Around = { previous: ListPlace | undefined; below: ListPlace[]; nextUnread: ListPlace | undefined };

function around(hub: Hub, viewer: Viewer, view: View, from: ListPlace): Around {
  const { isUp } = orderOf(view);
  const { found: [previous] } = find(hub, viewer, view, { from, isUp: !isUp, limit: 1 });
  const { found: below } = find(hub, viewer, view, { from, isUp, limit: FOLLOWING });
  const unread: View = view.kind === 'muted' ? view : { ...view, kind: 'unread', since: Infinity };
  const { found: [unreadBelow] } = find(hub, viewer, unread, { from, isUp, limit: 1 });
  const fromTheStart = { from: startOf(orderOf(view)), isUp, limit: 2 };
  const nextUnread = unreadBelow ?? find(hub, viewer, unread, fromTheStart).found.find(({ id }) => id !== from.id);
  return { previous, below, nextUnread };
}

function aroundInEach(hub: Hub, viewer: Viewer, view: View, from: ListPlace): Around {
  const order = orderOf(view);
  const { found } = find(hub, viewer, view, { from: startOf(order), isUp: order.isUp, limit: Infinity });
  const others = found.filter(({ id }) => id !== from.id);
  const isBelow = (other: ListPlace): boolean => inPlace(order.isUp)(from, other) < 0;
  const below = others.filter(isBelow);
  const above = others.filter((other) => !isBelow(other));
  const states = entries(hub).statesOf(viewer, others.map(({ id }) => id));
  const unread = new Set(states.filter(({ isRead }) => isRead === 0).map(({ id }) => id));
  const nextUnread = [...below, ...above].find(({ id }) => unread.has(id));
  return { previous: above.at(-1), below: below.slice(0, FOLLOWING), nextUnread };
}

/**
 * Dates and ids of a list's posts. `reached`: where a search goes on that has stopped before it found enough posts.
 * `joins`: whether a list of several sources shows one post per link, if the viewer wants that.
 */
function find(
  hub: Hub, viewer: Viewer, view: View, asked: Omit<Paging, 'key'>, joins = true,
): { found: ListPlace[]; reached?: ListPlace | undefined; searchedTo?: number | null } {
  const paging = { ...asked, key: orderOf(view).key };
  const { kind, folder, sourceId, since, q, by } = view;
  if (folder !== undefined && !follows(hub).hasFolder(viewer.id, folder)) throw notFound('folder');
  if (sourceId !== undefined) visibleSource(hub, sourceId, viewer);
  const isJoined = joins && sourceId === undefined && !isSearch(view);
  const list = { viewer, folder, since, isUnread: kind === 'unread', joined: Number(isJoined) };
  if (q !== undefined && isSearch(view)) {
    if (by === 'relevance') {
      const { found, searchedTo } = best(hub, viewer, view, q);
      return { found: pageOfBest(found, paging), searchedTo };
    }
    const query = typedQuery(hub, { typed: q, viewer, sourceId }, membersSearch(hub));
    if (query === undefined) return { found: [] };
    const isStarred = kind === 'starred' || query.states.has('starred');
    const isUnread = list.isUnread || query.states.has('unread');
    const isMuted = kind === 'muted' || query.states.has('muted');
    const searched = { ...list, isUnread, isStarred, isMuted, query, sourceId: sourceId ?? 0 };
    if (query.isEverything && Number(isUnread) + Number(isStarred) + Number(isMuted) < 2) {
      const { q: _, by: __, each: ___, ...days } = view;
      const only = isUnread ? 'unread' : isStarred ? 'starred' : isMuted ? 'muted' : 'all';
      return searchDays(hub, searched, paging, (from) => find(hub, viewer, { ...days, kind: only }, from, false).found);
    }
    return { ...searchList(hub, searched, paging), searchedTo: endOfIndex(hub, query) };
  }
  if (view.each) return { found: newestOfEach(hub, list, paging) };
  if (kind === 'muted' || kind === 'starred') {
    return { found: postsOfKind(hub, kind, { ...list, sourceId: sourceId ?? 0 }, paging) };
  }
  if (sourceId === undefined) return { found: followedPosts(hub, list, paging) };
  return { found: postsOfSource(hub, sourceId, list, paging) };
}

/** The best of the newest found posts: those whose titles have the searched words most often, newer ones first. */
function best(
  hub: Hub, viewer: Viewer, { by: _, ...view }: View, q: string,
): { found: ListPlace[]; searchedTo: number | null } {
  const found: ListPlace[] = [];
  let from: ListPlace | undefined = startOf(LIST_ORDERS.newest);
  let searchedTo: number | null = null;
  for (let step = 0; from !== undefined && step < SEARCH_STEPS && found.length < BEST_AMONG; step++) {
    const some: ReturnType<typeof find> =
      find(hub, viewer, view, { from, isUp: false, limit: BEST_AMONG - found.length });
    found.push(...some.found);
    from = some.reached;
    searchedTo = from?.at ?? some.searchedTo ?? null;
  }
  const words = readFound(q);
  const ranked = posts(hub).listed(found.map(({ id }) => id))
    .map((post) => ({ post, score: countFoundIn(post.title, words) }))
    .sort((one, other) => other.score - one.score).slice(0, BEST).map(({ post }) => placeIn(view, post));
  return { found: ranked, searchedTo: found.length < BEST_AMONG ? searchedTo : null };
}

function pageOfBest(best: ListPlace[], { from, isUp, limit }: Paging): ListPlace[] {
  const at = best.findIndex(({ id }) => id === from.id);
  return (isUp ? best.slice(0, Math.max(0, at)).toReversed() : best.slice(at + 1)).slice(0, limit);
}

/** Adds to each post its read state, its star and its doubles, and the viewer's own name for its source. */
export function withReadState<Shown extends { id: number; sourceTitle: string }>(
  hub: Hub, viewer: Viewer, shown: Shown[],
): (Shown & Pick<ListedPost, 'read' | 'starred' | 'also'>)[] {
  const ids = shown.map(({ id }) => id);
  const states = new Map(entries(hub).statesOf(viewer, ids).map((state) => [state.id, state]));
  const also = Map.groupBy(entries(hub).doublesOf(asking(viewer), ids), (double) => double.of);
  return shown.map((post) => {
    const state = states.get(post.id);
    const sourceTitle = state?.ownTitle ?? post.sourceTitle;
    const [read, starred] = [state?.isRead === 1, state?.isStarred === 1];
    return { ...post, sourceTitle, read, starred, also: also.get(post.id) ?? [] };
  });
}
