import { HttpError, notFound } from '../../platform/http/reply.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { follows, type Follow } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
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

/** Rows that one marking writes for single posts, about 10 ms of a lock: where there are more, it is asked again. */
const SINGLE_MAX = 1_000;

/** One marking, and what it has changed so far. */
type Run = { accountId: number; now: number; changes: ReadChanges };

/** `hasMarks`: whether posts of it may be marked as unread. */
type Scope = Pick<Follow, 'sourceId' | 'readUpTo'> & { hasMarks: boolean };

/**
 * Marks posts as read. `marked`: how many were unread before. `undo`: for undoMark, within a minute. Of a source one
 * row is written where all of it is read then; of others at most SINGLE_MAX posts are marked, the rest when asked
 * again. 404 for what is not there, or a source that one does not follow.
 */
export function markRead(
  hub: Hub, viewer: Viewer, what: Marking, limits: MarkLimits = {},
): { marked: number; undo: number } {
  return hub.db.write('mark posts read', () => {
    const run: Run = { accountId: viewer.id, now: hub.clock(), changes: { moved: [], marked: [] } };
    const marked = 'posts' in what
      ? markPosts(hub, viewer, what.posts, run)
      : scopeOf(hub, viewer, what).reduce((sum, one) => sum + markSource(hub, one, limits, run), 0);
    return { marked, undo: readUndo(hub).add(viewer.id, run.now, run.changes) };
  });
}

function scopeOf(hub: Hub, viewer: Viewer, what: Exclude<Marking, { posts: number[] }>): Scope[] {
  if ('all' in what) return unreadScope(hub, viewer);
  if ('folder' in what) {
    if (!follows(hub).hasFolder(viewer.id, what.folder)) throw notFound('folder');
    return unreadScope(hub, viewer, what.folder);
  }
  const follow = follows(hub).find(viewer.id, what.sourceId);
  // How many posts were unread is told: nobody learns it of a source that was hidden since.
  if (!follow || !maySeeSource(hub, what.sourceId, viewer)) throw new HttpError(404, 'You do not follow this source.');
  return [{ ...follow, hasMarks: true }];
}

/** Those that the viewer may see. */
function markPosts(hub: Hub, viewer: Viewer, wanted: number[], run: Run): number {
  const states = readMarks(hub).statesOf(viewer, [...new Set(wanted)]);
  const unread = states.filter(({ isRead }) => isRead === 0).flatMap(({ id }) => posts(hub).accessOf(id) ?? []);
  const visible = unread.filter((post) => maySeePost(hub, post, viewer));
  for (const { id, sourceId } of visible) mark(hub, sourceId, id, run);
  return visible.length;
}

function mark(hub: Hub, sourceId: number, postId: number, { accountId, now, changes }: Run): void {
  const isMarked = readMarks(hub).find(accountId, sourceId, postId) !== undefined;
  changes.marked.push([sourceId, postId, isMarked ? 0 : null]);
  readMarks(hub).put({ accountId, sourceId, postId, isRead: 1, now });
}

/**
 * Moves the source's mark as far as it passes nothing unread that stays so, and marks single posts beyond it. Returns
 * how many posts were unread.
 */
function markSource(hub: Hub, { sourceId, readUpTo, hasMarks }: Scope, limits: MarkLimits, run: Run): number {
  const cover = { accountId: run.accountId, sourceId, after: readUpTo, ...coverOf(hub, limits) };
  const isPart = limits.before !== undefined || limits.below !== undefined || limits.above !== undefined;
  const stays = isPart ? readMarks(hub).firstUncovered(cover) : Infinity;
  const upTo = Math.max(readUpTo, Math.min(stays - 1, cover.upTo));
  const passed = readMarks(hub).countUnread({ ...cover, upTo });
  const left = SINGLE_MAX - run.changes.marked.length;
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

/** No mark passes the last post that is there: whatever comes is unread. */
function coverOf(
  hub: Hub, { before, upTo, below, above }: MarkLimits,
): Omit<Cover, 'accountId' | 'sourceId' | 'after'> {
  const ends = [below, before === undefined ? undefined : { publishedAt: before, id: 0 }].filter((one) => !!one);
  const [belowAt, belowId] = placeOf(ends.sort(newestFirst).at(-1) ?? FROM_THE_TOP);
  const [aboveAt, aboveId] = placeOf(above ?? OLDEST);
  return { upTo: Math.min(upTo ?? Infinity, posts(hub).lastId()), belowAt, belowId, aboveAt, aboveId };
}

function placeOf({ publishedAt, id }: Position): [number, number] {
  return [publishedAt, id];
}

/**
 * Makes unread what a marking has changed, unless something else has changed it since. 410 when that is more than a
 * minute ago, or is undone already.
 */
export function undoMark(hub: Hub, viewer: Viewer, undo: number): void {
  hub.db.write('undo marking', () => {
    const taken = readUndo(hub).take(viewer.id, undo);
    if (!taken) throw new HttpError(410, 'It is too late to undo this.');
    const { madeAt, changes: { moved, marked } } = taken;
    for (const [sourceId, from, to] of moved) moveBack(hub, { accountId: viewer.id, sourceId }, from, to, madeAt);
    for (const [sourceId, postId, before] of marked) unmark(hub, viewer.id, { sourceId, postId }, before, madeAt);
  });
}

/** Where the mark has gone on since, what came later stays read. */
function moveBack(
  hub: Hub, key: { accountId: number; sourceId: number }, from: number, to: number, madeAt: number,
): void {
  const follow = follows(hub).find(key.accountId, key.sourceId);
  if (!follow || follow.createdAt > madeAt || follow.readUpTo <= from) return; // let go, followed anew, or back already
  if (follow.readUpTo > to) readMarks(hub).putRange({ ...key, after: to, upTo: follow.readUpTo, isRead: 1 });
  follows(hub).setReadUpTo(key.accountId, key.sourceId, from);
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
