import { follows } from '../follows/follow-store.ts';
import { once, throttled, type Hub } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { readMarks, readUndo } from './reading-store.ts';

/**
 * If a source has this many read exceptions per unread post, raising the high-water mark and storing exceptions for the
 * unread posts takes fewer rows.
 */
const READ_PER_UNREAD = 16;

/** The last follow that this process handled in its round over all follows. */
const place = once((_hub: Hub) => ({ accountId: 0, sourceId: 0 }));

/**
 * Raises the high-water mark (read_up_to) of each follow past posts that are read without a gap, and removes exceptions
 * that become needless. Exceptions of the last day stay, because open lists still use them.
 */
export async function raiseMarks(hub: Hub, stopping?: AbortSignal): Promise<void> {
  await throttled(hub)('raise marks of follows', (limit) => raiseSome(hub, limit), () => stopping?.aborted ?? false);
}

/**
 * Handles some follows. Returns the number of handled follows and exceptions; a number below `limit` ends the round
 * over all follows.
 */
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

/**
 * Raises the high-water mark of one follow, unless its account can still undo a marking as read. Returns the number of
 * removed exceptions.
 */
function raise(
  hub: Hub, follow: { accountId: number; sourceId: number; readUpTo: number }, limit: number,
): number {
  const { readUpTo, ...key } = follow;
  if (!readMarks(hub).hasOld(key) || readUndo(hub).hasLive(key.accountId)) return 0;
  const range = { ...key, after: readUpTo, upTo: posts(hub).nthLast(key.sourceId, 0) };
  const read = readMarks(hub).readAbove(key, readUpTo);
  const isMostRead = read.last !== null
    && readMarks(hub).countUnread({ ...range, upTo: read.last }) * READ_PER_UNREAD <= read.n;
  const gap = readMarks(hub).firstUnread(range);
  const raised = isMostRead ? read.last ?? readUpTo : Math.max(readUpTo, gap === undefined ? range.upTo : gap - 1);
  if (isMostRead) readMarks(hub).putRange({ ...range, upTo: raised, isRead: 0 });
  if (raised > readUpTo) follows(hub).setReadUpTo(key.accountId, key.sourceId, raised);
  return readMarks(hub).removeNeedless(key, raised, limit);
}
