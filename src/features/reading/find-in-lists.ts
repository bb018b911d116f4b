import type { Viewer } from '../../platform/http/router.ts';
import { asking, follows } from '../follows/follow-store.ts';
import { membersSearch } from '../full-text/full-text-store.ts';
import type { Hub } from '../hub/hub.ts';
import { furthestBlocks, sourceWord } from '../posts/blocks.ts';
import { parseExpression } from '../posts/expression.ts';
import { positionAt, searchKey, timeOfKey } from '../posts/search-index-store.ts';
import { matchWithin, ofFacts, searchQuery, type NamedFacts, type SearchQuery } from '../posts/search-query.ts';
import { stretchesOf } from '../posts/stretches-store.ts';
import { searchesInLists, type FoundPost, type SearchParams } from './list-search-store.ts';
import { inPlace, LIST_ORDERS, startOf, type Key, type ListPlace } from './list-orders.ts';
import { COUNT_MAX, lists, type PageParams } from './list-store.ts';

/** `since` (unix ms): unread lists keep posts read after this time. `joined`: 1 if the list has one post per link. */
type ReadingList = {
  viewer: Viewer;
  folder?: string | undefined;
  isUnread: boolean;
  since?: number | undefined;
  joined: number;
};

/** Keyset paging: the nearest `limit` posts after `from`, to higher or (down) lower values of the key. */
export type Paging = { key: Key; from: ListPlace; isUp: boolean; limit: number };

function statementsFor(hub: Hub, { key, isUp }: Paging) {
  return lists(hub).by[key][isUp ? 'up' : 'down'];
}

/** Up to this number of followed sources, a search names them, so that the index skips all others. */
const FEW_SOURCES = 60;

/** Returns posts of followed sources. */
export function followedPosts(hub: Hub, list: ReadingList, paging: Paging): ListPlace[] {
  const params = paramsOf(list, paging);
  const { all, unread } = statementsFor(hub, paging);
  const found = list.folder !== undefined ? inFolder(hub, list, paging) : (list.isUnread ? unread : all)(params);
  return withReadSince(hub, list, 0, paging, found);
}

/** Queries each source of a folder, only for posts nearer to `paging.from` than the `limit` nearest found so far. */
function inFolder(hub: Hub, list: ReadingList, paging: Paging): ListPlace[] {
  const { ofSource, unreadOfSource } = statementsFor(hub, paging);
  const params = paramsOf(list, paging);
  const select = list.isUnread ? unreadOfSource : ofSource;
  const sources = (list.isUnread ? lists(hub).unreadSources : lists(hub).sources)(params);
  return sources.reduce<ListPlace[]>((nearest, { sourceId }) =>
    merged(nearest, select({ ...params, sourceId, ...boundOf(nearest, paging) }), paging), []);
}

/** Returns posts of one source, which the viewer may see and need not follow. */
export function postsOfSource(hub: Hub, sourceId: number, list: ReadingList, paging: Paging): ListPlace[] {
  const { ofAnySource, unreadOfAnySource, unreadOfSource } = statementsFor(hub, paging);
  const params = { ...paramsOf(list, paging), sourceId };
  if (!list.isUnread) return ofAnySource(params);
  const found = follows(hub).isFollowed(list.viewer.id, sourceId)
    ? unreadOfSource({ ...params, ...boundOf([], paging) }) : unreadOfAnySource(params);
  return withReadSince(hub, list, sourceId, paging, found);
}

/** Adds posts that the viewer has read since `list.since` to found unread ones. */
function withReadSince(
  hub: Hub, list: ReadingList, sourceId: number, paging: Paging, found: ListPlace[],
): ListPlace[] {
  const { since, isUnread } = list;
  if (!isUnread || since === undefined || since === Infinity) return found;
  const { readSince } = statementsFor(hub, paging);
  return merged(found, readSince({ ...paramsOf(list, paging), sourceId, since }), paging);
}

function merged(nearest: ListPlace[], more: ListPlace[], { isUp, limit }: Paging): ListPlace[] {
  if (more.length === 0) return nearest;
  return [...nearest, ...more].sort(inPlace(isUp)).slice(0, limit);
}

function boundOf(nearest: ListPlace[], { isUp, limit }: Paging): { boundAt: number; boundId: number } {
  const last = nearest[limit - 1];
  const end = isUp ? Number.MAX_SAFE_INTEGER : -Number.MAX_SAFE_INTEGER;
  return { boundAt: last?.at ?? end, boundId: last?.id ?? end };
}

