import { randomBytes } from 'node:crypto';
import { SECOND } from '../../platform/clock.ts';
import { emptyLog } from '../../platform/db/open-database.ts';
import { field } from '../../platform/http/fields.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { RetryLaterError } from '../../platform/jobs/run-job.ts';
import { accounts, invitations, type Role } from '../accounts/account-store.ts';
import { passwordLinks, revokeCredentials, signInNetworks } from '../accounts/credential-store.ts';
import { checkPassword, confirmation, currentPassword } from '../accounts/passwords.ts';
import { leavers, type Leaver, type Thing } from '../audit/audit-store.ts';
import { audit, type By } from '../audit/audit.ts';
import { follows } from '../follows/follow-store.ts';
import { fullTexts } from '../full-text/full-text-store.ts';
import { once, enqueue, jobs, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import type { SteppedTable } from '../hub/tables.ts';
import { imports } from '../manage-sources/import-store.ts';
import { aboutGone } from '../manage-sources/tell-followers.ts';
import { notifications } from '../notifications/notification-store.ts';
import { drafts } from '../writing/draft-store.ts';
import { postReaders } from '../posts/post-readers-store.ts';
import { posts } from '../posts/post-store.ts';
import { entries, readActs } from '../reading/entry-store.ts';
import { readingHistory } from '../reading/reading-history-store.ts';
import { savedSearches } from '../reading/saved-search-store.ts';
import { rules } from '../rules/rule-store.ts';
import { searchIndex } from '../posts/search-index-store.ts';
import { sources, type Source } from '../sources/source-store.ts';

export const LEAVE_CONFIRMATION = 'DELETE';

export const LEAVING = {
  password: currentPassword,
  confirmation: field({ type: 'string', const: LEAVE_CONFIRMATION }, (input, name) =>
    (input.value(name) === LEAVE_CONFIRMATION ? true : input.refuse(name, `must be ${LEAVE_CONFIRMATION}.`))),
};

export type OwnedSource = Pick<Source, 'id' | 'title'>;

/** Throws 403 for a wrong password; see also `checkPassword` and `obstacleToLeaving`. */
export async function leaveHub(hub: Hub, password: string, by: By): Promise<void> {
  const done = await checkPassword(hub, confirmation(password, by), ({ id, role }) => {
    by.recheck();
    const obstacle = obstacleToLeaving(hub, { id, role });
    if (obstacle) throw obstacle;
    depart(hub, id, role);
  });
  if (!done) throw new HttpError(403, 'The password is wrong.');
}

function depart(hub: Hub, id: number, role: Role): void {
  const name = `left:${randomBytes(4).toString('hex')}`; // no member's sign-in name has a colon
  revokeCredentials(hub, id);
  signInNetworks(hub).removeOf(id);
  invitations(hub).removeOf(id);
  if (role === 'admin') passwordLinks(hub).removeAll();
  accounts(hub).depart(id, name);
  removeSome(hub, id, FIRST_BATCH);
  enqueue(hub, removeAccount, { accountId: id });
  audit(hub, 'account.deleted', { id: null, name, address: null }, { kind: 'account', id: null, name });
}

/** The 409 that says why an account cannot be deleted; undefined if it can. */
export function obstacleToLeaving(hub: Hub, { id, role }: Pick<Viewer, 'id' | 'role'>): HttpError | undefined {
  const owned = ownedSources(hub, id);
  if (owned.length > 0) {
    return new HttpError(409, 'Transfer or delete your sources first.', { members: { sources: owned } });
  }
  if (role === 'admin' && !accounts(hub).hasOtherAdmin(id)) {
    return new HttpError(409, 'You are the last administrator. Make somebody else one first.');
  }
  return undefined;
}

/** Without those that are being removed. */
export function ownedSources(hub: Hub, accountId: number): OwnedSource[] {
  return sources(hub).listOwned(accountId, 0, Number.MAX_SAFE_INTEGER).map(({ id, title }) => ({ id, title }));
}

const WAIT_FOR_SOURCES = 10 * SECOND;

/** Readers of the database keep the write-ahead log from being emptied. */
const WAIT_FOR_READERS = 5 * SECOND;

/** Deleted accounts whose words this process has removed from the search index: a retried job skips the removal. */
const forgotten = once((_hub: Hub) => new Set<number>());

/** The request that deletes an account removes up to this many rows of each table at once. */
const FIRST_BATCH = 200;

/** Job: removes the data of a deleted account in small steps, then its row, then its words from the search index. */
export const removeAccount: JobKind<{ accountId: number }> = {
  name: 'remove-account',
  key: ({ accountId }) => String(accountId),
  attempts: 1_000_000, // removing an account may wait for days, until its sources are removed and long reads end
  concurrency: 1,
  afterRestore: 'run',
  stores: false,
  async run(hub, { accountId }, signal, job) {
    let rows = 0;
    await repeatThrottled(hub, 'remove an account in some steps', signal, (limit) => {
      const removed = removeSome(hub, accountId, limit);
      if (removed > 0) jobs(hub).noteProgress(job.id, rows += removed, null);
      return removed;
    });
    if (sources(hub).ownsAny(accountId) || postReaders(hub).ownsAny(accountId)) {
      throw new RetryLaterError('the account’s sources are not removed yet', hub.clock() + WAIT_FOR_SOURCES);
    }
    accounts(hub).delete(accountId);
    if (!forgotten(hub).has(accountId)) await forgetWords(hub, signal);
    forgotten(hub).add(accountId);
    if (!emptyLog(hub.db)) throw new RetryLaterError('the write-ahead log has readers', hub.clock() + WAIT_FOR_READERS);
    forgotten(hub).delete(accountId);
  },
};

async function forgetWords(hub: Hub, signal: AbortSignal): Promise<void> {
  for (const index of [searchIndex(hub), fullTexts(hub)]) {
    let isFirst = true;
    await repeatThrottled(hub, 'remove words from the search index in some steps', signal, (limit) => {
      const isMore = index.forgetRemoved(isFirst);
      isFirst = false;
      return isMore ? limit : 0;
    });
  }
}

async function repeatThrottled(
  hub: Hub, name: string, signal: AbortSignal, some: (limit: number) => number,
): Promise<void> {
  await throttled(hub)(name, some, () => signal.aborted);
  signal.throwIfAborted();
}

/** Returns less than `limit` if no rows of the account are left. */
function removeSome(hub: Hub, id: number, limit: number): number {
  const name = accounts(hub).pseudonymOf(id);
  if (name === undefined) return 0;
  const removed = Object.values(OWN_ROWS).map((rows) => rows(hub).removeOf(id, limit));
  return Math.max(...removed, notifications(hub).forgetSender(id, limit), hideNames(hub, { id, name }, limit));
}

type OwnRows = (hub: Hub) => { removeOf(id: number, limit: number): number };

const OWN_ROWS: Record<SteppedTable, OwnRows> = {
  drafts, follows, imports, reading_history: readingHistory, entries, read_acts: readActs, rules,
  saved_searches: savedSearches, notifications,
};

/** Hides the leaver's names in the audit log, and titles of deleted sources and posts, which may contain names. */
function hideNames(hub: Hub, leaver: Leaver, limit: number): number {
  for (const thing of leavers(hub).thingsOf(leaver.id, limit)) {
    if (isThere(hub, thing)) continue;
    leavers(hub).hideTitle(leaver.id, thing);
    if (thing.kind === 'source') notifications(hub).removeAbout(aboutGone(thing.id), limit);
  }
  return leavers(hub).hideNames(leaver, limit);
}

function isThere(hub: Hub, { kind, id }: Thing): boolean {
  return kind === 'source' ? sources(hub).find(id) !== undefined : posts(hub).exists(id);
}
