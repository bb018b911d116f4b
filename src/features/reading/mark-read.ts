import { HttpError, notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { asking, follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { requireVisible } from '../posts/post-access.ts';
import { FROM_THE_TOP, newestFirst, posts, type Position } from '../posts/post-store.ts';
import { maySeeSource } from '../sources/source-store.ts';
import { entries, OLDEST, readActs, type ReadAct, type Selection } from './entry-store.ts';

export type MarkTarget = { all: true } | { folder: string } | { sourceId: number } | { posts: number[] };

/** Only posts published before `before` (unix ms), with ids up to `upTo`, older than `below` and newer than `above`. */
export type MarkLimits = {
  before?: number | undefined; upTo?: number | undefined; below?: Position | undefined; above?: Position | undefined;
};

/** This many posts are marked in one transaction, in a few ms. */
const AT_ONCE = 1_000;

/**
 * Marks posts as read, many in several transactions. Returns how many posts it has marked, without doubles in other
 * lists, and an id for `undoMark`.
 */
export async function markRead(
  hub: Hub, viewer: Viewer, target: MarkTarget, limits: MarkLimits = {},
): Promise<{ marked: number; undo: number }> {
  const act = { id: 0, madeAt: hub.clock() };
  const marked = 'posts' in target ? markPosts(hub, viewer, target.posts, act)
    : await markLists(hub, viewer, { ...listsOf(hub, viewer, target), ...boundsOf(hub, limits) }, act);
  return { marked, undo: act.id };
}

/** Marks the posts of a followed source, a folder or all lists, and their doubles; `act` gets an id if it has none. */
export async function markLists(hub: Hub, viewer: Viewer, selection: Selection, act: ReadAct): Promise<number> {
  const rowIds = new Set<number>();
  let marked = 0;
  for (let some = AT_ONCE; some === AT_ONCE; marked += some) {
    if (marked > 0) await nextTurn();
    const posts = hub.db.write('mark posts read', () => {
      act.id ||= readActs(hub).add(viewer.id, act.madeAt, false);
      return readActs(hub).markSome(asking(viewer), selection, act, AT_ONCE);
    });
    for (const { rowId } of posts) if (rowId !== null) rowIds.add(rowId);
    some = posts.length;
  }
  const rows = [...rowIds];
  for (let start = 0; start < rows.length; start += AT_ONCE) {
    await nextTurn();
    hub.db.write('mark doubles', () =>
      readActs(hub).markRows(asking(viewer), act, rows.slice(start, start + AT_ONCE)));
  }
  return marked;
}

/** Marks posts and their doubles; returns how many posts, without doubles. */
function markPosts(hub: Hub, viewer: Viewer, wanted: number[], act: ReadAct): number {
  const unreadAmong = (ids: number[]): number[] =>
    entries(hub).statesOf(viewer, ids).filter(({ isRead }) => isRead === 0).map(({ id }) => id);
  const unread = unreadAmong([...new Set(wanted)]);
  const withTheirs = unreadAmong(withDoubles(hub, viewer, unread));
  hub.db.write('mark posts read', () => {
    act.id = readActs(hub).add(viewer.id, act.madeAt, false);
    entries(hub).setRead(viewer.id, withTheirs, true, act);
  });
  return unread.length;
}

/** Which lists a target names. Throws 404 for an unknown folder, and for a source that the viewer does not follow. */
export function listsOf(
  hub: Hub, viewer: Viewer, target: Exclude<MarkTarget, { posts: number[] }>,
): Pick<Selection, 'sourceId' | 'folder'> {
  if ('all' in target) return { sourceId: 0, folder: null };
  if ('folder' in target) {
    if (!follows(hub).hasFolder(viewer.id, target.folder)) throw notFound('folder');
    return { sourceId: 0, folder: target.folder };
  }
  const { sourceId } = target;
  // The viewer must still be allowed to see the source, because the answer tells how many of its posts were unread.
  const isListed = follows(hub).isFollowed(viewer.id, sourceId) && maySeeSource(hub, sourceId, viewer);
  if (!isListed) throw new HttpError(404, 'You do not follow this source.');
  return { sourceId, folder: null };
}

/** The bounds of the posts to mark as read. `upTo` is at most the newest post: later arrivals stay unread. */
export function boundsOf(
  hub: Hub, { before, upTo, below, above }: MarkLimits,
): Omit<Selection, 'sourceId' | 'folder'> {
  const ends = [below, before === undefined ? undefined : { publishedAt: before, id: 0 }].filter((end) => !!end);
  const end = ends.sort(newestFirst).at(-1) ?? FROM_THE_TOP;
  const start = above ?? OLDEST;
  return {
    upTo: Math.min(upTo ?? Infinity, posts(hub).lastId()),
    belowAt: end.publishedAt, belowId: end.id, aboveAt: start.publishedAt, aboveId: start.id,
  };
}

/** Undoes a marking, except for posts marked since. Throws 410 if it is undone, forgotten or as old as UNDO_MS. */
export async function undoMark(hub: Hub, viewer: Viewer, undo: number): Promise<void> {
  const act = readActs(hub).live(viewer.id, undo);
  if (!act) throw new HttpError(410, 'It is too late to undo that.');
  const undoSome = (): boolean => hub.db.write('undo marking', () => {
    const isMore = readActs(hub).undo({ accountId: viewer.id, ...act, limit: AT_ONCE }) === AT_ONCE;
    if (!isMore) readActs(hub).remove(act.id);
    return isMore;
  });
  while (undoSome()) await nextTurn();
}

/** Marks a post and its doubles as read or unread. */
export function setRead(hub: Hub, viewer: Viewer, postId: number, read: boolean): void {
  requireVisible(hub, postId, viewer);
  const changing = (): number[] => entries(hub).statesOf(viewer, withDoubles(hub, viewer, [postId]))
    .filter(({ isRead }) => (isRead === 1) !== read).map(({ id }) => id);
  if (changing().length > 0) hub.db.write('mark post', () => entries(hub).setRead(viewer.id, changing(), read));
}

/** The posts and their doubles, which are read, starred and muted together. */
export function withDoubles(hub: Hub, viewer: Pick<Viewer, 'id' | 'role'>, postIds: number[]): number[] {
  return [...new Set([...postIds, ...entries(hub).doublesOf(asking(viewer), postIds).map(({ id }) => id)])];
}

/** Stars a post and its doubles, so that they are not removed as old, or removes the stars. */
export function setStar(hub: Hub, viewer: Viewer, postId: number, starred: boolean): void {
  requireVisible(hub, postId, viewer);
  hub.db.write('star post', () => {
    const ids = withDoubles(hub, viewer, [postId]);
    if (starred) entries(hub).star(viewer.id, ids);
    else entries(hub).unstar(viewer.id, ids);
  });
}
