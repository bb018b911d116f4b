import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { arrivedPosts, type ArrivalView } from './arrival-list.ts';
import { addException, markRead, putUnread, undoableNow, withDoubles, type MarkTarget } from './mark-read.ts';
import { compactMarks } from './raise-marks.ts';
import { readMarks, readUndo, stars, type PostState, type ReadChanges, type Undoable } from './reading-store.ts';

// Apps mark thousands of posts at once, and repeat a refused request for ever. The limit of posts that an account marks
// one by one (read-state exceptions) does not hold for apps: an app can mark no more posts than the hub has.

/** This many posts are looked up at once, or marked in one transaction, in about 10 ms. */
const AT_ONCE = 1_000;

/** Marks posts and their doubles, except hidden ones. `undoable`: takes the changes if they become read. */
export async function setManyRead(
  hub: Hub, viewer: Viewer, postIds: number[], isRead: boolean, undoable = undoableNow(hub, 0),
): Promise<void> {
  const states = await statesOf(hub, viewer, postIds);
  const changing = states.filter((state) => state.isRead !== Number(isRead));
  changing.sort((one, other) => one.sourceId - other.sourceId || one.id - other.id);
  const { changes } = undoable;
  const canUndo = isRead && (undoable.id !== 0 || changing.length > 1);
  await eachBatch(changing, async (batch) => {
    if (readMarks(hub).left(viewer.id) < batch.length) await compactMarks(hub, viewer.id);
    hub.db.write('mark posts of app', () => {
      for (const [sourceId, posts] of Map.groupBy(batch, (state) => state.sourceId)) {
        const ids = posts.map(({ id }) => id);
        if (isRead) markIds(hub, sourceId, ids, { accountId: viewer.id, undoable });
        else for (const id of ids) putUnread(hub, { accountId: viewer.id, sourceId, postId: id });
      }
      changes.byApp = (changes.byApp ?? 0) + batch.length;
      if (canUndo) undoable.id = readUndo(hub).keep(viewer.id, undoable);
    });
  });
}

/** Stars posts and their doubles, or removes the stars, except of posts that the viewer may not see. */
export async function setManyStars(hub: Hub, viewer: Viewer, postIds: number[], isStarred: boolean): Promise<void> {
  const states = await statesOf(hub, viewer, postIds);
  const changing = states.filter((state) => state.isStarred !== Number(isStarred));
  await eachBatch(changing, (batch) => hub.db.write('star posts of app', () => {
    if (isStarred) stars(hub).add(batch.map(({ id }) => [viewer.id, id]));
    else for (const { id } of batch) stars(hub).remove(viewer.id, id);
  }));
}

/** Marks the posts of a view with ids up to `upTo` as read: first by `target`, then those that are still unread. */
export async function markAllArrived(
  hub: Hub, viewer: Viewer, target: MarkTarget | null, view: ArrivalView, upTo: number,
): Promise<void> {
  const undoable = undoableNow(hub, 0);
  if (target) await markRead(hub, viewer, target, { upTo }, undoable);
  const unread: ArrivalView = { ...view, isRead: false };
  for (let after: number | undefined = upTo + 1; after !== undefined;) {
    const page = await arrivedPosts(hub, viewer, unread, { after, limit: 10 * AT_ONCE, isOldestFirst: false });
    await setManyRead(hub, viewer, page.ids, true, undoable);
    after = page.next ?? undefined;
  }
}

async function statesOf(hub: Hub, viewer: Viewer, postIds: number[]): Promise<PostState[]> {
  const [ids, states] = [new Set<number>(), [] as PostState[]];
  await eachBatch([...new Set(postIds)], (some) => withDoubles(hub, viewer, some).forEach((id) => ids.add(id)));
  await eachBatch([...ids], (some) => void states.push(...readMarks(hub).statesOf(viewer, some)));
  return states;
}

async function eachBatch<Value>(values: Value[], act: (batch: Value[]) => void | Promise<void>): Promise<void> {
  for (let start = 0; start < values.length; start += AT_ONCE) {
    if (start > 0) await nextTurn();
    await act(values.slice(start, start + AT_ONCE));
  }
}

type Marking = { accountId: number; undoable: Undoable };

/** Marks unread posts of one source as read. `ids`: the ids of the posts, in ascending order. */
function markIds(hub: Hub, sourceId: number, ids: number[], marking: Marking): void {
  const { accountId, undoable } = marking;
  const readUpTo = follows(hub).find(accountId, sourceId)?.readUpTo;
  const raisedTo = readUpTo === undefined ? 0 : raisedMark(hub, { accountId, sourceId, after: readUpTo }, ids);
  const isPassed = (id: number): boolean => readUpTo !== undefined && id > readUpTo && id <= raisedTo;
  if (readUpTo !== undefined && ids.some(isPassed)) {
    follows(hub).setReadUpTo(accountId, sourceId, raisedTo);
    noteRaise(undoable.changes, [sourceId, readUpTo, raisedTo]);
  }
  for (const id of ids) {
    const isReadByMark = isPassed(id) && readMarks(hub).find(accountId, sourceId, id) === undefined;
    if (!isReadByMark) addException(hub, sourceId, id, marking);
  }
}

function noteRaise({ moved }: ReadChanges, [sourceId, from, to]: ReadChanges['moved'][number]): void {
  const last = moved.at(-1);
  if (last?.[0] === sourceId && last[2] === from) last[2] = to;
  else moved.push([sourceId, from, to]);
}

/** How far a high-water mark rises if the posts `ids` are read: to the last, or to just below another unread post. */
function raisedMark(hub: Hub, key: { accountId: number; sourceId: number; after: number }, ids: number[]): number {
  const last = ids.at(-1) ?? 0;
  const gap = readMarks(hub).firstUnread({ ...key, upTo: last }, ids);
  return Math.min(last, gap === undefined ? last : gap - 1);
}
