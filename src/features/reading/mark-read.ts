import { setImmediate as nextTurn } from 'node:timers/promises';
import { HttpError, notFound } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { follows, type Follow } from '../follows/follow-store.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { maySeePost } from '../posts/post-access.ts';
import { FROM_THE_TOP, newestFirst, posts, type Position } from '../posts/post-store.ts';
import { maySeeSource } from '../sources/source-store.ts';
import { unreadScope } from './find-in-lists.ts';
import { OLDEST, readMarks, readUndo, type Cover, type ReadChanges } from './reading-store.ts';

/** What is marked as read: all that one follows, a folder, a source, or posts. */
export type Marking = { all: true } | { folder: string } | { sourceId: number } | { posts: number[] };

/**
 * Of that only posts which were published before a time (unix ms), which arrived no later than the post `upTo`, or
 * which stand below or above another one in a list. Posts that are named are marked whatever these say.
 */
export type MarkLimits = {
  before?: number | undefined; upTo?: number | undefined; below?: Position | undefined; above?: Position | undefined;
};

/** Posts that one marking marks singly, in about 10 ms under the write lock; for more, people ask again. */
const SINGLE_MAX = 1_000;

/** Sources of which one step deals with the marks, in about as long. */
const SOURCES_AT_ONCE = 50;

/** One marking, what it has changed so far, and how many posts it may mark one by one. */
type Run = { accountId: number; now: number; changes: ReadChanges; room: number };

/** `hasMarks`: whether posts of it may be marked as unread. */
type Scope = Pick<Follow, 'sourceId'> & { hasMarks: boolean };

/**
 * Marks posts as read, of many sources in steps between which others have their turn. `marked`: how many were unread
 * before. `undo`: for undoMark, within a minute. Of a source one row is written where all of it is read then; of others
 * at most SINGLE_MAX posts are marked, the rest when asked again. 404 for what is not there, or a source that one does
 * not follow; 422 where no more posts can be marked one by one.
 */
export async function markRead(
  hub: Hub, viewer: Viewer, what: Marking, limits: MarkLimits = {},
): Promise<{ marked: number; undo: number }> {
  const steps = 'posts' in what ? [(run: Run) => markPosts(hub, viewer, what.posts, run)]
    : markSources(hub, scopeOf(hub, viewer, what), limits);
  const run: Run = {
    accountId: viewer.id, now: hub.clock(), changes: { moved: [], marked: [] },
    room: Math.min(SINGLE_MAX, readMarks(hub).left(viewer.id)),
  };
  let [marked, undo] = [0, 0];
  for (const step of steps) {
    if (undo !== 0) await nextTurn();
    hub.db.write('mark posts read', () => {
      marked += step(run);
      undo = readUndo(hub).keep(undo, viewer.id, run.now, run.changes);
    });
  }
  return { marked, undo };
}

/** 422: an account has as many marks of single posts as it may have. */
export function tooManyMarks(hub: Hub): HttpError {
  return metLimit(hub, 'read-marks', 0,
    'You have marked too many posts one by one. Mark whole sources as read, or try again in a day.');
}

function scopeOf(hub: Hub, viewer: Viewer, what: Exclude<Marking, { posts: number[] }>): Scope[] {
  if ('all' in what) return unreadScope(hub, viewer);
  if ('folder' in what) {
    if (!follows(hub).hasFolder(viewer.id, what.folder)) throw notFound('folder');
    return unreadScope(hub, viewer, what.folder);
  }
  // How many posts were unread is told: nobody learns it of a source that was hidden since.
  const isListed = follows(hub).isFollowed(viewer.id, what.sourceId) && maySeeSource(hub, what.sourceId, viewer);
  if (!isListed) throw new HttpError(404, 'You do not follow this source.');
  return [{ sourceId: what.sourceId, hasMarks: true }];
}

/** Those that the viewer may see. */
function markPosts(hub: Hub, viewer: Viewer, wanted: number[], run: Run): number {
  const states = readMarks(hub).statesOf(viewer, [...new Set(wanted)]);
  const unread = states.filter(({ isRead }) => isRead === 0).flatMap(({ id }) => posts(hub).accessOf(id) ?? []);
  const visible = unread.filter((post) => maySeePost(hub, post, viewer));
  if (visible.length > run.room) throw tooManyMarks(hub);
  for (const { id, sourceId } of visible) mark(hub, sourceId, id, run);
  return visible.length;
}

function mark(hub: Hub, sourceId: number, postId: number, { accountId, now, changes }: Run): void {
  const isMarked = readMarks(hub).find(accountId, sourceId, postId) !== undefined;
  changes.marked.push([sourceId, postId, isMarked ? 0 : null]);
  readMarks(hub).put({ accountId, sourceId, postId, isRead: 1, now });
}

/** Steps that mark so many sources each, all up to the post that is last now. */
function markSources(hub: Hub, scope: Scope[], limits: MarkLimits): ((run: Run) => number)[] {
  const part = coverOf(hub, limits);
  const isPart = limits.before !== undefined || limits.below !== undefined || limits.above !== undefined;
  const starts = Array.from({ length: Math.max(1, Math.ceil(scope.length / SOURCES_AT_ONCE)) }, (_, n) => n);
  return starts.map((n) => (run) => {
    if (isPart && run.room === 0) throw tooManyMarks(hub);
    return scope.slice(n * SOURCES_AT_ONCE, (n + 1) * SOURCES_AT_ONCE)
      .reduce((sum, one) => sum + markSource(hub, one, part, isPart, run), 0);
  });
}

