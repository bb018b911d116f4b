import { hasPassed, MINUTE } from '../../platform/clock.ts';
import { nextTurn } from '../../platform/turns.ts';
import { follows } from '../follows/follow-store.ts';
import { once, throttled, type Hub } from '../hub/hub.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { readMarks, readUndo } from './reading-store.ts';

/** From this many read posts per unread one above a high-water mark, it is raised past them to save rows. */
const READ_PER_UNREAD = 16;

type FollowMark = { accountId: number; sourceId: number; readUpTo: number };

const cursor = once((_hub: Hub) => ({ accountId: 0, sourceId: 0 }));

/** Raises follows' high-water marks past read posts, and removes read-state exceptions that have become needless. */
export async function raiseMarks(hub: Hub, stopping?: AbortSignal): Promise<void> {
  await throttled(hub)('raise high-water marks', (limit) => raiseSome(hub, limit), () => stopping?.aborted ?? false);
}

/** Returns `limit`; after the last follow less: the number of follows passed and read-state exceptions removed. */
function raiseSome(hub: Hub, limit: number): number {
  const at = cursor(hub);
  for (let done = 0; done < limit; ) {
    const follow = follows(hub).after(at.accountId, at.sourceId);
    if (!follow) {
      Object.assign(at, { accountId: 0, sourceId: 0 });
      return done;
    }
    const removed = compactOldFollow(hub, follow, limit - done);
    done += 1 + removed;
    if (done <= limit && removed < limit) Object.assign(at, { accountId: follow.accountId, sourceId: follow.sourceId });
  }
  return limit;
}

/** Compacts a follow that has old marks, unless a marking can still be undone; returns how many marks it removed. */
function compactOldFollow(hub: Hub, follow: FollowMark, limit: number): number {
  const { readUpTo, ...key } = follow;
  if (!readMarks(hub).hasOld(key) || readUndo(hub).hasLive(key.accountId)) return 0;
  return readMarks(hub).removeNeedless(key, raiseReadUpTo(hub, follow), limit);
}

function raiseReadUpTo(hub: Hub, { readUpTo, ...key }: FollowMark): number {
  const range = { ...key, after: readUpTo, upTo: sourcePosts(hub).nthLast(key.sourceId, 0) };
  const read = readMarks(hub).readAbove(key, readUpTo);
  const isMostRead = read.last !== null
    && readMarks(hub).countUnread({ ...range, upTo: read.last }) * READ_PER_UNREAD <= read.n;
  const gap = readMarks(hub).firstUnread(range);
  const raised = isMostRead ? read.last ?? readUpTo : Math.max(readUpTo, gap === undefined ? range.upTo : gap - 1);
  if (isMostRead) readMarks(hub).putRange({ ...range, upTo: raised, isRead: 0 });
  if (raised > readUpTo) follows(hub).setReadUpTo(key.accountId, key.sourceId, raised);
  return raised;
}

/** Sources per transaction, and exceptions removed of each. 1,000 take about 10 ms. */
const [SOURCES_AT_ONCE, REMOVED_AT_ONCE] = [20, 1_000];

/** `compactMarks` runs at most this often for one account: for 100,000 marked posts, it takes 20 ms. */
const COMPACTED_EVERY = 10 * MINUTE;
const compactedAt = once((_hub: Hub) => new Map<number, number>());

/**
 * Raises the account's high-water marks and removes needless read-state exceptions, so that it can mark more posts one
 * by one. Changes nothing while a marking can be undone, or within COMPACTED_EVERY of its last run.
 */
export async function compactMarks(hub: Hub, accountId: number): Promise<void> {
  const [last, now] = [compactedAt(hub).get(accountId), hub.clock()];
  const isTooEarly = last !== undefined && !hasPassed(last, COMPACTED_EVERY, now);
  if (isTooEarly || readUndo(hub).hasLive(accountId)) return;
  compactedAt(hub).set(accountId, now);
  let after = 0;
  let done = false;
  while (!done && !readUndo(hub).hasLive(accountId)) {
    hub.db.write('compact marks', () => {
      const next = follows(hub).listOf(accountId, after, SOURCES_AT_ONCE);
      const isWhole = next.every((follow) => compactOne(hub, { accountId, ...follow }));
      done = next.length < SOURCES_AT_ONCE && isWhole;
      if (isWhole) after = next.at(-1)?.sourceId ?? after;
    });
    await nextTurn();
  }
}

function compactOne(hub: Hub, follow: FollowMark): boolean {
  const raised = raiseReadUpTo(hub, follow);
  return readMarks(hub).removeNeedless(follow, raised, REMOVED_AT_ONCE, 0) < REMOVED_AT_ONCE;
}
