import { HttpError } from '../../platform/http/http-error.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { markAllArrived, setManyRead, setManyStars } from '../reading/mark-many.ts';
import type { MarkTarget } from '../reading/mark-read.ts';
import { readingHistory } from '../reading/reading-history-store.ts';
import { entries } from '../reading/entry-store.ts';
import { parseAppTime, type AppTime } from './app-times.ts';
import { itemIdsIn, parseItemId } from './item-ids.ts';
import { plain, type AppRequest } from './reader-request.ts';
import { NO_FOLDER, parseStream, readArrivalView, requireStream, sourceOfFeed, type Stream } from './streams.ts';

/**
 * POST edit-tag. `a`, `r`: the states that the app adds to the posts `i`, and removes. Unknown posts and states change
 * nothing, and the reply is `OK` nevertheless, because apps repeat a refused edit for ever. Throws 400, before anything
 * changes, for a text that is no item id, and for labels of posts, which the hub does not have.
 */
export async function editTags(hub: Hub, { viewer, values }: AppRequest): Promise<Reply> {
  requireEditable(values);
  const ids = itemIdsIn(values);
  const [added, removed] = [statesIn(values.getAll('a')), statesIn(values.getAll('r'))];
  const isUnread = removed.has('read') || added.has('unread');
  const isRead = added.has('read') || (isUnread ? false : undefined);
  const isStarred = added.has('starred') || (removed.has('starred') ? false : undefined);
  if (isRead !== undefined) {
    await setManyRead(hub, viewer, ids, isRead);
    noteOpened(hub, viewer, ids, isRead);
  }
  if (isStarred !== undefined) await setManyStars(hub, viewer, ids, isStarred);
  return plain();
}

/** Without posts, a label is no edit: Readrops makes a folder so, which the hub makes with its first source. */
function requireEditable(values: URLSearchParams): void {
  const ids = values.getAll('i');
  if (ids.some((id) => parseItemId(id) === undefined)) throw new HttpError(400, 'i must be the id of an item.');
  const isLabel = (text: string): boolean => 'label' in (parseStream(text) ?? {});
  if (ids.length > 0 && [...values.getAll('a'), ...values.getAll('r')].some(isLabel)) {
    throw new HttpError(400, 'Posts have no labels here.');
  }
}

/** An app that marks a single post as read has opened it: it joins the reading history. Marked unread, it leaves it. */
function noteOpened(hub: Hub, viewer: Viewer, ids: number[], isRead: boolean): void {
  const [post] = ids.length === 1 ? entries(hub).statesOf(viewer, ids) : [];
  if (!post) return;
  if (isRead) readingHistory(hub).note(viewer.id, post.id);
  else readingHistory(hub).forget(viewer.id, post.id);
}

function statesIn(streams: string[]): Set<string> {
  return new Set(streams.flatMap((text) => {
    const stream = parseStream(text);
    return stream && 'state' in stream ? stream.state : [];
  }));
}

/** POST mark-all-as-read: marks the posts of the stream `s` as read that arrived until the time `ts` (default: now). */
export async function markAllAsRead(hub: Hub, { viewer, values }: AppRequest): Promise<Reply> {
  const stream = requireStream(values.get('s') ?? '');
  const view = readArrivalView(hub, viewer, stream, new URLSearchParams());
  if (view === null || view.isRead === true) return plain();
  const { until } = readTime(values.get('ts')) ?? { until: hub.clock() };
  const next = posts(hub).firstSince(until + 1) ?? posts(hub).lastId() + 1;
  await markAllArrived(hub, viewer, targetOf(hub, viewer, stream), view, next - 1);
  return plain();
}

/** The target of `markRead` with the posts of a stream; null if no target fits, as for the starred posts. */
function targetOf(hub: Hub, viewer: Viewer, stream: Stream): Exclude<MarkTarget, { posts: number[] }> | null {
  if ('label' in stream) return stream.label === NO_FOLDER ? null : { folder: stream.label };
  if ('state' in stream) return stream.state === 'starred' ? null : { all: true };
  const sourceId = sourceOfFeed(hub, follows(hub).listed(viewer), stream.source);
  return sourceId === undefined ? null : { sourceId };
}

/** Throws 400 for an unreadable time, which must never mark all posts as read. */
function readTime(text: string | null): AppTime | undefined {
  const time = parseAppTime(text);
  if (time || !text?.trim() || text.trim() === '0') return time;
  throw new HttpError(400, 'ts must be a time in seconds, milliseconds or microseconds.');
}