/** Returns the starred or muted posts of a source, or of all sources (`sourceId` 0). */
export function postsOfKind(
  hub: Hub, kind: 'starred' | 'muted', list: ReadingList & { sourceId: number }, paging: Paging,
): ListPlace[] {
  const statements = statementsFor(hub, paging);
  return statements[kind]({ ...paramsOf(list, paging), sourceId: list.sourceId });
}

/** Returns the newest unread post of each followed source, or one that was read since `list.since` and is newer. */
export function newestOfEach(hub: Hub, list: ReadingList, { from, isUp, limit }: Paging): ListPlace[] {
  const params = paramsOf(list, { from: startOf(LIST_ORDERS.newest), limit: Infinity });
  const readSince = list.since === undefined ? [] : lists(hub).by.published.down.readSince({ ...params, sourceId: 0 });
  const bySource = Map.groupBy([...lists(hub).newestOfEach(params), ...readSince], ({ sourceId }) => sourceId);
  const newest = [...bySource.values()].map((posts) => posts.sort(inPlace(false))[0]).filter((post) => !!post);
  const compare = inPlace(isUp);
  return newest.filter((post) => compare(from, post) < 0).sort(compare).slice(0, limit);
}

/** `sourceId`: 0 searches all sources. */
type Searched = ReadingList & { query: SearchQuery; sourceId: number; isStarred: boolean; isMuted: boolean };

/** Posts that one call found. `reached`: where the next call begins; undefined if none must follow. */
type SearchStep = { found: ListPlace[]; reached?: ListPlace | undefined };

/** One `searchList` call stops when its stretches have cost this much, after a few ms. */
const COST_MAX = 12;

/** Searches the next stretches of a list, until the page is full or the work has cost enough. */
export function searchList(hub: Hub, list: Searched, paging: Paging): SearchStep {
  const { query } = list;
  const params = { ...paramsOf(list, paging), ...onlyOf(list) };
  const range = rangeOf(query, paging);
  const whole = { key: query.below, end: query.above };
  const few = fewPosts(hub, list, paging);
  const hints = few?.map(({ at, id }) => searchKey(at, id));
  const only = few ? JSON.stringify(few.map(({ id }) => id)) : null;
  const narrow = { ...query, wanted: [...query.wanted, ...sourcesAsked(hub, list, params)] };
  const statement = searchesInLists(hub)[paging.isUp ? 'up' : 'down'];
  const found: FoundPost[] = [];
  const upTo = (reached?: ListPlace): SearchStep =>
    withoutLaterDoubles(hub, query, { found, reached, limit: paging.limit }, { ...params, ...whole });
  let spent = 0;
  const { indexes } = membersSearch(hub);
  for (const { match, cost, ...stretch } of stretchesOf(indexes, narrow, range, paging.isUp, hints)) {
    let last = placeAt(stretch.key);
    const fits = (post: FoundPost): boolean => {
      if (!query.isSpent()) last = post;
      return query.fits(post);
    };
    const left = paging.limit - found.length;
    if (match !== undefined) found.push(...statement.first(left, fits, { ...params, ...stretch, match, only }));
    if (found.length === paging.limit) return upTo();
    if (query.isSpent()) return upTo(last);
    spent += few ? cost / 2 : cost;
    if (spent < COST_MAX || stretch.end === range.end) continue;
    return upTo(placeAt(stretch.end + (paging.isUp ? -1 : 1)));
  }
  return upTo();
}

/** Leaves out each found post if the search also finds an earlier post with the same link, on any page. */
function withoutLaterDoubles(
  hub: Hub, query: SearchQuery, { found, reached, limit }: SearchStep & { limit: number }, params: SearchParams,
): SearchStep {
  const ids = JSON.stringify(found.map(({ id }) => id));
  const earlier = found.length === 0 ? [] : searchesInLists(hub).earlier.all({ ...params, ids });
  const later = new Set(earlier.filter((post) => query.isEverything || finds(hub, query, post)).map(({ of }) => of));
  const isCut = later.size > 0 && found.length === limit; // the next search goes on after the last found post
  return { found: found.filter(({ id }) => !later.has(id)), reached: isCut ? found.at(-1) : reached };
}

/**
 * The posts of a search that has no words: those of a list within days, which `findInList` finds. It needs no index,
 * so that days are searched while the index is made anew.
 */
