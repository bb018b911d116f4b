import { SECOND } from '../../platform/clock.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { asking, type ListedFollow } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { FROM_THE_TOP, newestFirst, type Position } from '../posts/post-store.ts';
import { searchKey } from '../posts/search-index-store.ts';
import { lists, LATER_MAX, type Rows, type Scope } from './list-store.ts';

/** Counts stop here, and pages say "999+". */
export const COUNT_MAX = 1_000;

/** A list of what its reader follows, all of it or a folder. `since` (unix ms): also what was read after that. */
type Followed = {
  viewer: Viewer;
  folder?: string | undefined;
  isUnread: boolean;
  since?: number | undefined;
};

/** `limit` posts after a position; with `isBack` those before it, the nearest first. */
export type Step = { from: Position; isBack: boolean; limit: number };

/** Posts that one step looks through in the order of lists: about 2 ms. */
const LOOKS = 2_500;

/** Asking up to so many sources, one after another, takes less. */
const FEW_SOURCES = 60;

/**
 * Posts of what is followed. Of many sources, a walk down the newest posts of all sources mostly finds enough; where it
 * does not, and of few sources, each is asked.
 */
export function followedPosts(hub: Hub, list: Followed, step: Step): Position[] {
  const rows = rowsOf(list, step);
  const scope = lists(hub).scope.all(rows);
  const busy = scope.filter(({ readUpTo, lastId }) => lastId !== null && (!list.isUnread || lastId > readUpTo));
  const kind = list.isUnread ? 'unreadOfSource' : 'ofSource';
  const [found, rest] = busy.length > FEW_SOURCES ? walk(hub, list, step) : [[], step];
  if (!rest) return found;
  const nearest = gather(hub, busy, rest, rows, kind);
  return [...found, ...list.isUnread ? withMarked(hub, nearest, rest, rows) : nearest];
}

/** Adds posts that have marks: a source of which nothing newer is unread has not been asked for them. */
function withMarked(hub: Hub, nearest: Position[], { from, isBack, limit }: Step, rows: Rows): Position[] {
  const { marked } = lists(hub)[isBack ? 'newer' : 'older'];
  const known = new Set(nearest.map(({ id }) => id));
  const more = marked.all({ ...rows, ...from, limit, ...boundOf(nearest, isBack, limit) })
    .filter(({ id }) => !known.has(id));
  return more.length > 0 ? [...nearest, ...more].sort(inOrder(isBack)).slice(0, limit) : nearest;
}

/** For sorting in the order of lists or, with `isBack`, in the opposite one. */
function inOrder(isBack: boolean): (a: Position, b: Position) => number {
  return isBack ? (a, b) => newestFirst(b, a) : newestFirst;
}

/** The position beyond which no post can be among the `limit` nearest any more. */
function boundOf(nearest: Position[], isBack: boolean, limit: number): { boundAt: number; boundId: number } {
  const last = nearest[limit - 1];
  const end = isBack ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER;
  return { boundAt: last?.publishedAt ?? end, boundId: last?.id ?? end };
}

/** What is found among the next posts of all sources, and the step that is left to do from there, if any. */
function walk(hub: Hub, list: Followed, { from, isBack, limit }: Step): [Position[], Step | null] {
  const { walkAll, walkUnread, end } = lists(hub)[isBack ? 'newer' : 'older'];
  const rows = { ...rowsOf(list, { from, isBack, limit }), looks: LOOKS };
  const found = (list.isUnread ? walkUnread : walkAll).all(rows);
  const reached = found.length < limit ? end.get({ ...rows, last: LOOKS - 1 }) : undefined;
  return [found, reached ? { from: reached, isBack, limit: limit - found.length } : null];
}

/** The sources besides `busy` that have posts marked as unread, or read since. */
function markedAmong(hub: Hub, scope: Scope[], busy: Scope[], rows: Rows): Scope[] {
  const marked = new Set(lists(hub).marked.all(rows).map(({ id }) => id));
  for (const { sourceId } of busy) marked.delete(sourceId);
  return scope.filter(({ sourceId }) => marked.has(sourceId));
}

