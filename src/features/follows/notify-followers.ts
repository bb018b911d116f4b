import { accounts } from '../accounts/account-store.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { maySee, sources, type Source } from '../sources/source-store.ts';
import { follows } from './follow-store.ts';

/**
 * Tells those followers of a source who want to hear of it, in the caller's transaction, of so many new posts: one
 * notification for all that came together. `authorId` wrote them on this hub and is not told.
 */
export function notifyFollowers(hub: Hub, sourceId: number, posts: number, authorId: number | null = null): void {
  const followers = follows(hub).toTell(sourceId).filter((id) => id !== authorId);
  const source = followers.length > 0 ? sources(hub).find(sourceId) : undefined;
  if (!source) return;
  const title = (n: number): string => `${n} new ${n === 1 ? 'post' : 'posts'} in “${source.title}”`;
  for (const accountId of followers) {
    if (!maySeeNow(hub, source, accountId)) continue;
    notifications(hub).addPosts({ accountId, kind: 'source.posts', path: `/sources/${sourceId}` }, posts, title);
  }
}

/** Who followed a source while it was public, or as an administrator, may not see it any more. */
function maySeeNow(hub: Hub, source: Source, accountId: number): boolean {
  if (source.visibility === 'public') return true;
  const account = accounts(hub).find(accountId);
  return account !== undefined && maySee(source, account);
}
