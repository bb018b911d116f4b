import { SECOND } from '../../platform/clock.ts';
import { parseId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import type { ArrivalView } from '../reading/arrival-list.ts';
import { manySources } from '../sources/source-store.ts';

const STATE = 'user/-/state/com.google/';
const LABEL = 'user/-/label/';

/** States of the Google Reader API that the hub has. */
export type KnownState = 'reading-list' | 'read' | 'unread' | 'starred';

/** Other spellings, and states of which the hub has no posts: apps name these states, and must not be refused. */
const STATES: Record<string, KnownState | 'nothing'> = {
  'reading-list': 'reading-list', 'read': 'read', 'unread': 'unread', 'kept-unread': 'unread', 'starred': 'starred',
  'tracking-kept-unread': 'nothing', 'fresh': 'nothing', 'broadcast': 'nothing', 'like': 'nothing',
};

/** What a stream id names. A source is named by its id or by an address of its feed. */
export type Stream = { state: KnownState | 'nothing' } | { label: string } | { feed: string };

export function stateStream(state: KnownState): string {
  return STATE + state;
}

export function labelStream(name: string): string {
  return LABEL + name;
}

export function feedStream(sourceId: number): string {
  return `feed/${sourceId}`;
}

/** Parses a stream id; undefined for another text. Apps write any user, and FreshRSS's apps `feed/feed/…`. */
export function parseStream(text: string): Stream | undefined {
  const id = text.trim();
  const feed = /^(?:feed\/)+(.+)$/s.exec(id)?.[1];
  if (feed !== undefined) return { feed };
  const [, kind, name = ''] = /^user\/[^/]+\/(state\/com\.google|label)\/(.+)$/s.exec(id) ?? [];
  if (kind === 'label') return { label: name };
  const state = kind !== undefined && Object.hasOwn(STATES, name) ? STATES[name] : undefined;
  return state && { state };
}

/** Parses a stream id. Status 400 for another text: an unknown stream must never stand for all posts. */
export function requireStream(text: string): Stream {
  const stream = parseStream(text);
  if (!stream) throw new HttpError(400, 'Unknown stream.');
  return stream;
}

/** The stream ids in a parameter that is given at most `most` times. Status 400 for more: each costs a look-up. */
export function fewStreams(values: URLSearchParams, name: string, most: number): string[] {
  const streams = values.getAll(name);
  if (streams.length > most) throw new HttpError(400, `A request may have ${name} at most ${most} times.`);
  return streams;
}

/** A followed source, with the parts that decide its streams. */
type FollowedFeed = { sourceId: number; folder: string | null };

/** The source that `feed/…` names, by id or by an address that subscription/list shows; undefined if unknown. */
export function sourceOfFeed(hub: Hub, followed: FollowedFeed[], feed: string): number | undefined {
  const ids = followed.map(({ sourceId }) => sourceId);
  const id = sourceIdIn(hub, feed);
  if (id !== undefined) return ids.includes(id) ? id : undefined;
  return manySources(hub).among(ids).find(({ feedUrl }) => feedUrl === feed)?.id;
}

/** The source id that `feed/…` is, or that is in an address of a feed that this hub publishes; otherwise undefined. */
export function sourceIdIn({ config }: Hub, feed: string): number | undefined {
  const path = feed.startsWith(config.baseUrl) ? feed.slice(config.baseUrl.length) : '';
  return parseId(/^\/sources\/(\d+)\.(?:atom|json)$/.exec(path)?.[1] ?? feed);
}

/** The most streams that one request may want (`it`) or leave out (`xt`). Apps name one or two. */
const FILTERS_MAX = 5;

/** A stream without posts. */
const NOTHING: Stream = { state: 'nothing' };

/** The posts that a request names by its stream, `it`, `xt`, `ot` and `nt`; null if no post can fit. */
export function readArrivalView(
  hub: Hub, viewer: Viewer, stream: Stream, values: URLSearchParams,
): ArrivalView | null {
  const followed = follows(hub).listed(viewer);
  const all: ArrivalView = { sources: followed.map(({ sourceId }) => sourceId), ...readTimes(values) };
  const isStarredStream = 'state' in stream && stream.state === 'starred';
  const start: ArrivalView = isStarredStream ? { ...all, sources: null } : all;
  const wanted = fewStreams(values, 'it', FILTERS_MAX)
    .map((text) => ({ stream: requireStream(text), isWanted: true }));
  const unwanted = fewStreams(values, 'xt', FILTERS_MAX)
    .map((text) => ({ stream: parseStream(text) ?? NOTHING, isWanted: false }));
  return [{ stream, isWanted: true }, ...wanted, ...unwanted]
    .reduce<ArrivalView | null>((view, part) => view && narrow(hub, followed, view, part), start);
}

type Part = { stream: Stream; isWanted: boolean };

/** Narrows a view to the posts that are in a stream, or not; null if no post is left. */
function narrow(hub: Hub, followed: FollowedFeed[], view: ArrivalView, { stream, isWanted }: Part): ArrivalView | null {
  if ('state' in stream) return narrowState(view, stream.state, isWanted);
  const among = sourcesOf(hub, followed, stream);
  if (!isWanted && among === undefined) return view;
  if (among === undefined) throw new HttpError(400, 'Unknown stream.');
  if (!isWanted && view.sources === null) return { ...view, without: [...view.without ?? [], ...among] };
  const known = view.sources ?? followed.map(({ sourceId }) => sourceId);
  return { ...view, sources: known.filter((id) => among.has(id) === isWanted) };
}

function narrowState(view: ArrivalView, state: KnownState | 'nothing', isWanted: boolean): ArrivalView | null {
  if (state === 'nothing') return isWanted ? null : view;
  if (state === 'reading-list') return isWanted ? view : null;
  const isOn = isWanted === (state !== 'unread');
  const name = state === 'starred' ? 'isStarred' : 'isRead';
  return view[name] === undefined || view[name] === isOn ? { ...view, [name]: isOn } : null;
}

/** The ids of the followed sources in a folder, or of one source; undefined if there is no such folder or source. */
function sourcesOf(hub: Hub, followed: FollowedFeed[], stream: Exclude<Stream, { state: string }>) {
  const ids = 'label' in stream
    ? followed.filter(({ folder }) => folder === stream.label).map(({ sourceId }) => sourceId)
    : [sourceOfFeed(hub, followed, stream.feed) ?? []].flat();
  return ids.length > 0 ? new Set(ids) : undefined;
}

/** `ot` and `nt`: times of arrival in seconds, both inclusive. Other texts are ignored. */
function readTimes(values: URLSearchParams): Pick<ArrivalView, 'since' | 'until'> {
  const seconds = (name: string): number | undefined =>
    /^\d{1,11}$/.test(values.get(name) ?? '') ? Number(values.get(name)) : undefined;
  const [since, until] = [seconds('ot'), seconds('nt')];
  return {
    ...(since !== undefined && { since: since * SECOND }),
    ...(until !== undefined && { until: until * SECOND + SECOND - 1 }),
  };
}
