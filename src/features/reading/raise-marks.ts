import { hasPassed, MINUTE } from '../../platform/clock.ts';
import { nextTurn } from '../../platform/turns.ts';
import { follows } from '../follows/follow-store.ts';
import { once, throttled, type Hub } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { readMarks, readUndo } from './reading-store.ts';

/** From this many read exceptions per unread post, raising the mark and storing unread exceptions needs fewer rows. */
const READ_PER_UNREAD = 16;

/** The last follow that this process handled in its round over all follows. */
const place = once((_hub: Hub) => ({ accountId: 0, sourceId: 0 }));

/** Raises follows' high-water marks past posts read without a gap; removes needless exceptions older than a day. */
export async function raiseMarks(hub: Hub, stopping?: AbortSignal): Promise<void> {
  await throttled(hub)('raise marks of follows', (limit) => raiseSome(hub, limit), () => stopping?.aborted ?? false);
}

/** Handles some follows. Returns the count of handled follows and exceptions; a count below `limit` ends the round. */
function raiseSome(hub: Hub, limit: number): number {
  const at = place(hub);
  for (let done = 0; done < limit; ) {
    const follow = follows(hub).after(at.accountId, at.sourceId);
    if (!follow) {
      Object.assign(at, { accountId: 0, sourceId: 0 });
      return done;
    }
    const removed = raise(hub, follow, limit - done);
    done += 1 + removed;
    if (done <= limit && removed < limit) Object.assign(at, { accountId: follow.accountId, sourceId: follow.sourceId });
  }
  return limit;
}

/** Raises a follow's high-water mark, unless a marking can still be undone. Returns the count of removed exceptions. */
function raise(
  hub: Hub, follow: { accountId: number; sourceId: number; readUpTo: number }, limit: number,
): number {
  const { readUpTo, ...key } = follow;
  if (!readMarks(hub).hasOld(key) || readUndo(hub).hasLive(key.accountId)) return 0;
  return readMarks(hub).removeNeedless(key, raiseOne(hub, follow), limit);
}

/** Raises the high-water mark of one follow as far as possible; returns the mark. */
function raiseOne(hub: Hub, { readUpTo, ...key }: { accountId: number; sourceId: number; readUpTo: number }): number {
  const range = { ...key, after: readUpTo, upTo: posts(hub).nthLast(key.sourceId, 0) };
  const read = readMarks(hub).readAbove(key, readUpTo);
  const isMostRead = read.last !== null
    && readMarks(hub).countUnread({ ...range, upTo: read.last }) * READ_PER_UNREAD <= read.n;
  const gap = readMarks(hub).firstUnread(range);
  const raised = isMostRead ? read.last ?? readUpTo : Math.max(readUpTo, gap === undefined ? range.upTo : gap - 1);
  if (isMostRead) readMarks(hub).putRange({ ...range, upTo: raised, isRead: 0 });
  if (raised > readUpTo) follows(hub).setReadUpTo(key.accountId, key.sourceId, raised);
  return raised;
}

/** Sources that one transaction compacts, and exceptions that it removes for each, in about 10 ms. */
const [SOURCES_AT_ONCE, REMOVED_AT_ONCE] = [20, 1_000];

/** An account's marks are compacted at most this often: compacting 100,000 posts takes 20 ms, an edit alone 2 ms. */
const COMPACTED_EVERY = 10 * MINUTE;

/** When this process last compacted the marks of an account, by account id. */
const compactedAt = once((_hub: Hub) => new Map<number, number>());

/**
 * Makes room for an account's exceptions: raises its high-water marks, and removes needless exceptions at once. Open
 * lists then miss the posts that were read since. Does nothing while the account can undo a marking, and for ten
 * minutes after the last call that did something.
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

/** Compacts one follow. Returns whether no needless exception remains. */
function compactOne(hub: Hub, follow: { accountId: number; sourceId: number; readUpTo: number }): boolean {
  const raised = raiseOne(hub, follow);
  return readMarks(hub).removeNeedless(follow, raised, REMOVED_AT_ONCE, -1) < REMOVED_AT_ONCE;
}