/** Asks one source after another, each only for posts nearer than the farthest of the `limit` found so far. */
function gather(
  hub: Hub, scope: Pick<Scope, 'sourceId' | 'readUpTo'>[], { from, isBack, limit }: Step,
  { viewerId, since }: Pick<Rows, 'viewerId' | 'since'>, kind: 'ofSource' | 'unreadOfSource',
): Position[] {
  const way = lists(hub)[isBack ? 'newer' : 'older'];
  const { publishedAt, id } = from;
  const isFew = ({ sourceId, readUpTo }: Pick<Scope, 'sourceId' | 'readUpTo'>): boolean =>
    kind === 'unreadOfSource' && scope.length <= FEW_SOURCES
    && lists(hub).countAfter(sourceId, readUpTo, COUNT_MAX) < COUNT_MAX;
  return scope.reduce<Position[]>((nearest, one) => {
    const { sourceId, readUpTo } = one;
    const bound = boundOf(nearest, isBack, limit);
    const more = way[isFew(one) ? 'unreadOfFew' : kind]
      .all({ viewerId, since, publishedAt, id, limit, sourceId, readUpTo, ...bound });
    return more.length > 0 ? [...nearest, ...more].sort(inOrder(isBack)).slice(0, limit) : nearest;
  }, []);
}

/** Posts of one source, up to which post all of it is read. */
export function postsOfSource(
  hub: Hub, { sourceId, readUpTo, ...list }: Followed & Pick<Scope, 'sourceId' | 'readUpTo'>, step: Step,
): Position[] {
  const kind = list.isUnread ? 'unreadOfSource' : 'ofSource';
  return gather(hub, [{ sourceId, readUpTo }], step, rowsOf(list, step), kind);
}

/** Posts with a star, of all sources (0) or of one; of those in a folder, of what is followed. */
export function starredPosts(hub: Hub, list: Followed & { sourceId: number }, step: Step): Position[] {
  const { starred } = lists(hub)[step.isBack ? 'newer' : 'older'];
  return starred.all({ ...rowsOf(list, step), sourceId: list.sourceId });
}

type Searched = Followed & { expression: string; key: number; sourceId: number; isStarred: boolean };

/**
 * One step of a search within a list: those posts of the list that are among the next LOOKS which the full-text index
 * finds anywhere. `key`: where in the index the step begins; `reached`: where it ended, if there may be more.
 */
export function foundPosts(
  hub: Hub, list: Searched, step: Step,
): { found: Position[]; reached?: Position | undefined } {
  const { expression, key, sourceId } = list;
  const rows = rowsOf(list, step);
  const way = lists(hub)[step.isBack ? 'newer' : 'older'];
  const few = sourceId === 0 ? fewIn(hub, list, rows) : null;
  if (few?.length === 0) return { found: [] };
  if (few) return { found: way.foundAmong.all({ expression, key, ids: JSON.stringify(few), limit: step.limit }) };
  const only = { isUnread: list.isUnread ? 1 : 0, isStarred: list.isStarred ? 1 : 0, sourceId };
  const begin = list.isUnread && sourceId === 0 && !step.isBack ? Math.min(key, keyOfFirst(hub, list, step)) : key;
  const wanted = { ...rows, expression: expression + ofFewSources(hub, list, rows), key: begin, ...only, looks: LOOKS };
  const found = way.found.all(wanted);
  return { found, reached: found.length < step.limit ? way.foundEnd.get({ ...wanted, last: LOOKS - 1 }) : undefined };
}

/**
 * Added to an expression, where the list is of few sources: the index itself then skips all others, however frequent
 * the words are. Empty for a list of many.
 */
function ofFewSources(hub: Hub, list: Searched, rows: Rows): string {
  const isMany = list.isStarred && lists(hub).countStars(rows, LOOKS) === LOOKS;
  const sources = list.sourceId === 0 && !isMany ? sourcesOf(hub, list, rows) : [];
  const isNarrow = sources.length > 0 && sources.length <= FEW_SOURCES;
  return isNarrow ? ` AND source : (${sources.map((id) => `"${id}"`).join(' OR ')})` : '';
}

