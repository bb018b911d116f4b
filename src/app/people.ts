import { createAccountStore } from '../features/accounts/account-store.ts';
import { REMOVE_ACCOUNT, REMOVE_ATTEMPTS, removingAccounts } from '../features/accounts/remove-account.ts';
import type { AuditStore } from '../features/audit/audit-store.ts';
import { createLeaverStore } from '../features/audit/leaver-store.ts';
import { createFollowStore } from '../features/follows/follow-store.ts';
import { createHistoryStore } from '../features/history/history-store.ts';
import type { NotificationStore } from '../features/notifications/notification-store.ts';
import type { SearchIndexStore } from '../features/posts/search-index-store.ts';
import type { SourceStore } from '../features/sources/source-store.ts';
import type { JobQueue } from '../platform/jobs/job-queue.ts';
import type { Surroundings } from './app.ts';
import { createNotices } from './notices.ts';

type Needs = Pick<Surroundings, 'db' | 'clock'> & {
  jobs: JobQueue;
  audit: AuditStore;
  notifications: NotificationStore;
  sources: SourceStore;
  searchIndex: SearchIndexStore;
};

export type People = ReturnType<typeof createPeople>;

/** What the hub keeps for and tells to its people, and how that goes when they leave. */
export function createPeople({ db, clock, jobs, audit, notifications, sources, searchIndex }: Needs) {
  const follows = createFollowStore(db, clock);
  const history = createHistoryStore(db, clock);
  const removing = removingAccounts({
    db, clock,
    accounts: createAccountStore(db, clock),
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
    audit,
    follows,
    history,
    notices: createNotices({ notifications, follows, sources }),
    removingAccounts: removing,
    handlers: { [REMOVE_ACCOUNT]: removing.handler },
  };
}
