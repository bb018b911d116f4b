import { parseId } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { ownFeedId } from '../feeds/own-feeds.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import type { ArrivalView } from '../reading/arrival-list.ts';
import { manySources } from '../sources/source-store.ts';
import { parseAppTime } from './app-times.ts';

const STATE = 'user/-/state/com.google/';
const LABEL = 'user/-/label/';

type KnownState = 'reading-list' | 'read' | 'unread' | 'starred';

/** The label of sources in no folder, as FreshRSS calls it: some apps show no source without one. */
export const NO_FOLDER = 'Uncategorized';

/** States of posts by the names that Google Reader apps use. `nothing`: a state that no post of the hub has. */
const STATES: Record<string, KnownState | 'nothing'> = {
  'reading-list': 'reading-list', 'read': 'read', 'unread': 'unread', 'kept-unread': 'unread', 'starred': 'starred',
  'tracking-kept-unread': 'nothing', 'fresh': 'nothing', 'broadcast': 'nothing', 'like': 'nothing',
};

/** The posts that a stream id names: by state, folder (`label`), or source (by the source's id or feed address). */
export type Stream = { state: KnownState | 'nothing' } | { label: string } | { source: string };

/** The stream id of the posts in a state. */
export function stateStream(state: KnownState | 'fresh'): string {
  return STATE + state;
}

/** The stream id of the posts in a folder; null: of sources in none. */
export function folderStream(name: string | null): string {
  return LABEL + (name ?? NO_FOLDER);
}

/** The stream id of the posts of a source. */
export function feedStream(sourceId: number): string {
  return `feed/${sourceId}`;
}

/**
 * Parses a stream id, which names a list of posts; undefined for other texts. For `feed/7`, some apps write
 * `feed/feed/7`.
 */
export function parseStream(text: string): Stream | undefined {
  const id = text.trim();
  const source = /^(?:feed\/)+(.+)$/s.exec(id)?.[1];
  if (source !== undefined) return { source };
  const [, kind, name = ''] = /^user\/[^/]+\/(state\/com\.google|label)\/(.+)$/s.exec(id) ?? [];
  if (kind === 'label') return { label: name };
  const state = kind !== undefined && Object.hasOwn(STATES, name) ? STATES[name] : undefined;
  return state && { state };
}

/** As `parseStream`, but throws 400 for any other text, which must never mean all posts. */
export function requireStream(text: string): Stream {
  const stream = parseStream(text);
  if (!stream) throw new HttpError(400, 'Unknown stream.');
  return stream;
}

/** The stream ids in the parameter `name`. Throws 400 for more than `most` ids, because each id costs a look-up. */
export function fewStreams(values: URLSearchParams, name: string, most: number): string[] {
  const streams = values.getAll(name);
  if (streams.length > most) throw new HttpError(400, `A request may have ${name} at most ${most} times.`);
  return streams;
}

type StreamSource = { sourceId: number; folder: string | null };

/** The id of the followed source that `feed/…` names by id, by its feed's address on this hub or by its publisher's. */
export function sourceOfFeed(hub: Hub, followed: StreamSource[], feed: string): number | undefined {
  const ids = followed.map(({ sourceId }) => sourceId);
  const id = parseId(feed) ?? ownFeedId(hub, feed);
  if (id !== undefined) return ids.includes(id) ? id : undefined;
  return manySources(hub).among(ids).find(({ feedUrl }) => feedUrl === feed)?.id;
}

const FILTERS_MAX = 5;
const NOTHING: Stream = { state: 'nothing' };

/**
 * The posts of `stream` that are also in each stream of the query parameter `it` and in no stream of `xt`, and that
 * arrived from the time `ot` to the time `nt`; null if no post can fit. Throws 400 for an unknown stream; an unknown
 * `xt` excludes nothing. Every stream, starred too, has only posts of the sources in subscription/list: Read You and
 * Readrops keep a foreign key from posts to sources, and fail at every sync until an orphan goes.
 */
export function readArrivalView(
  hub: Hub, viewer: Viewer, stream: Stream, values: URLSearchParams,
): ArrivalView | null {
  const followed = follows(hub).listed(viewer);
  const all: ArrivalView = { sources: followed.map(({ sourceId }) => sourceId), ...readTimes(values) };
  const wanted = fewStreams(values, 'it', FILTERS_MAX)
    .map((text) => ({ stream: requireStream(text), isWanted: true }));
  const unwanted = fewStreams(values, 'xt', FILTERS_MAX)
    .map((text) => ({ stream: parseStream(text) ?? NOTHING, isWanted: false }));
  return [{ stream, isWanted: true }, ...wanted, ...unwanted]
    .reduce<ArrivalView | null>((view, part) => view && narrow(hub, followed, view, part), all);
}

type Part = { stream: Stream; isWanted: boolean };

function narrow(hub: Hub, followed: StreamSource[], view: ArrivalView, { stream, isWanted }: Part): ArrivalView | null {
  if ('state' in stream) return narrowState(view, stream.state, isWanted);
  const among = sourceIdsIn(hub, followed, stream);
  if (!isWanted && among === undefined) return view;
  if (among === undefined) throw new HttpError(400, 'Unknown stream.');
  return { ...view, sources: view.sources.filter((id) => among.has(id) === isWanted) };
}

function narrowState(view: ArrivalView, state: KnownState | 'nothing', isWanted: boolean): ArrivalView | null {
  if (state === 'nothing') return isWanted ? null : view;
  if (state === 'reading-list') return isWanted ? view : null;
  const isOn = isWanted === (state !== 'unread');
  const name = state === 'starred' ? 'isStarred' : 'isRead';
  return view[name] === undefined || view[name] === isOn ? { ...view, [name]: isOn } : null;
}

function sourceIdsIn(hub: Hub, followed: StreamSource[], stream: Exclude<Stream, { state: string }>) {
  const ids = 'label' in stream
    ? followed.filter(({ folder }) => (folder ?? NO_FOLDER) === stream.label).map(({ sourceId }) => sourceId)
    : [sourceOfFeed(hub, followed, stream.source) ?? []].flat();
  return ids.length > 0 ? new Set(ids) : undefined;
}

/** Reads the first (`ot`) and last (`nt`) time of arrival; ignores a parameter that is no time. */
function readTimes(values: URLSearchParams): Pick<ArrivalView, 'since' | 'until'> {
  return { since: parseAppTime(values.get('ot'))?.from, until: parseAppTime(values.get('nt'))?.until };
}
