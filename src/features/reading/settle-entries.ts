import type { Hub } from '../hub/hub.ts';
import { settling, type Due, type FollowKey } from './settle-store.ts';

/** Lists have at most this many posts of a followed source, the newest. */
export const POSTS_MAX = 20_000;

/** How many entries the request that changes a follow settles, in about 10 ms; the worker settles the others. */
const AT_ONCE = 1_000;

/** Adds, moves or removes entries of a changed follow, in the caller's transaction; of a large source only some. */
export function settleNow(hub: Hub, follow: FollowKey): void {
  const due = settling(hub).due(follow);
  if (due) settleSome(hub, due, AT_ONCE);
}

/** Moves entries of a source whose visibility or owner has changed, in the caller's transaction; of many, only some. */
export function settleSourceNow(hub: Hub, sourceId: number): void {
  settleAll(hub, () => settling(hub).nextOf(sourceId), AT_ONCE);
}

export const hasDueEntries = (hub: Hub): boolean => settling(hub).next() !== undefined;
export const hasLateEntries = (hub: Hub): boolean => settling(hub).late() !== undefined;

/** Scheduled task: settles up to `limit` entries of changed follows; returns how many, or `limit` if more may wait. */
export function settleEntries(hub: Hub, limit: number): number {
  return settleAll(hub, settling(hub).next, limit);
}

/** A follow of which nothing is to change counts like so many entries: to look through 20,000 takes about a ms. */
const LEAST_WORK = 50;

function settleAll(hub: Hub, next: () => Due | undefined, limit: number): number {
  for (let done = 0; done < limit;) {
    const follow = next();
    if (!follow) return done;
    done += Math.max(LEAST_WORK, settleSome(hub, follow, limit - done));
  }
  return limit;
}

/** Makes the entries of a follow agree with it and with what its account may see; returns how many it changed. */
function settleSome(hub: Hub, { isNew, ...follow }: Due, limit: number): number {
  const placed = settling(hub).placeOf(follow);
  const { place, readUpTo } = placed ?? { place: 0, readUpTo: 0 };
  let changed = placed ? 0 : settling(hub).drop({ ...follow, limit });
  changed += settling(hub).move({ ...follow, place, limit: limit - changed });
  const isToAdd = placed !== undefined && isNew === 1;
  if (isToAdd) changed += settling(hub).add({ ...follow, place, readUpTo, most: POSTS_MAX, limit: limit - changed });
  if (changed < limit) settling(hub).done(follow);
  return changed;
}

/** So many posts of a source are added for a follower before the next one's lists are touched. */
const LATE_TOGETHER = 100;

/**
 * Scheduled task: gives new posts to followers beyond the first 32 (trigger `entries_of_post`); returns `limit` if more
 * may wait.
 */
export function addLateEntries(hub: Hub, limit: number): number {
  for (let done = 0; done < limit;) {
    const late = settling(hub).late();
    if (!late) return done;
    const posts = settling(hub).lateWith({ ...late, limit: LATE_TOGETHER }).map(({ id }) => id);
    const accounts = Math.max(1, Math.floor((limit - done) / posts.length));
    const step = { ...late, ids: JSON.stringify(posts), accounts };
    const next = settling(hub).nextFollower(step);
    done += Math.max(1, settling(hub).addLate(step));
    if (next) settling(hub).wait(next.id, step.ids);
    else settling(hub).reached(step.ids);
  }
  return limit;
}

/** Removes up to `limit` entries of a source that is being removed, because each of its posts may have many. */
export function dropEntriesOf(hub: Hub, sourceId: number, limit: number): number {
  return settling(hub).dropOfSource(sourceId, limit);
}
