import { accounts as accountsOf } from '../features/accounts/account-store.ts';
import { REMOVE_ACCOUNT, REMOVE_ATTEMPTS, removingAccounts } from '../features/accounts/remove-account.ts';
import { createLeaverStore } from '../features/audit/leaver-store.ts';
import { follows as followsOf } from '../features/follows/follow-store.ts';
import { readingHistory as readingHistoryOf } from '../features/posts/reading-history-store.ts';
import type { notifications as notificationsOf } from '../features/notifications/notification-store.ts';
import type { SearchIndexStore } from '../features/posts/search-index-store.ts';
import type { JobQueue } from '../platform/jobs/job-queue.ts';
import type { Surroundings } from './app.ts';

type Needs = Pick<Surroundings, 'db' | 'clock'> & {
  hub: Surroundings;
  jobs: JobQueue;
  notifications: ReturnType<typeof notificationsOf>;
  searchIndex: SearchIndexStore;
};

export type People = ReturnType<typeof createPeople>;

/** What the hub keeps for and tells to its people, and how that goes when they leave. */
export function createPeople({ hub, db, clock, jobs, notifications, searchIndex }: Needs) {
  const follows = followsOf(hub);
  const history = readingHistoryOf(hub);
  const removing = removingAccounts({
    db, clock,
    accounts: accountsOf(hub),
    parts: [
      ({ id }, limit) => follows.removeOf(id, limit),
      ({ id }, limit) => history.removeOf(id, limit),
      ({ id }, limit) => notifications.removeOf(id, limit),
      createLeaverStore(db).hideNames,
    ],
    forgetWords: searchIndex.forgetRemoved,
    enqueue: (accountId) => void jobs.enqueue({
      kind: REMOVE_ACCOUNT, payload: { accountId }, dedupeKey: String(accountId), maxAttempts: REMOVE_ATTEMPTS,
    }),
  });

  return {
    follows,
    history,
    removingAccounts: removing,
    handlers: { [REMOVE_ACCOUNT]: removing.handler },
  };
}
