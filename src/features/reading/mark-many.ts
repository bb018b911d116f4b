import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { arrivedPosts, type ArrivalView } from './arrival-list.ts';
import { entries, readActs, type PostState, type ReadAct } from './entry-store.ts';
import { boundsOf, listsOf, markLists, withDoubles, type MarkTarget } from './mark-read.ts';

/** This many posts are looked up at once, or marked in one transaction, in about 10 ms. */
const AT_ONCE = 1_000;

/**
 * Marks posts and their doubles, except those that the viewer may not see. What an app marks as read at once can be
 * undone.
 */
export async function setManyRead(
  hub: Hub, viewer: Viewer, postIds: number[], isRead: boolean, act: ReadAct = { id: 0, madeAt: hub.clock() },
): Promise<void> {
  const states = await statesOf(hub, viewer, postIds);
  const changing = states.filter((state) => state.isRead !== Number(isRead)).map(({ id }) => id);
  const canUndo = isRead && (act.id !== 0 || changing.length > 1);
  await eachBatch(changing, (batch) => hub.db.write('mark posts of app', () => {
    if (canUndo) {
      act.id ||= readActs(hub).add(viewer.id, act.madeAt, true);
      readActs(hub).addByApp(act.id, batch.length);
    }
    entries(hub).setRead(viewer.id, batch, isRead, canUndo ? act : undefined);
  }));
}

/** Stars posts and their doubles, or removes the stars, except of posts that the viewer may not see. */
export async function setManyStars(hub: Hub, viewer: Viewer, postIds: number[], isStarred: boolean): Promise<void> {
  const states = await statesOf(hub, viewer, postIds);
  const changing = states.filter((state) => state.isStarred !== Number(isStarred)).map(({ id }) => id);
  const change = isStarred ? entries(hub).star : entries(hub).unstar;
  await eachBatch(changing, (batch) => hub.db.write('star posts of app', () => change(viewer.id, batch)));
}

/** Marks the posts of a view with ids up to `upTo` as read: first by `target`, then those that are still unread. */
export async function markAllArrived(
  hub: Hub, viewer: Viewer, target: Exclude<MarkTarget, { posts: number[] }> | null, view: ArrivalView, upTo: number,
): Promise<void> {
  const madeAt = hub.clock();
  const act = { id: hub.db.write('begin marking', () => readActs(hub).add(viewer.id, madeAt, true)), madeAt };
  if (target) {
    const marked = await markLists(hub, viewer, { ...listsOf(hub, viewer, target), ...boundsOf(hub, { upTo }) }, act);
    hub.db.write('count marked posts', () => readActs(hub).addByApp(act.id, marked));
  }
  const unread: ArrivalView = { ...view, isRead: false };
  for (let after: number | undefined = upTo + 1; after !== undefined;) {
    const page = await arrivedPosts(hub, viewer, unread, { after, limit: 10 * AT_ONCE, isOldestFirst: false });
    await setManyRead(hub, viewer, page.ids, true, act);
    after = page.next ?? undefined;
  }
}

async function statesOf(hub: Hub, viewer: Viewer, postIds: number[]): Promise<PostState[]> {
  const [ids, states] = [new Set<number>(), [] as PostState[]];
  await eachBatch([...new Set(postIds)], (some) => withDoubles(hub, viewer, some).forEach((id) => ids.add(id)));
  await eachBatch([...ids], (some) => void states.push(...entries(hub).statesOf(viewer, some)));
  return states;
}

async function eachBatch<Value>(values: Value[], act: (batch: Value[]) => void): Promise<void> {
  for (let start = 0; start < values.length; start += AT_ONCE) {
    if (start > 0) await nextTurn();
    act(values.slice(start, start + AT_ONCE));
  }
}