/**
 * Moves the source's mark as far as it passes nothing unread that stays so, and marks single posts beyond it. Returns
 * how many posts were unread.
 */
function markSource(hub: Hub, { sourceId, hasMarks }: Scope, part: Part, isPart: boolean, run: Run): number {
  const follow = follows(hub).find(run.accountId, sourceId);
  if (!follow) return 0; // since the step before
  const { readUpTo } = follow;
  const cover = { accountId: run.accountId, sourceId, after: readUpTo, ...part };
  const stays = isPart ? readMarks(hub).firstUncovered(cover) : Infinity;
  const upTo = Math.max(readUpTo, Math.min(stays - 1, cover.upTo));
  const passed = readMarks(hub).countUnread({ ...cover, upTo });
  const left = run.room - run.changes.marked.length;
  const inPassed = { ...cover, upTo: Math.min(upTo, cover.upTo), limit: left };
  const markedUnread = hasMarks ? readMarks(hub).markedUnread(inPassed) : [];
  const limit = left - markedUnread.length;
  const beyond = stays < Infinity ? readMarks(hub).covered({ ...cover, after: upTo, limit }) : [];
  for (const postId of [...markedUnread, ...beyond]) mark(hub, sourceId, postId, run);
  if (passed > 0) {
    follows(hub).setReadUpTo(run.accountId, sourceId, upTo);
    run.changes.moved.push([sourceId, readUpTo, upTo]);
  }
  return passed + markedUnread.filter((id) => id <= readUpTo).length + beyond.length;
}

/** Which posts of each source are meant. */
type Part = Omit<Cover, 'accountId' | 'sourceId' | 'after'>;

/** No mark passes the last post that is there: whatever comes is unread. */
function coverOf(hub: Hub, { before, upTo, below, above }: MarkLimits): Part {
  const ends = [below, before === undefined ? undefined : { publishedAt: before, id: 0 }].filter((one) => !!one);
  const [belowAt, belowId] = placeOf(ends.sort(newestFirst).at(-1) ?? FROM_THE_TOP);
  const [aboveAt, aboveId] = placeOf(above ?? OLDEST);
  return { upTo: Math.min(upTo ?? Infinity, posts(hub).lastId()), belowAt, belowId, aboveAt, aboveId };
}

function placeOf({ publishedAt, id }: Position): [number, number] {
  return [publishedAt, id];
}

/**
 * Makes unread what a marking has changed, unless something else has changed it since; in steps, of which each forgets
 * what it has undone. 410 when that is more than a minute ago, or is undone already.
 */
export async function undoMark(hub: Hub, viewer: Viewer, undo: number): Promise<void> {
  if (!readUndo(hub).find(viewer.id, undo)?.isLive) throw new HttpError(410, 'It is too late to undo this.');
  while (hub.db.write('undo marking', () => undoSome(hub, viewer.id, undo))) await nextTurn();
}

/** Whether there is more to undo. */
function undoSome(hub: Hub, accountId: number, undo: number): boolean {
  const found = readUndo(hub).find(accountId, undo);
  if (!found) return false;
  const { madeAt, changes: { moved, marked } } = found;
  const isMoving = moved.length > 0;
  const left = readMarks(hub).left(accountId);
  let rows = 0;
  for (const [sourceId, from, to] of moved.splice(0, SOURCES_AT_ONCE)) {
    const room = Math.min(SINGLE_MAX, left - rows);
    if (rows < SINGLE_MAX) rows += moveBack(hub, { accountId, sourceId }, [from, to, madeAt], room);
    else moved.push([sourceId, from, to]);
  }
  for (const [sourceId, postId, before] of isMoving ? [] : marked.splice(0, SINGLE_MAX)) {
    unmark(hub, accountId, { sourceId, postId }, before, madeAt);
  }
  if (moved.length + marked.length === 0) readUndo(hub).remove(accountId, undo);
  else readUndo(hub).keep(undo, accountId, madeAt, { moved, marked });
  return moved.length + marked.length > 0;
}

/**
 * Where the mark has gone on since, what came later stays read: that is marked, or else what becomes unread, whichever
 * there is room for; where there is none, nothing changes. Returns how many posts it has marked.
 */
function moveBack(
  hub: Hub, key: { accountId: number; sourceId: number }, [from, to, madeAt]: [number, number, number], room: number,
): number {
  const follow = follows(hub).find(key.accountId, key.sourceId);
  if (!follow || follow.createdAt > madeAt || follow.readUpTo <= from) return 0; // let go, followed anew, or back
  const later = { ...key, after: to, upTo: follow.readUpTo, isRead: 1 } as const;
  const own = { ...key, after: from, upTo: to, isRead: 0 } as const;
  const change = [later, own].find((range) => readMarks(hub).count(range, room + 1) <= room);
  if (change !== undefined && change !== own) follows(hub).setReadUpTo(key.accountId, key.sourceId, from);
  return change === undefined ? 0 : readMarks(hub).putRange(change);
}

function unmark(
  hub: Hub, accountId: number, { sourceId, postId }: { sourceId: number; postId: number }, before: 0 | null,
  madeAt: number,
): void {
  const now = readMarks(hub).find(accountId, sourceId, postId);
  if (now?.isRead !== 1 || now.markedAt !== madeAt) return; // it was marked again since
  const isLater = postId > (follows(hub).find(accountId, sourceId)?.readUpTo ?? 0);
  if (before === null && isLater) readMarks(hub).remove(accountId, sourceId, postId);
  else readMarks(hub).put({ accountId, sourceId, postId, isRead: 0, now: hub.clock() });
}
