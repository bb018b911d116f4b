import { AsyncLocalStorage } from 'node:async_hooks';
import { SECOND } from '../../platform/clock.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { inChunks, json, type Reply } from '../../platform/http/reply.ts';
import { nextTurn } from '../../platform/turns.ts';
import { SIGNATURES } from '../accounts/signed-address-store.ts';
import type { Hub } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { arrivedPosts } from '../reading/arrival-list.ts';
import { decimalId, itemIdsIn, parseItemId } from './item-ids.ts';
import { itemBatches, sizesForApps } from './items-json.ts';
import { plain, type AppRequest } from './reader-request.ts';
import { readArrivalView, requireStream, stateStream } from './streams.ts';

/** Default and maximum number of item ids per page: equal, because some apps never ask for a second page. */
const IDS_MAX = 100_000;

/** From this many ids on, the rest is found and written while the answer is sent. */
const IDS_AT_ONCE = 10_000;
const ITEMS_DEFAULT = 20;
const ITEMS_MAX = 1_000;
const PAGE_BYTES = 4 * 1024 * 1024;

/** stream/items/ids: the ids of a stream's posts, by default the newest arrival first. */
export async function listItemIds(hub: Hub, request: AppRequest): Promise<Reply> {
  const { values, recheck } = request;
  const pageAfter = pagesOf(hub, request, values.get('s') ?? '');
  const limit = readCount(values.get('n'), IDS_MAX, IDS_MAX);
  const first = await pageAfter(continuationIn(values), Math.min(limit, IDS_AT_ONCE));
  if (first.next === null || limit <= IDS_AT_ONCE) {
    return json({ itemRefs: first.ids.map((id) => ({ id: decimalId(id) })), ...continuationOf(first.next) });
  }
  const inRequest = AsyncLocalStorage.snapshot();
  const rest = (after: number, left: number): Promise<Page> => {
    recheck();
    return inRequest(pageAfter, after, Math.min(left, IDS_AT_ONCE));
  };
  return { status: 200, headers: LONG_JSON, body: inChunks(idTexts(first, limit, rest)), secret: null };
}

async function* idTexts(
  first: Page, limit: number, rest: (after: number, left: number) => Promise<Page>,
): AsyncGenerator<string> {
  yield `{"itemRefs":[${refsOf(first).slice(1)}`;
  let [{ next }, left] = [first, limit - first.ids.length];
  while (next !== null && left > 0) {
    const page = await rest(next, left);
    yield refsOf(page);
    [next, left] = [page.next, left - page.ids.length];
  }
  yield `]${next === null ? '' : `,"continuation":"${decimalId(next)}"`}}`;
}

/** Each id with a comma before it: the next page may be empty, if its posts were removed meanwhile. */
function refsOf({ ids }: Page): string {
  return ids.map((id) => `,{"id":"${decimalId(id)}"}`).join('');
}

/** stream/contents and stream/contents/…: the items of a stream, by default the newest arrival first. */
export async function listItems(hub: Hub, request: AppRequest): Promise<Reply> {
  const { stream, ids, next } = await pageOfItems(hub, request);
  return itemsReply(hub, request, stream, ids, continuationOf(next));
}

/** A page of the stream that the path or `s` names, else of the reading list; its contents fit into one answer. */
export async function pageOfItems(hub: Hub, request: AppRequest): Promise<Page & { stream: string }> {
  const stream = request.params['stream'] ?? request.values.get('s') ?? stateStream('reading-list');
  const count = readCount(request.values.get('n'), ITEMS_DEFAULT, ITEMS_MAX);
  const { ids, next } = await pagesOf(hub, request, stream)(continuationIn(request.values), count);
  const fitting = fittingIds(hub, ids);
  return { stream, ids: fitting, next: fitting.length < ids.length ? fitting.at(-1) ?? null : next };
}

