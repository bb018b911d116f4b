import { SECOND } from '../../platform/clock.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { asking } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { parseExpression } from '../posts/expression.ts';
import { FROM_THE_TOP, newestFirst, type Position } from '../posts/post-store.ts';
import { searchKey } from '../posts/search-index-store.ts';
import { searchQuery, type SearchQuery } from '../posts/search-query.ts';
import { searchesInLists, type FoundPost, type SearchParams } from './list-search-store.ts';
import { COUNT_MAX, lists, type FollowedSource, type PageParams } from './list-store.ts';
import { OLDEST } from './reading-store.ts';

/** `since` (unix ms): unread lists keep posts read after this time. `joined`: 1 if the list has one post per link. */
type ReadingList = {
  viewer: Viewer;
  folder?: string | undefined;
  isUnread: boolean;
  since?: number | undefined;
  joined: number;
};

/** Keyset paging selects the nearest `limit` posts after the position `from` or, with `isBack`, before it. */
export type Paging = { from: Position; isBack: boolean; limit: number };
type MarkedUpTo = Pick<FollowedSource, 'sourceId' | 'readUpTo'>;

/** Number of posts that one scan of all sources examines, in about 2 ms. */
const SCAN_MAX = 2_500;

/** Up to this number of followed sources, one query per source is faster than a scan of all sources. */
const FEW_SOURCES = 60;

/** If fewer posts than this follow the last read post of a source, sorting the posts finds the newest unread post. */
const FEW_POSTS = 32;

/** Returns posts of followed sources; if the sources are many, by a scan of the newest posts of all sources. */
export function followedPosts(hub: Hub, list: ReadingList, paging: Paging): Position[] {
  const active = lists(hub).sources.all(paramsOf(list, paging))
    .filter(({ readUpTo, lastId }) => lastId !== null && (!list.isUnread || lastId > readUpTo));
  const isScanned = active.length > FEW_SOURCES && !(list.isUnread && isFromOldest(paging));
  const [found, rest] = isScanned ? scan(hub, list, paging) : [[], paging];
  if (!rest) return found;
  const nearest = mergeSources(hub, active, list, rest);
  return [...found, ...list.isUnread ? withExceptions(hub, nearest, list, rest) : nearest];
}

/** Whether the page is the first page of a list with the oldest post first. */
function isFromOldest({ from }: Paging): boolean {
  return from.publishedAt === OLDEST.publishedAt;
}

function scan(hub: Hub, list: ReadingList, paging: Paging): [Position[], Paging | null] {
  const { scanAll, scanUnread, scanEnd } = lists(hub)[paging.isBack ? 'newer' : 'older'];
  const params = { ...paramsOf(list, paging), scanned: SCAN_MAX };
  const found = (list.isUnread ? scanUnread : scanAll).all(params);
  const end = found.length < paging.limit ? scanEnd.get({ ...params, last: SCAN_MAX - 1 }) : undefined;
  return [found, end ? { ...paging, from: end, limit: paging.limit - found.length } : null];
}

/** Queries each source in turn, only for posts nearer to `paging.from` than the `limit` nearest posts found so far. */
export function mergeSources(hub: Hub, sources: MarkedUpTo[], list: ReadingList, paging: Paging): Position[] {
  const { ofSource, unreadOfSource, unreadOfFew } = lists(hub)[paging.isBack ? 'newer' : 'older'];
  const maySort = sources.length <= FEW_SOURCES || isFromOldest(paging);
  const hasFewLater = ({ sourceId, readUpTo }: MarkedUpTo): boolean =>
    maySort && lists(hub).countAfter(sourceId, readUpTo, COUNT_MAX) < COUNT_MAX;
  const params = paramsOf(list, paging);
  return sources.reduce<Position[]>((nearest, source) => {
    const { sourceId, readUpTo } = source;
    const statement = !list.isUnread ? ofSource : hasFewLater(source) ? unreadOfFew : unreadOfSource;
    return merged(nearest, statement.all({ ...params, sourceId, readUpTo, ...boundOf(nearest, paging) }), paging);
  }, []);
}

/** Adds to the posts of a page (`nearest`) posts marked as unread, which `mergeSources` may have left out. */
function withExceptions(hub: Hub, nearest: Position[], list: ReadingList, paging: Paging): Position[] {
  const { exceptions } = lists(hub)[paging.isBack ? 'newer' : 'older'];
  const known = new Set(nearest.map(({ id }) => id));
  const found = exceptions.all({ ...paramsOf(list, paging), ...boundOf(nearest, paging) });
  return merged(nearest, found.filter(({ id }) => !known.has(id)), paging);
}

function merged(nearest: Position[], more: Position[], { isBack, limit }: Paging): Position[] {
  if (more.length === 0) return nearest;
  return [...nearest, ...more].sort(nearestFirst(isBack)).slice(0, limit);
}

function nearestFirst(isBack: boolean): (a: Position, b: Position) => number {
  return isBack ? (a, b) => newestFirst(b, a) : newestFirst;
}

