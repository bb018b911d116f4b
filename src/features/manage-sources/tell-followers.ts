import { accounts } from '../accounts/account-store.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { maySee, type Source } from '../sources/source-store.ts';

const HAPPENED = {
  'source.deleted': 'was deleted and is no longer in your list',
  'source.hidden': 'is now private and no longer in your list',
  'source.new-address': 'now comes from another address; you still follow it',
  'source.new-owner': 'has a new owner; you still follow it',
} as const;

const REMOVED_AT_ONCE = 100;

/** The path of notifications about a deleted source, by which `leave-hub.ts` finds and removes them. */
export function aboutGone(id: number): string {
  return `/sources?gone=${id}`;
}

/** Where a member answers the offer of a source. */
export function offersPath(sourceId: number): string {
  return `/offers#source-${sourceId}`;
}

/** Removes what told the receiver of an offer that has ended. */
export function forgetOffered(hub: Hub, sourceId: number): void {
  notifications(hub).removeAbout(offersPath(sourceId), REMOVED_AT_ONCE);
}

/** Without the owner; 0 for a private source. */
export function countFollowers(hub: Hub, { id, ownerId, visibility }: Source): number {
  return visibility === 'public' ? follows(hub).countOthers(id, ownerId) : 0;
}

/**
 * Notifies the followers of a source who could see it `before`, except its owner then and the accounts in `except`, in
 * the caller's transaction. Followers who can still see the source, although it is now hidden, get no notification.
 */
export function tellFollowers(
  hub: Hub, kind: keyof typeof HAPPENED, before: Source, after: Source | null, except: number[] = [],
): void {
  const { id, title, ownerId } = before;
  const path = kind === 'source.deleted' ? aboutGone(id) : kind === 'source.hidden' ? '/sources' : `/sources/${id}`;
  for (const accountId of follows(hub).others(id, ownerId)) {
    const account = accounts(hub).find(accountId);
    const knows = account && !except.includes(accountId) && maySee(before, account);
    const isUntouched = kind === 'source.hidden' && account && after && maySee(after, account);
    if (!knows || isUntouched) continue;
    notifications(hub).add({ accountId, senderId: ownerId, kind, title: `“${title}” ${HAPPENED[kind]}`, path });
  }
}
