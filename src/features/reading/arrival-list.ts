import type { Viewer } from '../../platform/http/router.ts';
import { nextTurn } from '../../platform/turns.ts';
import { asking } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { arrivals } from './arrival-store.ts';

/** `sources`: those whose posts are wanted. `since`, `until`: unix ms of arrival. */
export type ArrivalView = {
  sources: number[];
  isRead?: boolean | undefined;
  isStarred?: boolean | undefined;
  since?: number | undefined;
  until?: number | undefined;
};

/** How many post ids the first query for a page of arrived posts examines, and each later query at most (25 ms). */
const FIRST_STEP = 4_096;
const LONGEST_STEP = 16_384;
const FEW = 500;

/** Post ids by arrival, after the post `after` in that order. `next`: the page's last id; null if no post follows. */
export async function arrivedPosts(
  hub: Hub, viewer: Viewer, view: ArrivalView,
  { after, limit, isOldestFirst }: { after?: number | undefined; limit: number; isOldestFirst: boolean },
): Promise<{ ids: number[]; next: number | null }> {
  let [from, to] = boundsOf(hub, view);
  if (after !== undefined) [from, to] = isOldestFirst ? [Math.max(from, after + 1), to] : [from, Math.min(to, after)];
  const ids: number[] = [];
  for (let step = view.isStarred ? Infinity : FIRST_STEP; from < to && ids.length <= limit;) {
    if (ids.length > 0 || step > FIRST_STEP) await nextTurn();
    // From one existing id to the next: a restore leaves a large gap of ids, deletions leave smaller ones.
    if (isOldestFirst) from = posts(hub).firstFrom(from) ?? to;
    else to = posts(hub).lastBefore(to) + 1;
    if (from >= to) break;
    const range = isOldestFirst ? { from, to: Math.min(to, from + step) } : { from: Math.max(from, to - step), to };
    const found = select(hub, viewer, view, { ...range, isOldestFirst, limit: limit + 1 - ids.length });
    ids.push(...found);
    if (isOldestFirst) from = range.to;
    else to = range.from;
    if (found.length < FEW) step = Math.min(LONGEST_STEP, step * 2);
  }
  return { ids: ids.slice(0, limit), next: ids.length > limit ? ids[limit - 1] ?? null : null };
}

type Range = { from: number; to: number; isOldestFirst: boolean; limit: number };

function select(hub: Hub, viewer: Viewer, view: ArrivalView, { isOldestFirst, ...range }: Range): number[] {
  const { sources, isRead, isStarred } = view;
  const { starred, unread, all } = arrivals(hub)[isOldestFirst ? 'up' : 'down'];
  const query = isStarred ? starred : isRead === false ? unread : all;
  const state = { isRead: toNumber(isRead), isStarred: toNumber(isStarred) };
  const among = JSON.stringify(sources);
  return query({ ...asking(viewer), ...range, ...state, sources: among }).map(({ id }) => id);
}

function toNumber(flag: boolean | undefined): number | null {
  return flag === undefined ? null : Number(flag);
}

function boundsOf(hub: Hub, { since, until }: ArrivalView): [from: number, to: number] {
  const end = posts(hub).lastId() + 1;
  const from = since === undefined ? 1 : posts(hub).firstSince(since) ?? end;
  return [from, until === undefined ? end : posts(hub).firstSince(until + 1) ?? end];
}
