import { SECOND } from '../../platform/clock.ts';
import { inChunks, json, type Reply } from '../../platform/http/reply.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { arrivedPosts } from '../reading/arrival-list.ts';
import { decimalId, itemIdsIn, parseItemId } from './item-ids.ts';
import { itemTexts, sizesForApps } from './items-json.ts';
import type { AppRequest } from './reader-request.ts';
import { readArrivalView, requireStream, stateStream } from './streams.ts';

/** Default and maximum number of item ids per page: equal, because some apps never ask for a second page. */
const IDS_MAX = 10_000;
const ITEMS_DEFAULT = 20;
const ITEMS_MAX = 1_000;
const PAGE_BYTES = 4 * 1024 * 1024;

/** stream/items/ids: the ids of a stream's posts, by default the newest arrival first. */
export async function listItemIds(hub: Hub, request: AppRequest): Promise<Reply> {
  const { ids, next } = await pageOfStream(hub, request, request.values.get('s') ?? '', IDS_MAX, IDS_MAX);
  return json({ itemRefs: ids.map((id) => ({ id: decimalId(id) })), ...continuationOf(next) });
}

/** stream/contents and stream/contents/…: the items of a stream, by default the newest arrival first. */
export async function listItems(hub: Hub, request: AppRequest): Promise<Reply> {
  const named = request.params['stream'] ?? request.values.get('s') ?? stateStream('reading-list');
  const { ids, next } = await pageOfStream(hub, request, named, ITEMS_DEFAULT, ITEMS_MAX);
  const fitting = fittingIds(hub, ids);
  const last = fitting.length < ids.length ? fitting.at(-1) ?? null : next;
  return itemsReply(hub, request, named, fitting, continuationOf(last));
}

/** stream/items/contents: the items whose ids the app sends as `i`, without unknown ids. */
export async function showItems(hub: Hub, request: AppRequest): Promise<Reply> {
  await nextTurn(); // lets other requests run after a long body was parsed
  const ids = [...new Set(itemIdsIn(request.values))];
  return itemsReply(hub, request, stateStream('reading-list'), ids);
}

/** Characters of an answer that are sent together: about as many as the items of one query have. */
const CHUNK = 32 * 1024;

type Continuation = { continuation?: string };

function itemsReply(
  hub: Hub, request: AppRequest, stream: string, ids: number[], continuation: Continuation = {},
): Reply {
  const head = { id: stream, updated: Math.floor(hub.clock() / SECOND), ...continuation, items: [] };
  const body = inChunks(around(JSON.stringify(head), itemTexts(hub, request, ids)), CHUNK);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  return { status: 200, headers, body };
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

async function pageOfStream(
  hub: Hub, { viewer, values }: AppRequest, stream: string, defaultCount: number, maxCount: number,
): Promise<{ ids: number[]; next: number | null }> {
  const view = readArrivalView(hub, viewer, requireStream(stream), values);
  if (view === null) return { ids: [], next: null };
  const after = parseItemId(values.get('c') ?? '');
  return arrivedPosts(hub, viewer, view, {
    after, limit: readCount(values.get('n'), defaultCount, maxCount), isOldestFirst: values.get('r') === 'o',
  });
}

function readCount(text: string | null, defaultCount: number, maxCount: number): number {
  return text !== null && /^[1-9]\d{0,8}$/.test(text) ? Math.min(Number(text), maxCount) : defaultCount;
}

/** The continuation of a page consists of digits, because apps put the continuation into URLs without encoding. */
function continuationOf(next: number | null): Continuation {
  return next === null ? {} : { continuation: decimalId(next) };
}

/** The first post ids whose contents together fit into PAGE_BYTES; at least one post id. */
function fittingIds(hub: Hub, ids: number[]): number[] {
  let bytes = 0;
  const sizes = sizesForApps(hub, ids);
  const end = sizes.findIndex(({ contentBytes }) => (bytes += contentBytes) > PAGE_BYTES);
  return end < 0 ? ids : ids.slice(0, Math.max(1, ids.indexOf(sizes[end]?.id ?? 0)));
}
