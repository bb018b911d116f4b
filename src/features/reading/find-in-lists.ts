import type { Viewer } from '../../platform/http/router.ts';
import { asking } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { FROM_THE_TOP, newestFirst, type Position } from '../posts/post-store.ts';
import { lists, LOOKED, type Rows, type Scope } from './list-store.ts';

/** Counts stop here: what is more is "999+". */
export const COUNTED = 1_000;

/** A list of what its reader follows, all of it or a folder. `since` (unix ms): also what was read after that. */
type Followed = {
  viewer: Viewer;
  folder?: string | undefined;
  isUnread: boolean;
  since?: number | undefined;
};

/** `limit` posts after a position; with `isBack` those before it, the nearest first. */
export type Step = { from: Position; isBack: boolean; limit: number };

/** Posts that are looked at in the order of the list: about 2 ms. */
const LOOKS = 2_500;

/** So many sources are asked one after another in less. */
const FEW_SOURCES = 60;

/**
 * Posts of what is followed. In the order of the list most are found soon; what is rare there is gathered from its
 * sources.
 */
export function followedPosts(hub: Hub, list: Followed, step: Step): Position[] {
  const rows = rowsOf(list, step);
  const scope = lists(hub).scope.all(rows);
  const busy = scope.filter(({ readUpTo, lastId }) => lastId !== null && (!list.isUnread || lastId > readUpTo));
  const kind = list.isUnread ? 'unreadOfSource' : 'ofSource';
  const [found, rest] = busy.length > FEW_SOURCES ? walk(hub, list, step) : [[], step];
  if (!rest) return found;
  const others = list.isUnread ? markedAmong(hub, scope, busy, rows) : [];
  return [...found, ...gather(hub, others, rest, rows, 'markedOfSource', gather(hub, busy, rest, rows, kind))];
}

/** What is found among the next posts of all, and the step that is left to do from there; null where there is none. */
function walk(hub: Hub, list: Followed, { from, isBack, limit }: Step): [Position[], Step | null] {
  const { walkAll, walkUnread, end } = lists(hub)[isBack ? 'newer' : 'older'];
  const rows = { ...rowsOf(list, { from, isBack, limit }), looks: LOOKS };
  const found = (list.isUnread ? walkUnread : walkAll).all(rows);
  const reached = found.length < limit ? end.get({ ...rows, last: LOOKS - 1 }) : undefined;
  return [found, reached ? { from: reached, isBack, limit: limit - found.length } : null];
}

/** The other sources of which posts are marked as unread, or were read since. */
function markedAmong(hub: Hub, scope: Scope[], busy: Scope[], rows: Rows): Scope[] {
  const marked = new Set(lists(hub).marked.all(rows).map(({ id }) => id));
  for (const { sourceId } of busy) marked.delete(sourceId);
  return scope.filter(({ sourceId }) => marked.has(sourceId));
}

/** With those that are found already; of each source only what comes before the farthest of them can matter. */
function gather(
  hub: Hub, scope: Pick<Scope, 'sourceId' | 'readUpTo'>[], { from, isBack, limit }: Step,
  { viewerId, since }: Pick<Rows, 'viewerId' | 'since'>, kind: 'ofSource' | 'unreadOfSource' | 'markedOfSource',
  found: Position[] = [],
): Position[] {
  const statement = lists(hub)[isBack ? 'newer' : 'older'][kind];
  const order = isBack ? (a: Position, b: Position) => newestFirst(b, a) : newestFirst;
  const end = isBack ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER;
  const { publishedAt, id } = from;
  return scope.reduce((nearest, { sourceId, readUpTo }) => {
    const last = nearest[limit - 1];
    const bound = { boundAt: last?.publishedAt ?? end, boundId: last?.id ?? end };
    const more = statement.all({ viewerId, since, publishedAt, id, limit, sourceId, readUpTo, ...bound });
    return more.length > 0 ? [...nearest, ...more].sort(order).slice(0, limit) : nearest;
  }, found);
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

/**
 * Posts that an expression of the full-text index finds, of the next ones that it finds anywhere; `key`: where in it
 * the step begins, `reached`: where it ends when there may be more.
 */
export function foundPosts(
  hub: Hub, list: Followed & { expression: string; key: number; sourceId: number; isStarred: boolean }, step: Step,
): { found: Position[]; reached?: Position | undefined } {
  const { key, sourceId } = list;
  const rows = rowsOf(list, step);
  const isMany = list.isStarred && lists(hub).countStars(rows, LOOKS) === LOOKS;
  const sources = sourceId === 0 && !isMany ? sourcesOf(hub, list, rows) : [];
  // Of a word that stands in every post the index alone can tell soon those of few sources.
  const isNarrow = sourceId === 0 && !isMany && sources.length <= FEW_SOURCES;
  if (isNarrow && sources.length === 0) return { found: [] };
  const among = isNarrow ? ` AND source : (${sources.map((id) => `"${id}"`).join(' OR ')})` : '';
  const only = { isUnread: list.isUnread ? 1 : 0, isStarred: list.isStarred ? 1 : 0, sourceId };
  const wanted = { ...rows, expression: list.expression + among, key, ...only, looks: LOOKS };
  const way = lists(hub)[step.isBack ? 'newer' : 'older'];
  const found = way.found.all(wanted);
  return { found, reached: found.length < step.limit ? way.foundEnd.get({ ...wanted, last: LOOKS - 1 }) : undefined };
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

/** How many posts of each followed source are unread, at most COUNTED. */
export function unreadBySource(hub: Hub, viewer: Viewer): Map<number, number> {
  const rows = lists(hub).unread.all({ ...asking(viewer), folder: null });
  return new Map(rows.map(({ sourceId, readUpTo, later, readAfter, unreadBefore }) => {
    const isAll = later < LOOKED || later - readAfter >= COUNTED;
    const after = isAll ? later : lists(hub).countAfter(sourceId, readUpTo, COUNTED + readAfter);
    return [sourceId, Math.min(COUNTED, after - readAfter + unreadBefore)];
  }));
}

/** How many posts of a source, a folder or all that is followed arrived after one, at most COUNTED. */
export function countArrived(
  hub: Hub, viewer: Viewer, newest: number,
  { sourceId, folder }: { sourceId: number | undefined; folder: string | null },
): number {
  if (sourceId !== undefined) return lists(hub).countAfter(sourceId, newest, COUNTED);
  return lists(hub).countArrived({ ...asking(viewer), newest, folder, looks: COUNTED });
}

function rowsOf({ viewer, folder, since }: Followed, { from: { publishedAt, id }, limit }: Step): Rows {
  return {
    ...asking(viewer), publishedAt, id, limit, folder: folder ?? null, since: since ?? Number.MAX_SAFE_INTEGER,
  };
}