function boundOf(nearest: Position[], { isBack, limit }: Paging): { boundAt: number; boundId: number } {
  const last = nearest[limit - 1];
  const end = isBack ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER;
  return { boundAt: last?.publishedAt ?? end, boundId: last?.id ?? end };
}

/** Returns the starred or muted posts of a source, or of all sources (`sourceId` 0). */
export function postsOfKind(
  hub: Hub, kind: 'starred' | 'muted', list: ReadingList & { sourceId: number }, paging: Paging,
): Position[] {
  const statements = lists(hub)[paging.isBack ? 'newer' : 'older'];
  return statements[kind].all({ ...paramsOf(list, paging), sourceId: list.sourceId });
}

/** Returns the newest unread post of each followed source. */
export function newestOfEach(hub: Hub, list: ReadingList, { from, isBack, limit }: Paging): Position[] {
  const sources = sourcesWithUnread(hub, paramsOf(list, { from, limit: 1 }));
  const { unreadOfSource, unreadOfFew } = lists(hub).older;
  const top = { from: FROM_THE_TOP, isBack: false, limit: 1 };
  const params = { ...paramsOf(list, top), ...boundOf([], top) };
  const newest = sources.flatMap(({ sourceId, readUpTo }) => {
    const hasFew = lists(hub).countAfter(sourceId, readUpTo, FEW_POSTS) < FEW_POSTS;
    return (hasFew ? unreadOfFew : unreadOfSource).all({ ...params, sourceId, readUpTo });
  });
  const compare = nearestFirst(isBack);
  return newest.filter((post) => compare(from, post) < 0).sort(compare).slice(0, limit);
}

/** `sourceId`: 0 searches all sources. */
type Searched = ReadingList & { query: SearchQuery; sourceId: number; isStarred: boolean; isMuted: boolean };

/** Examines the next SCAN_MAX matches of a search. `reached`: the last examined post if another call must follow. */
export function searchList(
  hub: Hub, list: Searched, paging: Paging,
): SearchStep {
  const { query, query: { fits = () => true }, sourceId } = list;
  const [params, range] = [paramsOf(list, paging), rangeOf(query, paging)];
  const { found: search, foundEnd, foundAmong } = searchesInLists(hub)[paging.isBack ? 'newer' : 'older'];
  const few = sourceId === 0 ? membersIfFew(hub, list, params) : null;
  if (few?.length === 0) return { found: [] };
  const among = { ...params, ...range, ...onlyOf(list), expression: query.match, scanned: SCAN_MAX, limit: COUNT_MAX };
  if (few) {
    const found = foundAmong.first(paging.limit, fits, { ...among, ids: JSON.stringify(few) });
    return withoutLaterDoubles(hub, query, { found, limit: paging.limit }, among);
  }
  const startsAtFirst = list.isUnread && !list.isStarred && !list.isMuted && sourceId === 0 && !paging.isBack;
  const key = startsAtFirst ? Math.min(range.key, keyBeforeFirst(hub, list, paging)) : range.key;
  const expression = query.match + sourceFilter(hub, list, params);
  const wanted = { ...params, ...range, ...onlyOf(list), expression, key, scanned: SCAN_MAX };
  const found = search.first(paging.limit, fits, wanted);
  const reached = found.length < paging.limit ? foundEnd.get({ ...wanted, last: SCAN_MAX - 1 }) : undefined;
  return withoutLaterDoubles(hub, query, { found, reached, limit: paging.limit }, among);
}

/** Posts that one `searchList` call found. `reached`: where the next call begins; undefined if no call must follow. */
type SearchStep = { found: FoundPost[]; reached?: Position | undefined };

/** Leaves out each found post if the search also finds an earlier post with the same link, on any page. */
function withoutLaterDoubles(
  hub: Hub, { fits = () => true, above, below }: SearchQuery, { found, reached, limit }: SearchStep & { limit: number },
  params: SearchParams,
): SearchStep {
  const { earlier, older: { matching } } = searchesInLists(hub);
  const rows = found.flatMap(({ id, rowId }) => rowId === null ? [] : [[id, rowId]]);
  const posts = rows.length === 0 ? []
    : earlier.all({ ...params, key: below, end: above, rows: JSON.stringify(rows) }).filter(fits);
  if (posts.length === 0) return { found, reached };
  const keys = posts.map(({ searchKey: key }) => key);
  const range = { key: Math.max(...keys) + 1, end: Math.min(...keys) - 1 };
  const ids = JSON.stringify(posts.map(({ id }) => id));
  const places = new Set(matching.all({ expression: params.expression, ...range, ids }).map(({ place }) => place));
  const later = new Set(posts.filter(({ searchKey: key }) => places.has(key)).map((post) => post.of));
  const isCut = later.size > 0 && found.length === limit; // the next search goes on after the last found post
  return { found: found.filter(({ id }) => !later.has(id)), reached: isCut ? found.at(-1) : reached };
}