export function searchDays(
  hub: Hub, list: Searched, { from, ...paging }: Paging, findInList: (paging: Paging) => ListPlace[],
): SearchStep {
  const { typedAbove, below } = list.query;
  const timeOf = (key: number): number => Math.abs(key) < Number.MAX_SAFE_INTEGER - 1 ? timeOfKey(key + 1) : key;
  const [first, end] = [timeOf(typedAbove), timeOf(below)];
  const edge = paging.isUp ? Math.max(from.at, first - 1) : Math.min(from.at, end);
  const start = edge === from.at ? from : { at: edge, id: 0 };
  const found = findInList({ ...paging, from: start }).filter(({ at }) => at >= first && at < end);
  const params = { ...paramsOf(list, { from, ...paging }), ...onlyOf(list), key: below, end: typedAbove };
  return withoutLaterDoubles(hub, list.query, { found, limit: paging.limit }, params);
}

function placeAt(key: number): ListPlace {
  const { publishedAt: at, id } = positionAt(key);
  return { at, id };
}

function finds(hub: Hub, query: SearchQuery, post: NamedFacts & { searchKey: number }): boolean {
  const range = { key: post.searchKey + 1, end: post.searchKey - 1 };
  const meets = (match: string): boolean => searchesInLists(hub).matches.get({ ...range, match }) !== undefined;
  const isInRange = post.searchKey < query.below && post.searchKey > query.above;
  const blocks = furthestBlocks(post.searchKey, post.searchKey, false);
  const match = isInRange ? matchWithin(query, blocks, meets) : undefined;
  return match !== undefined && meets(match) && query.fits(post);
}

/** Returns the ids of the posts that a rule fits, among the posts with the given ids, which the viewer may see. */
export function fitAmong(hub: Hub, viewer: Viewer, expression: string, ids: number[]): number[] {
  const query = searchQuery(hub, parseExpression(expression, { isSearch: false }),
    { viewer, ownerId: viewer.id, searched: membersSearch(hub) });
  if (!query) return [];
  return searchesInLists(hub).among.all(JSON.stringify(ids)).filter((post) => finds(hub, query, post))
    .map(({ id }) => id);
}

function onlyOf({ isUnread, isStarred, isMuted, sourceId }: Searched) {
  return { isUnread: isUnread ? 1 : 0, isStarred: isStarred ? 1 : 0, isMuted: isMuted ? 1 : 0, sourceId };
}

function rangeOf({ above, below }: Pick<SearchQuery, 'above' | 'below'>, { from, isUp }: Omit<Paging, 'limit'>) {
  const atTop = from.at === Number.MAX_SAFE_INTEGER;
  const key = atTop ? from.at : searchKey(from.at, from.id);
  return isUp ? { key: Math.max(key, above), end: below } : { key: Math.min(key, below), end: above };
}

/** The clause that makes the index skip other sources; none for many sources, a single one, starred or muted posts. */
function sourcesAsked(hub: Hub, list: Searched, params: PageParams): SearchQuery['wanted'] {
  if (list.isMuted || list.isStarred || list.sourceId !== 0) return [];
  const sources = (list.isUnread ? lists(hub).unreadSources : lists(hub).sources)(params);
  return sources.length > 0 && sources.length <= FEW_SOURCES
    ? [[ofFacts(sources.map(({ sourceId }) => sourceWord(sourceId)))]] : [];
}

/** The posts, in order, of a list with few posts; undefined for many, and for muted posts or those of a source. */
function fewPosts(hub: Hub, list: Searched, paging: Paging): ListPlace[] | undefined {
  if (list.isMuted || list.sourceId !== 0 && !list.isStarred) return undefined;
  const isUnread = list.isUnread ? 1 : 0;
  const params = { ...paramsOf(list, paging), joined: 0, sourceId: list.sourceId, isUnread, limit: COUNT_MAX };
  // Counting 1,000 posts takes half the time of reading them.
  if (!list.isStarred && lists(hub).countSome(params) === COUNT_MAX) return undefined;
  const found = list.isStarred ? statementsFor(hub, paging).starred(params) : lists(hub).some(params);
  if (found.length === COUNT_MAX) return undefined;
  return found.sort(inPlace(paging.isUp));
}

function paramsOf(
  { viewer, folder, since, joined }: ReadingList, { from: { at, id }, limit }: Pick<Paging, 'from' | 'limit'>,
): PageParams & { since: number } {
  const readSince = Number.isSafeInteger(since) ? since ?? 0 : Number.MAX_SAFE_INTEGER;
  return { ...asking(viewer), at, id, limit: countOf(limit), folder: folder ?? null, joined, since: readSince };
}

/** SQLite takes a negative limit for none. */
function countOf(limit: number): number {
  return Number.isFinite(limit) ? limit : -1;
}
