import { setTimeout } from 'node:timers/promises';
import { SECOND, type Clock } from '../../platform/clock.ts';
import { overwritingDeleted, type Db } from '../../platform/db/open-database.ts';
import type { Job } from '../../platform/jobs/job-queue.ts';
import { RetryLaterError, type JobHandler } from '../../platform/jobs/worker.ts';
import type { AccountStore } from './account-store.ts';

export const REMOVE_ACCOUNT = 'remove-account';

/** Sources of the account that are being removed themselves are waited for as long as it takes. */
export const REMOVE_ATTEMPTS = 1_000_000;

const PAUSE_MS = 25;
const WAIT_FOR_SOURCES = 10 * SECOND;

/** Rows of each kind in one transaction. */
const BATCH = 200;

/** An account that has left; `name` stands where its own names stood. */
export type Leaver = { id: number; name: string };

/** Removes up to `limit` rows of one kind, or the names in them; returns how many. */
export type RemovePart = (leaver: Leaver, limit: number) => number;

export type RemoveAccountDeps = {
  db: Db;
  accounts: AccountStore;
  /** What other features keep of an account; given by app. */
  parts: RemovePart[];
  /** A small step at a time, the words of removed posts leave the search index; false when none are left. App's. */
  forgetWords(isFirst: boolean): boolean;
  /** Enqueues a REMOVE_ACCOUNT job; given by app. */
  enqueue(accountId: number): void;
  clock: Clock;
};

export type RemovingAccounts = ReturnType<typeof removingAccounts>;

/** Removes what an account that has left had, in small steps. */
export function removingAccounts({ db, accounts, parts, forgetWords, enqueue, clock }: RemoveAccountDeps) {
  /** Whether nothing is left but the row itself. */
  function removeSome(id: number): boolean {
    const name = accounts.pseudonymOf(id);
    if (name === undefined) return true;
    return parts.map((part) => part({ id, name }, BATCH)).every((removed) => removed < BATCH);
  }

  const step = db.transaction('remove account, a step', (id: number): 'more' | 'waits' | 'done' => {
    if (!removeSome(id)) return 'more';
    if (accounts.hasSources(id)) return 'waits';
    accounts.delete(id);
    return 'done';
  });

  /** Safe to repeat: it goes on where it was. */
  async function run(job: Job, signal: AbortSignal): Promise<void> {
    const { accountId } = job.payload as { accountId: number };
    let state = 'more';
    await inSteps(() => (state = overwritingDeleted(db, () => step(accountId))) === 'more', signal);
    if (state === 'waits') throw new RetryLaterError('its sources are being removed', clock() + WAIT_FOR_SOURCES);
    let isFirst = true;
    await inSteps(() => {
      const areLeft = overwritingDeleted(db, () => forgetWords(isFirst));
      isFirst = false;
      return areLeft;
    }, signal);
  }

  return {
    /** In the transaction in which the account leaves: removes a first part, which for most is all. */
    begin(accountId: number): void {
      removeSome(accountId);
      enqueue(accountId);
    },

    handler: { concurrency: 1, run } satisfies JobHandler,
  };
}

/** Goes on as long as `step` wants more, with pauses in which a process that waits for the write lock gets it. */
async function inSteps(step: () => boolean, signal: AbortSignal): Promise<void> {
  for (;;) {
    const began = performance.now();
    if (!step()) return;
    await setTimeout(Math.max(PAUSE_MS, performance.now() - began), undefined, { signal });
  }
}