/** The search key of the place before the first post of a list: nothing newer needs to be looked through. */
function keyOfFirst(hub: Hub, list: Followed, step: Step): number {
  const [first] = followedPosts(hub, list, { ...step, limit: 1 });
  return first ? searchKey(first.publishedAt + SECOND, 0) : 0;
}

/** All posts of a list; null where they are many: then a search soon comes across some of them. */
function fewIn(hub: Hub, list: Followed & { isStarred: boolean }, rows: Rows): number[] | null {
  const { all, unread, starred } = lists(hub).members;
  const { viewerId, isAdmin, folder, since } = rows;
  const ids = (list.isStarred ? starred : list.isUnread ? unread : all)
    .all({ viewerId, isAdmin, folder, since, sourceId: 0, limit: COUNT_MAX });
  return ids.length < COUNT_MAX ? ids.map(({ id }) => id) : null;
}

/** The sources of which posts may be in the list. */
function sourcesOf(hub: Hub, list: Followed & { isStarred: boolean }, rows: Rows): number[] {
  if (list.isStarred) return lists(hub).starredSources.all(list.viewer.id).map(({ id }) => id);
  const scope = lists(hub).scope.all(rows);
  const busy = list.isUnread ? scope.filter(({ readUpTo, lastId }) => (lastId ?? 0) > readUpTo) : scope;
  const others = list.isUnread ? markedAmong(hub, scope, busy, rows) : [];
  return [...busy, ...others].map(({ sourceId }) => sourceId);
}

/** The sources of which anything may be unread, and whether posts of them may be marked so. */
export function unreadScope(hub: Hub, viewer: Viewer, folder?: string): (Scope & { hasMarks: boolean })[] {
  const rows = rowsOf({ viewer, folder, isUnread: true }, { from: FROM_THE_TOP, isBack: false, limit: 0 });
  const marked = new Set(lists(hub).marked.all(rows).map(({ id }) => id));
  return lists(hub).scope.all(rows).map((one) => ({ ...one, hasMarks: marked.has(one.sourceId) }))
    .filter(({ readUpTo, lastId, hasMarks }) => (lastId ?? 0) > readUpTo || hasMarks);
}

export type CountedSource = Pick<ListedFollow, 'title' | 'state' | 'folder'> & {
  id: number; unread: number; notify: boolean;
};

/** What one follows, in no order, with how many posts of each are unread, at most COUNT_MAX. */
export function countedSources(hub: Hub, viewer: Viewer): CountedSource[] {
  const rows = lists(hub).unread.all({ ...asking(viewer), folder: null });
  return rows.map(({ sourceId: id, readUpTo, later, readAfter, unreadBefore, title, state, folder, notify }) => {
    const isAll = later < LATER_MAX || later - readAfter >= COUNT_MAX;
    const after = isAll ? later : lists(hub).countAfter(id, readUpTo, COUNT_MAX + readAfter);
    const unread = Math.min(COUNT_MAX, after - readAfter + unreadBefore);
    return { id, unread, title, state, folder, notify: notify === 1 };
  });
}

/** How many posts of a source, a folder or all that is followed arrived after one, at most COUNT_MAX. */
export function countArrived(
  hub: Hub, viewer: Viewer, newest: number,
  { sourceId, folder }: { sourceId: number | undefined; folder: string | null },
): number {
  if (sourceId !== undefined) return lists(hub).countAfter(sourceId, newest, COUNT_MAX);
  return lists(hub).countArrived({ ...asking(viewer), newest, folder, looks: COUNT_MAX });
}

function rowsOf({ viewer, folder, since }: Followed, { from: { publishedAt, id }, limit }: Step): Rows {
  return {
    ...asking(viewer), publishedAt, id, limit, folder: folder ?? null, since: since ?? Number.MAX_SAFE_INTEGER,
  };
}
