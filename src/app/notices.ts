import type { FollowStore } from '../features/follows/follow-store.ts';
import type {
  NewNotification, notifications as notificationsOf,
} from '../features/notifications/notification-store.ts';
import type { Source, SourceStore } from '../features/sources/source-store.ts';

type Needs = { notifications: ReturnType<typeof notificationsOf>; follows: FollowStore; sources: SourceStore };

export type Notices = ReturnType<typeof createNotices>;

/** What the hub tells whom, each within the transaction of what it tells of. People's names are never in it. */
export function createNotices({ notifications, follows, sources }: Needs) {
  function tell(accountId: number, kind: string, title: string, path: string): void {
    notifications.add({ accountId, kind, title, path } satisfies NewNotification);
  }

  function tellOwner(sourceId: number, kind: string, title: (source: Source) => string): void {
    const source = sources.find(sourceId);
    if (source) tell(source.ownerId, kind, title(source), `/sources/${sourceId}`);
  }

  return {
    /** New posts of a source: one notification for all that came together. `authorId` wrote them here, and knows. */
    newPosts(sourceId: number, posts: number, authorId: number | null = null): void {
      const followers = follows.followersOf(sourceId).filter((id) => id !== authorId);
      const source = followers.length > 0 ? sources.find(sourceId) : undefined;
      if (!source) return;
      const title = (n: number): string => `${n} new ${n === 1 ? 'post' : 'posts'} in “${source.title}”`;
      for (const accountId of followers) {
        notifications.addPosts({ accountId, kind: 'source.posts', path: `/sources/${sourceId}` }, posts, title);
      }
    },

    sourceFailing: (sourceId: number): void =>
      tellOwner(sourceId, 'source.failing', ({ title }) => `“${title}” cannot be synchronised; the hub goes on trying`),

    sourceGone: (sourceId: number): void => tellOwner(sourceId, 'source.gone', ({ title }) =>
      `“${title}” is paused: its publisher says that it is gone for good`),

    transferred({ id, title, kind, ownerId }: Source, newOwnerId: number): void {
      // Whoever had it knows the secret.
      const advice = kind === 'webhook' ? '. Make a new secret for it: the one before you knows the present one' : '';
      tell(ownerId, 'source.transferred', `“${title}” belongs to somebody else now`, '/sources');
      tell(newOwnerId, 'source.transferred', `“${title}” belongs to you now${advice}`, `/sources/${id}`);
    },
  };
}
