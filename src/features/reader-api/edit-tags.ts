import { SECOND } from '../../platform/clock.ts';
import { HttpError, type Reply } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { markAllArrived, setManyRead, setManyStars } from '../reading/mark-many.ts';
import type { MarkTarget } from '../reading/mark-read.ts';
import { readingHistory } from '../reading/reading-history-store.ts';
import { readMarks } from '../reading/reading-store.ts';
import { parseItemId } from './item-ids.ts';
import { plain, type AppRequest } from './reader-request.ts';
import { parseStream, readArrivalView, requireStream, sourceOfFeed, type Stream } from './streams.ts';

/**
 * POST edit-tag: marks the posts `i` as read, unread, starred or unstarred by the states `a` (added) and `r` (removed).
 * Unknown posts and states change nothing, and the answer is OK all the same: apps repeat a refused edit for ever.
 */
export async function editTags(hub: Hub, { viewer, values }: AppRequest): Promise<Reply> {
  const ids = values.getAll('i').flatMap((id) => parseItemId(id) ?? []);
  const [added, removed] = [statesIn(values.getAll('a')), statesIn(values.getAll('r'))];
  const isRead = added.has('read') ? true : removed.has('read') || added.has('unread') ? false : undefined;
  const isStarred = added.has('starred') ? true : removed.has('starred') ? false : undefined;
  if (isRead !== undefined) {
    await setManyRead(hub, viewer, ids, isRead);
    noteOpened(hub, viewer, ids, isRead);
  }
  if (isStarred !== undefined) await setManyStars(hub, viewer, ids, isStarred);
  return plain();
}

/** Apps mark a post by itself when the post is opened: such a post belongs to the reading history, as on pages. */
function noteOpened(hub: Hub, viewer: Viewer, ids: number[], isRead: boolean): void {
  const [post] = ids.length === 1 ? readMarks(hub).statesOf(viewer, ids) : [];
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

/**
 * POST mark-all-as-read: marks posts of the stream `s` as read that arrived until `ts`; without `ts`, until now. Status
 * 400 for an unknown stream or time.
 */
export async function markAllAsRead(hub: Hub, { viewer, values }: AppRequest): Promise<Reply> {
  const stream = requireStream(values.get('s') ?? '');
  const view = readArrivalView(hub, viewer, stream, new URLSearchParams());
  if (view === null) return plain();
  const until = readTime((values.get('ts') ?? '').trim()) ?? hub.clock();
  const next = posts(hub).firstSince(until + 1) ?? posts(hub).lastId() + 1;
  await markAllArrived(hub, viewer, targetOf(hub, viewer, stream), view, next - 1);
  return plain();
}

/** The target of `markRead` that holds the same posts as a stream; null for the starred posts. */
function targetOf(hub: Hub, viewer: Viewer, stream: Stream): MarkTarget | null {
  if ('label' in stream) return { folder: stream.label };
  if ('state' in stream) return ['starred', 'read'].includes(stream.state) ? null : { all: true };
  const sourceId = sourceOfFeed(hub, follows(hub).listed(viewer), stream.feed);
  return sourceId === undefined ? null : { sourceId };
}

/**
 * A time as apps write it, in unix ms: at least 18 digits are nanoseconds, 15 to 17 microseconds, 12 to 14
 * milliseconds, fewer seconds. Undefined for 0 and for no text, by which apps mean everything. Status 400 for another
 * text, because an unknown time must never stand for everything.
 */
function readTime(text: string): number | undefined {
  if (text === '' || text === '0') return undefined;
  const digits = /^([1-9]\d{0,18})(?:\.\d+)?$/.exec(text)?.[1];
  if (digits === undefined) throw new HttpError(400, 'Unknown time.');
  if (digits.length >= 18) return Math.floor(Number(digits) / 1_000_000);
  if (digits.length >= 15) return Math.floor(Number(digits) / 1_000);
  return digits.length >= 12 ? Number(digits) : Number(digits) * SECOND + SECOND - 1;
}
