import { HttpError, notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { asking, follows, type Follow } from '../follows/follow-store.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { maySeePost, requireVisible } from '../posts/post-access.ts';
import { FROM_THE_TOP, newestFirst, posts, type Position } from '../posts/post-store.ts';
import { maySeeSource } from '../sources/source-store.ts';
import { doubles, type MarkedRange } from './double-store.ts';
import { unreadSources } from './find-in-lists.ts';
import { mutedPosts } from './muted-store.ts';
import {
  OLDEST, readMarks, readUndo, stars, type ArrivalRange, type PostState, type Selection, type Undoable,
} from './reading-store.ts';

// Read state is a high-water mark per follow (follows.read_up_to) plus read-state exceptions (read_marks). Posts with
// ids up to the high-water mark are read and later posts are unread, unless a post has a read-state exception.

export type MarkTarget = { all: true } | { folder: string } | { sourceId: number } | { posts: number[] };

/** Only posts published before `before` (unix ms), with ids up to `upTo`, older than `below` and newer than `above`. */
export type MarkLimits = {
  before?: number | undefined; upTo?: number | undefined; below?: Position | undefined; above?: Position | undefined;
};

/** Maximum read-state exceptions that one call of `markRead` writes (about 10 ms); a reader clicks again for more. */
const EXCEPTIONS_MAX = 1_000;

/** Maximum number of sources that one transaction marks as read, in about 10 ms. */
const SOURCES_AT_ONCE = 50;

type Marking = { accountId: number; undoable: Undoable; maxExceptions: number };

/** An empty record of a mark-as-read action, for undoing. `byApp`: 0 begins a count of posts marked by an app. */
export function undoableNow(hub: Hub, byApp?: 0): Undoable {
  return { id: 0, madeAt: hub.clock(), changes: { moved: [], marked: [], ...(byApp !== undefined && { byApp }) } };
}

type UnreadSource = Pick<Follow, 'sourceId'> & { hasExceptions: boolean };

/** The posts that `MarkLimits` select. `isPartial`: they may leave some up to `upTo` unread, besides the muted ones. */
type Limits = Omit<Selection, 'accountId' | 'sourceId' | 'after'> & { isPartial: boolean };

/**
 * Marks posts as read; many sources in several transactions. Returns how many posts it has marked, without doubles, and
 * an id for `undoMark`. `undoable`: the record to which the changes are added.
 */
export async function markRead(
  hub: Hub, viewer: Viewer, target: MarkTarget, limits: MarkLimits = {}, undoable = undoableNow(hub),
): Promise<{ marked: number; undo: number }> {
  const steps = 'posts' in target ? [(marking: Marking) => markPosts(hub, viewer, target.posts, marking)]
    : markSources(hub, sourcesOf(hub, viewer, target), selectionOf(hub, limits));
  const marking: Marking = {
    accountId: viewer.id, undoable, maxExceptions: Math.min(EXCEPTIONS_MAX, readMarks(hub).left(viewer.id)),
  };
  let marked = 0;
  for (const step of steps) {
    if (undoable.id !== 0) await nextTurn();
    hub.db.write('mark posts read', () => {
      marked += step(marking);
      if (undoable.changes.byApp !== undefined) undoable.changes.byApp = marked;
      undoable.id = readUndo(hub).keep(viewer.id, undoable);
    });
  }
  await markDoubles(hub, viewer, marking);
  return { marked, undo: undoable.id };
}

/** Marks unread posts that have the same link as the marked posts, until the call has made `maxExceptions` marks. */
async function markDoubles(hub: Hub, viewer: Viewer, { undoable, maxExceptions }: Marking): Promise<void> {
  const { moved, marked } = undoable.changes;
  const steps = marked.length > 0 ? [marked.map(([sourceId, id]): MarkedRange => [sourceId, id - 1, id])] : [];
  for (let n = 0; n < moved.length; n += SOURCES_AT_ONCE) steps.push(moved.slice(n, n + SOURCES_AT_ONCE));
  for (const [n, ranges] of steps.entries()) {
    if (n > 0) await nextTurn();
    const limit = Math.max(0, maxExceptions - marked.length);
    const unread = doubles(hub).unread(asking(viewer), ranges, limit);
    if (unread.length > 0) hub.db.write('mark doubles', () => {
      for (const { id, sourceId } of unread) addException(hub, sourceId, id, { accountId: viewer.id, undoable });
      readUndo(hub).keep(viewer.id, undoable);
    });
  }
}

function tooManyMarks(hub: Hub): HttpError {
  return metLimit(hub, 'read-marks', 0,
    'You have marked too many posts one by one. Mark whole sources as read, or try again in a day.');
}

function sourcesOf(hub: Hub, viewer: Viewer, target: Exclude<MarkTarget, { posts: number[] }>): UnreadSource[] {
  if ('all' in target) return unreadSources(hub, viewer);
  if ('folder' in target) {
    if (!follows(hub).hasFolder(viewer.id, target.folder)) throw notFound('folder');
    return unreadSources(hub, viewer, target.folder);
  }
  const { sourceId } = target;
  // The viewer must still be allowed to see the source, because the answer tells how many of its posts were unread.
  const isListed = follows(hub).isFollowed(viewer.id, sourceId) && maySeeSource(hub, sourceId, viewer);
  if (!isListed) throw new HttpError(404, 'You do not follow this source.');
  return [{ sourceId, hasExceptions: true }];
}

/** Returns SQL bounds of the posts to mark as read. `upTo` is at most the newest post: later arrivals stay unread. */
function selectionOf(hub: Hub, { before, upTo, below, above }: MarkLimits): Limits {
  const ends = [below, before === undefined ? undefined : { publishedAt: before, id: 0 }].filter((end) => !!end);
  const end = ends.sort(newestFirst).at(-1) ?? FROM_THE_TOP;
  const start = above ?? OLDEST;
  return {
    upTo: Math.min(upTo ?? Infinity, posts(hub).lastId()),
    belowAt: end.publishedAt, belowId: end.id, aboveAt: start.publishedAt, aboveId: start.id,
    isPartial: ends.length > 0 || above !== undefined,
  };
}

function markPosts(hub: Hub, viewer: Viewer, wanted: number[], marking: Marking): number {
  const states = readMarks(hub).statesOf(viewer, [...new Set(wanted)]);
  const unread = states.filter(({ isRead }) => isRead === 0).flatMap(({ id }) => posts(hub).accessOf(id) ?? []);
  const visible = unread.filter((post) => maySeePost(hub, post, viewer));
  if (visible.length > marking.maxExceptions) throw tooManyMarks(hub);
  for (const { id, sourceId } of visible) addException(hub, sourceId, id, marking);
  return visible.length;
}

/** Marks a post as read by a read-state exception, and notes for undoing whether it had one before. */
export function addException(
  hub: Hub, sourceId: number, postId: number, { accountId, undoable }: Omit<Marking, 'maxExceptions'>,
): void {
  const isMarked = readMarks(hub).find(accountId, sourceId, postId) !== undefined;
  undoable.changes.marked.push([sourceId, postId, isMarked ? 0 : null]);
  readMarks(hub).put({ accountId, sourceId, postId, isRead: 1, now: undoable.madeAt });
}

function markSources(hub: Hub, sources: UnreadSource[], limits: Limits): ((marking: Marking) => number)[] {
  const starts = Array.from({ length: Math.max(1, Math.ceil(sources.length / SOURCES_AT_ONCE)) }, (_, n) => n);
  return starts.map((n) => (marking) => {
    if (limits.isPartial && marking.maxExceptions === 0) throw tooManyMarks(hub);
    return sources.slice(n * SOURCES_AT_ONCE, (n + 1) * SOURCES_AT_ONCE)
      .reduce((sum, source) => sum + markSource(hub, source, limits, marking), 0);
  });
}

/**
 * Raises the high-water mark to just below the first post that the limits leave unread, and marks selected posts above
 * it, and posts marked as unread, one by one. Muted posts that it passes are marked as unread while there is room.
 */
function markSource(hub: Hub, { sourceId, hasExceptions }: UnreadSource, limits: Limits, marking: Marking): number {
  const { accountId, undoable: { changes }, maxExceptions } = marking;
  const follow = follows(hub).find(accountId, sourceId);
  if (!follow) return 0; // between transactions, the viewer has unfollowed the source
  const { readUpTo } = follow;
  const selection = { accountId, sourceId, after: readUpTo, ...limits };
  const firstUnread = limits.isPartial ? readMarks(hub).firstNotSelected(selection) : Infinity;
  const raisedTo = Math.max(readUpTo, Math.min(firstUnread - 1, limits.upTo));
  const passed = readMarks(hub).countUnread({ ...selection, upTo: raisedTo });
  const left = maxExceptions - changes.marked.length;
  const upTo = Math.min(raisedTo, limits.upTo);
  const markedUnread = hasExceptions ? readMarks(hub).markedUnread({ ...selection, upTo, limit: left }) : [];
  const limit = left - markedUnread.length;
  const beyond = firstUnread < Infinity ? readMarks(hub).selected({ ...selection, after: raisedTo, limit }) : [];
  for (const postId of [...markedUnread, ...beyond]) addException(hub, sourceId, postId, marking);
  if (passed > 0) {
    const room = limit - beyond.length;
    marking.maxExceptions -= mutedPosts(hub).keepUnread({ ...selection, upTo: raisedTo }, room);
    follows(hub).setReadUpTo(accountId, sourceId, raisedTo);
    changes.moved.push([sourceId, readUpTo, raisedTo]);
  }
  return passed + markedUnread.filter((id) => id <= readUpTo).length + beyond.length;
}

/**
 * Undoes a marking, except for posts marked since, as far as the limit of read-state exceptions allows. Throws 410 if
 * the marking is undone, forgotten or as old as UNDO_MS.
 */
export async function undoMark(hub: Hub, viewer: Viewer, undo: number): Promise<void> {
  if (!readUndo(hub).find(viewer.id, undo)?.isLive) {
    throw new HttpError(410, 'It is too late to undo that.');
  }
  while (hub.db.write('undo marking', () => undoStep(hub, viewer.id, undo))) await nextTurn();
}

function undoStep(hub: Hub, accountId: number, undo: number): boolean {
  const found = readUndo(hub).find(accountId, undo);
  if (!found) return false;
  const { madeAt, changes: { moved, marked } } = found;
  const exceptions = moved.length > 0 ? [] : marked.splice(0, EXCEPTIONS_MAX);
  const left = readMarks(hub).left(accountId);
  let written = 0;
  for (const [sourceId, from, to] of moved.splice(0, SOURCES_AT_ONCE)) {
    const raised = { accountId, sourceId, after: from, upTo: to };
    if (written < EXCEPTIONS_MAX) written += lowerMark(hub, raised, madeAt, Math.min(EXCEPTIONS_MAX, left - written));
    else moved.push([sourceId, from, to]);
  }
  for (const [sourceId, postId, before] of exceptions) {
    undoException(hub, { accountId, sourceId, postId, before, madeAt });
  }
  if (moved.length + marked.length === 0) readUndo(hub).remove(accountId, undo);
  else readUndo(hub).keep(accountId, { id: undo, madeAt, changes: { moved, marked } });
  return moved.length + marked.length > 0;
}

/**
 * Lowers a high-water mark below the range `raised`, and marks the read posts above the range as read one by one; if
 * these posts are more than `room`, marks the posts of the range as unread; if these too are more, changes nothing.
 * Returns how many posts were marked.
 */
function lowerMark(hub: Hub, raised: ArrivalRange, madeAt: number, room: number): number {
  const { accountId, sourceId, after, upTo } = raised;
  const follow = follows(hub).find(accountId, sourceId);
  if (!follow || follow.createdAt > madeAt || follow.readUpTo <= after) return 0; // unfollowed, refollowed, lowered
  const laterAsRead = { accountId, sourceId, after: upTo, upTo: follow.readUpTo, isRead: 1 } as const;
  const undoneAsUnread = { ...raised, isRead: 0 } as const;
  const change = [laterAsRead, undoneAsUnread].find((range) => readMarks(hub).count(range, room + 1) <= room);
  if (change === laterAsRead) follows(hub).setReadUpTo(accountId, sourceId, after);
  return change === undefined ? 0 : readMarks(hub).putRange(change);
}

type PostKey = { accountId: number; sourceId: number; postId: number };

function undoException(hub: Hub, { before, madeAt, ...key }: PostKey & { before: 0 | null; madeAt: number }): void {
  const { accountId, sourceId, postId } = key;
  const now = readMarks(hub).find(accountId, sourceId, postId);
  if (now?.isRead !== 1 || now.markedAt !== madeAt) return; // the reader has marked the post again
  // If the account does not follow the source, a post that had no read or unread mark gets no mark as unread.
  const hadNone = before === null && !follows(hub).isFollowed(accountId, sourceId);
  if (hadNone) readMarks(hub).remove(accountId, sourceId, postId);
  else putUnread(hub, key);
}

/** Marks a post as unread. Above its source's high-water mark, that needs no row in `read_marks`. */
export function putUnread(hub: Hub, { accountId, sourceId, postId }: PostKey): void {
  const readUpTo = follows(hub).find(accountId, sourceId)?.readUpTo ?? Infinity;
  if (postId > readUpTo) readMarks(hub).remove(accountId, sourceId, postId);
  else readMarks(hub).put({ accountId, sourceId, postId, isRead: 0, now: hub.clock() });
}

/** Marks a post and its doubles as read or unread. Throws 422 at the limit of read-state exceptions. */
export function setRead(hub: Hub, viewer: Viewer, postId: number, read: boolean): void {
  const { sourceId } = requireVisible(hub, postId, viewer);
  const changing = (): PostState[] =>
    readMarks(hub).statesOf(viewer, withDoubles(hub, viewer, [postId])).filter(({ isRead }) => (isRead === 1) !== read);
  if (changing().length === 0) return;
  hub.db.write('mark post', () => {
    const left = readMarks(hub).left(viewer.id);
    const isNew = readMarks(hub).find(viewer.id, sourceId, postId) === undefined;
    if (isNew && left === 0) throw tooManyMarks(hub);
    for (const { id, sourceId } of changing().slice(0, Math.max(1, left))) {
      const key = { accountId: viewer.id, sourceId, postId: id };
      if (read) readMarks(hub).put({ ...key, isRead: 1, now: hub.clock() });
      else putUnread(hub, key);
    }
  });
}

/** The posts and their doubles, which are read, starred and muted together. */
export function withDoubles(hub: Hub, viewer: Pick<Viewer, 'id' | 'role'>, postIds: number[]): number[] {
  return [...new Set([...postIds, ...doubles(hub).of(asking(viewer), postIds).map(({ id }) => id)])];
}

/** Marks a post as read that the viewer has opened or written, unless the account has no read-state exceptions left. */
export function setSeen(hub: Hub, viewer: Viewer, postId: number): void {
  if (readMarks(hub).left(viewer.id) > 0) setRead(hub, viewer, postId, true);
}

/** Stars a post and its doubles, so that they are not removed as old, or removes the stars. */
export function setStar(hub: Hub, viewer: Viewer, postId: number, starred: boolean): void {
  requireVisible(hub, postId, viewer);
  hub.db.write('star post', () => {
    const ids = withDoubles(hub, viewer, [postId]);
    if (starred) stars(hub).add(ids.map((id) => [viewer.id, id]));
    else for (const id of ids) stars(hub).remove(viewer.id, id);
  });
}
