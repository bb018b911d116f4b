import { SECOND } from '../../platform/clock.ts';
import { overwritingDeleted } from '../../platform/db/open-database.ts';
import { RetryLaterError } from '../../platform/jobs/in-flight-jobs.ts';
import { accounts } from '../accounts/account-store.ts';
import { leavers, type Leaver, type Thing } from '../audit/audit-store.ts';
import { follows } from '../follows/follow-store.ts';
import { throttled, type Hub } from '../hub/hub.ts';
import { enqueue, type JobKind } from '../hub/job-kind.ts';
import { notifications } from '../notifications/notification-store.ts';
import { posts } from '../posts/post-store.ts';
import { readingHistory } from '../posts/reading-history-store.ts';
import { searchIndex } from '../posts/search-index-store.ts';
import { sources } from '../sources/source-store.ts';

const WAIT_FOR_SOURCES = 10 * SECOND;

/** Rows of each kind that are removed when an account leaves: for most people that is all. */
const FIRST_BATCH = 200;

/** Removes what an account that has left had, a small step at a time, and then its row. */
export const removeAccount: JobKind<{ accountId: number }> = {
  name: 'remove-account',
  key: ({ accountId }) => String(accountId),
  attempts: 1_000_000, // sources that are being removed themselves are waited for as long as it takes
  concurrency: 1,
  afterRestore: 'run',
  async run(hub, { accountId }, signal) {
    await inSteps(hub, 'remove account, some steps', signal, (limit) => removeSome(hub, accountId, limit));
    if (sources(hub).ownsAny(accountId)) {
      throw new RetryLaterError('its sources are being removed', hub.clock() + WAIT_FOR_SOURCES);
    }
    overwritingDeleted(hub.db, () => accounts(hub).delete(accountId));
    let isFirst = true;
    await inSteps(hub, 'forget words, some steps', signal, (limit) => {
      const isMore = searchIndex(hub).forgetRemoved(isFirst);
      isFirst = false;
      return isMore ? limit : 0;
    });
  },
};

/** In the transaction in which the account leaves: removes a first part of what it had and enqueues the rest. */
export function beginRemoval(hub: Hub, accountId: number): void {
  removeSome(hub, accountId, FIRST_BATCH);
  enqueue(hub, removeAccount, { accountId });
}

/** Repeats `some` until less than it may is left; what it deletes is overwritten in the file. */
async function inSteps(
  hub: Hub, name: string, signal: AbortSignal, some: (limit: number) => number,
): Promise<void> {
  // A savepoint for each step: when it ends the search index writes, and so overwrites, what it frees.
  const overwriting = (limit: number): number =>
    overwritingDeleted(hub.db, () => hub.db.write(name, () => some(limit)));
  await throttled(hub)(name, overwriting, () => signal.aborted);
  signal.throwIfAborted();
}

/** Removes up to `limit` rows of each kind, or the names in them; fewer than `limit` when nothing is left. */
function removeSome(hub: Hub, id: number, limit: number): number {
  const name = accounts(hub).pseudonymOf(id);
  if (name === undefined) return 0;
  return Math.max(
    follows(hub).removeOf(id, limit),
    readingHistory(hub).removeOf(id, limit),
    notifications(hub).removeOf(id, limit),
    hideNames(hub, { id, name }, limit),
  );
}

/** Takes names out of the audit records. Titles may hold one too: those of what is gone with its owner are hidden. */
function hideNames(hub: Hub, leaver: Leaver, limit: number): number {
  for (const thing of leavers(hub).thingsOf(leaver.id, limit)) {
    if (!isThere(hub, thing)) leavers(hub).hideTitle(leaver.id, thing);
  }
  return leavers(hub).hideNames(leaver, limit);
}

/** Whether it is there, and so another's: who leaves owns nothing any more. */
function isThere(hub: Hub, { kind, id }: Thing): boolean {
  return kind === 'source' ? sources(hub).find(id) !== undefined : posts(hub).exists(id);
}
