import { DAY } from '../../platform/clock.ts';
import { follows } from '../follows/follow-store.ts';
import { once, type Hub } from '../hub/hub.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { POSTS_MAX } from './settle-entries.ts';
import { trimming } from './trim-store.ts';

/** An account has at most this many entries; starred and muted posts stay in any case. */
const ENTRIES_MAX = 1_000_000;

/** Scheduled task: forgets when posts were read after READING_HISTORY_RETENTION_DAYS; they stay read. */
export function forgetReadTimes(hub: Hub, limit: number): number {
  const days = hub.config.readingHistoryRetentionDays;
  return days === 0 ? 0 : trimming(hub).forget({ before: hub.clock() - days * DAY, limit });
}

/** Counting a follow anew takes 0.6 ms at most, and counts as so many rows. */
const RECOUNT_WORK = 10;

const START = { accountId: 0, sourceId: 0 };
const trimmedTo = once((_hub: Hub) => ({ ...START }));
const countedTo = once((_hub: Hub) => ({ ...START }));

/**
 * Scheduled task: takes the oldest posts out of lists that have too many; they count as read from then on. Returns less
 * than `limit` at its end.
 */
export function trimEntries(hub: Hub, limit: number, most = { ofSource: POSTS_MAX, ofAccount: ENTRIES_MAX }): number {
  const at = trimmedTo(hub);
  for (let done = 0; done < limit; done++) {
    const follow = trimming(hub).next(at.accountId, at.sourceId);
    if (!follow) {
      Object.assign(at, START);
      return done;
    }
    const isNext = follow.accountId !== at.accountId;
    const beyond = sourcePosts(hub).nthLast(follow.sourceId, most.ofSource); // 0: the source has no more posts
    const trimmed = beyond === 0 ? [] : trimming(hub).ofSource({ ...follow, beyond, limit: limit - done });
    const ofAccount = { ...follow, most: most.ofAccount, limit: limit - done - trimmed.length };
    if (isNext) trimmed.push(...trimming(hub).ofAccount(ofAccount));
    follows(hub).raiseReadUpTo(follow.accountId, follow.sourceId, beyond);
    for (const { sourceId, postId } of trimmed) follows(hub).raiseReadUpTo(follow.accountId, sourceId, postId);
    done += trimmed.length;
    if (done < limit) Object.assign(at, follow);
  }
  return limit;
}

/** Scheduled task: counts the unread posts of some follows anew. */
export function recountUnread(hub: Hub, limit: number): number {
  const at = countedTo(hub);
  for (let done = 0; done < limit; done += RECOUNT_WORK) {
    const follow = trimming(hub).next(at.accountId, at.sourceId);
    if (!follow) {
      Object.assign(at, START);
      return done;
    }
    trimming(hub).recount(follow);
    Object.assign(at, follow);
  }
  return limit;
}