/** stream/items/count: how many posts a stream has; with `a=true` also the day of the last arrival. */
export async function countItems(hub: Hub, request: AppRequest): Promise<Reply> {
  const pageAfter = pagesOf(hub, request, request.values.get('s') ?? '');
  let page = await pageAfter(undefined, IDS_AT_ONCE);
  const [newest] = page.ids;
  let count = page.ids.length;
  while (page.next !== null) {
    page = await pageAfter(page.next, IDS_AT_ONCE);
    count += page.ids.length;
  }
  const isDated = newest !== undefined && request.values.get('a') === 'true';
  return plain(isDated ? `${count}#${DAY.format(posts(hub).arrivedAt(newest))}` : String(count));
}

const DAY = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' });

/** stream/items/contents: the items that the app names by `i`, only of followed sources that the viewer may see. */
export async function showItems(hub: Hub, request: AppRequest): Promise<Reply> {
  await nextTurn(); // lets other requests run after a long body was parsed
  const ids = [...new Set(itemIdsIn(request.values))];
  return itemsReply(hub, request, stateStream('reading-list'), ids);
}

/** At least so many characters of a long answer are sent together. */
export const ITEMS_CHUNK = 32 * 1024;

const LONG_JSON = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

type Continuation = { continuation?: string };
type Page = { ids: number[]; next: number | null };

function itemsReply(
  hub: Hub, request: AppRequest, stream: string, ids: number[], continuation: Continuation = {},
): Reply {
  const head = { id: stream, updated: Math.floor(hub.clock() / SECOND), ...continuation, items: [] };
  const body = inChunks(around(JSON.stringify(head), itemTexts(hub, request, ids)), ITEMS_CHUNK);
  return { status: 200, headers: LONG_JSON, body, secret: SIGNATURES };
}

function* itemTexts(hub: Hub, request: AppRequest, ids: number[]): Generator<string> {
  for (const items of itemBatches(hub, request, ids)) yield JSON.stringify(items).slice(1, -1);
}

/** Yields the JSON text `emptyList`, whose last member is an empty list, in pieces, with `entries` in the list. */
function* around(emptyList: string, entries: Iterable<string>): Generator<string> {
  yield emptyList.slice(0, -2);
  let separator = '';
  for (const entry of entries) {
    yield separator + entry;
    separator = ',';
  }
  yield emptyList.slice(-2);
}

/** Returns a function that finds the posts of a stream after a post. */
function pagesOf(
  hub: Hub, { viewer, values }: AppRequest, stream: string,
): (after: number | undefined, limit: number) => Promise<Page> {
  const view = readArrivalView(hub, viewer, requireStream(stream), values);
  const isOldestFirst = values.get('r') === 'o';
  return async (after, limit) =>
    view === null ? { ids: [], next: null } : arrivedPosts(hub, viewer, view, { after, limit, isOldestFirst });
}

function continuationIn(values: URLSearchParams): number | undefined {
  const text = values.get('c');
  if (!text) return undefined;
  const after = parseItemId(text);
  if (!after) throw new HttpError(400, 'c must be the continuation of an answer.');
  return after;
}

function readCount(text: string | null, defaultCount: number, maxCount: number): number {
  return text !== null && /^[1-9]\d{0,8}$/.test(text) ? Math.min(Number(text), maxCount) : defaultCount;
}

/** A continuation consists of digits, because apps put it into URLs without encoding. */
function continuationOf(next: number | null): Continuation {
  return next === null ? {} : { continuation: decimalId(next) };
}

/** The first posts whose contents together fit into PAGE_BYTES; at least one. */
function fittingIds(hub: Hub, ids: number[]): number[] {
  let bytes = 0;
  const sizes = sizesForApps(hub, ids);
  const end = sizes.findIndex(({ contentBytes }) => (bytes += contentBytes) > PAGE_BYTES);
  return end < 0 ? ids : ids.slice(0, Math.max(1, ids.indexOf(sizes[end]?.id ?? 0)));
}