/** Returns the ids of the posts that a rule fits, among the posts with the given ids, which the viewer may see. */
export function fitAmong(hub: Hub, viewer: Viewer, expression: string, ids: number[]): number[] {
  const query = searchQuery(hub, parseExpression(expression, { isSearch: false }), { viewer, ownerId: viewer.id });
  if (!query) return [];
  const range = rangeOf(query, { from: FROM_THE_TOP, isBack: false });
  const wanted = { expression: query.match, ...range, ids: JSON.stringify(ids), limit: ids.length };
  return searchesInLists(hub).older.fitAmong.all(wanted).filter(query.fits ?? (() => true)).map(({ id }) => id);
}

function onlyOf({ isUnread, isStarred, isMuted, sourceId }: Searched) {
  return { isUnread: isUnread ? 1 : 0, isStarred: isStarred ? 1 : 0, isMuted: isMuted ? 1 : 0, sourceId };
}

function rangeOf({ above, below }: Pick<SearchQuery, 'above' | 'below'>, { from, isBack }: Omit<Paging, 'limit'>) {
  const atTop = from === FROM_THE_TOP;
  const key = atTop ? Number.MAX_SAFE_INTEGER : searchKey(from.publishedAt, from.id);
  return isBack ? { key: Math.max(key, above), end: below } : { key: Math.min(key, below), end: above };
}

/** The best posts among the newest SCAN_MAX matches, the best first; the best of several doubles stands for all. */
export function bestFound(hub: Hub, list: Searched, limit: number): Position[] {
  const { match, fits = () => true, ...query } = list.query;
  const paging = { from: FROM_THE_TOP, isBack: false, limit };
  const params = { ...paramsOf(list, paging), ...rangeOf(query, paging), scanned: SCAN_MAX };
  const rows = new Set<number>();
  const stands = (post: FoundPost): boolean => {
    const isFirst = post.rowId === null || !rows.has(post.rowId);
    if (post.rowId !== null && fits(post)) rows.add(post.rowId);
    return isFirst && fits(post);
  };
  return searchesInLists(hub).older.best.first(limit, stands, { ...params, ...onlyOf(list), expression: match });
}

/** Returns a search filter that makes the index skip all other sources; empty for lists with many sources. */
function sourceFilter(hub: Hub, list: Searched, params: PageParams): string {
  const isMany = list.isMuted || list.isStarred && lists(hub).countStars(params, SCAN_MAX) === SCAN_MAX;
  const sources = list.sourceId === 0 && !isMany ? sourcesOf(hub, list, params) : [];
  const isNarrow = sources.length > 0 && sources.length <= FEW_SOURCES;
  return isNarrow ? ` AND source : (${sources.map((id) => `"${id}"`).join(' OR ')})` : '';
}

/** Returns the row id, in the search index, of a list's newest post: a search of the list skips newer posts. */
function keyBeforeFirst(hub: Hub, list: ReadingList, paging: Paging): number {
  const [first] = followedPosts(hub, list, { ...paging, limit: 1 });
  return first ? searchKey(first.publishedAt + SECOND, 0) : 0;
}

/** The ids of all posts of a list; null for a list of COUNT_MAX or more posts, of muted or of starred unread posts. */
function membersIfFew(hub: Hub, list: Searched, params: PageParams): number[] | null {
  if (list.isMuted || list.isStarred && list.isUnread) return null;
  const { all, unread } = lists(hub).members;
  const wanted = { ...params, ...FROM_THE_TOP, sourceId: 0, limit: COUNT_MAX };
  const ids: { id: number }[] = (list.isStarred ? lists(hub).older.starred : list.isUnread ? unread : all).all(wanted);
  return ids.length < COUNT_MAX ? ids.map(({ id }) => id) : null;
}

function sourcesOf(hub: Hub, list: Searched, params: PageParams): number[] {
  if (list.isStarred) return lists(hub).starredSources.all(list.viewer.id).map(({ id }) => id);
  const sources = list.isUnread ? sourcesWithUnread(hub, params) : lists(hub).sources.all(params);
  return sources.map(({ sourceId }) => sourceId);
}

/** Followed sources that may have unread posts. `hasExceptions`: the viewer has marked posts as unread. */
export function unreadSources(
  hub: Hub, viewer: Viewer, folder?: string,
): (FollowedSource & { hasExceptions: boolean })[] {
  const list = { viewer, folder, isUnread: true, joined: 0 };
  return sourcesWithUnread(hub, paramsOf(list, { from: FROM_THE_TOP, limit: 0 }));
}

function sourcesWithUnread(hub: Hub, params: PageParams): (FollowedSource & { hasExceptions: boolean })[] {
  const excepted = new Set(lists(hub).exceptionSources.all(params).map(({ id }) => id));
  return lists(hub).sources.all(params)
    .map((source) => ({ ...source, hasExceptions: excepted.has(source.sourceId) }))
    .filter(({ readUpTo, lastId, hasExceptions }) => (lastId ?? 0) > readUpTo || hasExceptions);
}

function paramsOf(
  { viewer, folder, since = Number.MAX_SAFE_INTEGER, joined }: ReadingList,
  { from: { publishedAt, id }, limit }: Pick<Paging, 'from' | 'limit'>,
): PageParams {
  return { ...asking(viewer), publishedAt, id, limit, folder: folder ?? null, since, joined };
}
