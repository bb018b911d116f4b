import { accounts } from '../accounts/account-store.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { maySee, type Source } from '../sources/source-store.ts';

/** What happens to a source that others have in their lists: the sentence that each of them is told. */
const HAPPENED = {
  'source.deleted': 'was deleted: it is no longer in your list',
  'source.hidden': 'is private from now on: it is no longer in your list',
  'source.new-owner': 'has a new owner; you follow it as before',
} as const;

/** Where a notification leads that tells of a deleted source: by it what holds its title is found again. */
export function aboutGone(id: number): string {
  return `/sources?gone=${id}`;
}

/** How many others than its owner have a source in their lists that they may read. */
export function countFollowers(hub: Hub, { id, ownerId, visibility }: Source): number {
  return visibility === 'public' ? follows(hub).countOthers(id, ownerId) : 0;
}

/**
 * Tells those who follow a source what happens to it, in the caller's transaction: all who could see it `before`,
 * without its owners and, where it is hidden, those who can still see it.
 */
export function tellFollowers(
  hub: Hub, kind: keyof typeof HAPPENED, before: Source, after: Source | null, except: number[] = [],
): void {
  const { id, title, ownerId } = before;
  const path = kind === 'source.new-owner' ? `/sources/${id}` : kind === 'source.deleted' ? aboutGone(id) : '/sources';
  for (const accountId of follows(hub).others(id, ownerId)) {
    const account = accounts(hub).find(accountId);
    const knows = account && !except.includes(accountId) && maySee(before, account);
    const isUntouched = kind === 'source.hidden' && account && after && maySee(after, account);
    if (!knows || isUntouched) continue;
    notifications(hub).add({ accountId, kind, title: `“${title}” ${HAPPENED[kind]}`, path });
  }
}
