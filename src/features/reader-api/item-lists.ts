import { SECOND } from '../../platform/clock.ts';
import { inChunks, json, type Reply } from '../../platform/http/reply.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { arrivedPosts } from '../reading/arrival-list.ts';
import { arrivals } from '../reading/arrival-store.ts';
import { decimalId, parseItemId } from './item-ids.ts';
import { itemTexts } from './items-json.ts';
import type { AppRequest } from './reader-request.ts';
import { readArrivalView, requireStream, stateStream } from './streams.ts';

/** The most ids of one page, and ids of a page if the app names no number: apps that never turn pages miss nothing. */
const IDS_MAX = 10_000;

/** Items of a page if the app names no number, and the most items of one page. */
const ITEMS = 20;
const ITEMS_MAX = 1_000;

/** A page of items ends early when the contents of its posts exceed this many bytes. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** GET stream/items/ids: the ids of a stream's posts, newest arrival first. */
export async function listItemIds(hub: Hub, request: AppRequest): Promise<Reply> {
  const { ids, next } = await pageOfStream(hub, request, request.values.get('s') ?? '', IDS_MAX, IDS_MAX);
  return json({ itemRefs: ids.map((id) => ({ id: decimalId(id) })), ...continuing(next) });
}

/** GET stream/contents and stream/contents/…: the items of a stream, newest arrival first. */
export async function listItems(hub: Hub, request: AppRequest): Promise<Reply> {
  const named = request.params['stream'] ?? request.values.get('s') ?? stateStream('reading-list');
  const { ids, next } = await pageOfStream(hub, request, named, ITEMS, ITEMS_MAX);
  const fitting = fittingIds(hub, ids);
  const last = fitting.length < ids.length ? fitting.at(-1) ?? null : next;
  return items(hub, request, named, fitting, continuing(last));
}

/** POST stream/items/contents: all items that are named by `i`. Unknown ids are left out. */
export async function showItems(hub: Hub, request: AppRequest): Promise<Reply> {
  await nextTurn(); // reading a long body has taken one
  const ids = request.values.getAll('i').flatMap((id) => parseItemId(id) ?? []);
  return items(hub, request, stateStream('reading-list'), [...new Set(ids)]);
}

/** Characters of an answer that are sent together. The items that are read at once mostly have more characters. */
const CHUNK = 32 * 1024;

type Continuing = { continuation?: string };

/** An answer with items, which are made while the answer is sent. */
function items(hub: Hub, request: AppRequest, stream: string, ids: number[], continuing: Continuing = {}): Reply {
  const head = { id: stream, updated: Math.floor(hub.clock() / SECOND), ...continuing, items: [] };
  const body = inChunks(around(JSON.stringify(head), itemTexts(hub, request, ids)), CHUNK);
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  return { status: 200, headers, body };
}

/** The pieces of a JSON text whose last member is an empty list, with these entries in the list. */
function* around(emptyList: string, entries: Iterable<string>): Generator<string> {
  yield emptyList.slice(0, -2);
  let separator = '';
  for (const entry of entries) {
    yield separator + entry;
    separator = ',';
  }
  yield emptyList.slice(-2);
}

/** The ids of one page of a stream, as the parameters want it. `next`: the last id if more posts follow, or null. */
async function pageOfStream(
  hub: Hub, { viewer, values }: AppRequest, stream: string, standard: number, most: number,
): Promise<{ ids: number[]; next: number | null }> {
  const view = readArrivalView(hub, viewer, requireStream(stream), values);
  if (view === null) return { ids: [], next: null };
  const after = parseItemId(values.get('c') ?? '');
  return arrivedPosts(hub, viewer, view, {
    after, limit: readCount(values.get('n'), standard, most), isOldestFirst: values.get('r') === 'o',
  });
}

function readCount(text: string | null, standard: number, most: number): number {
  return text !== null && /^[1-9]\d{0,8}$/.test(text) ? Math.min(Number(text), most) : standard;
}

/** The continuation of a page: digits, because apps put it into addresses as it is. */
function continuing(next: number | null): Continuing {
  return next === null ? {} : { continuation: decimalId(next) };
}

/** The first ids whose contents fit into one page; at least one id. */
function fittingIds(hub: Hub, ids: number[]): number[] {
  let bytes = 0;
  const sizes = arrivals(hub).sizesOf(ids);
  const end = sizes.findIndex(({ contentBytes }) => (bytes += contentBytes) > PAGE_BYTES);
  return end < 0 ? ids : ids.slice(0, Math.max(1, ids.indexOf(sizes[end]?.id ?? 0)));
}
