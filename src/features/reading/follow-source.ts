import type { Viewer } from '../../platform/http/router.ts';
import { notFound, type HttpError } from '../../platform/http/reply.ts';
import { follows, type FollowChange } from '../follows/follow-store.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { posts } from '../posts/post-store.ts';
import { maySeeSource, sources } from '../sources/source-store.ts';

/** Who follows; rights to see a source go by id and role. */
export type Follower = Pick<Viewer, 'id' | 'role'>;

/** Of a source that was there before, so many posts are unread at first: those that arrived last. */
const UNREAD_AT_FIRST = 30;

/**
 * Puts a source into the viewer's reading list, or changes its folder or bell there; what is undefined stays. A
 * follower can do so with one that is hidden by now; 404 otherwise for a hidden source, 422 where the list is full.
 */
export function followSource(hub: Hub, viewer: Follower, sourceId: number, change: FollowChange = {}): void {
  hub.db.write('follow source', () => {
    requireKnown(hub, viewer, sourceId);
    if (!follows(hub).isFollowed(viewer.id, sourceId)) {
      if (isFull(hub, viewer, sourceId)) throw tooManyFollows(hub);
      follows(hub).follow(viewer.id, sourceId, posts(hub).nthLast(sourceId, UNREAD_AT_FIRST));
    }
    follows(hub).change(viewer.id, sourceId, change);
  });
}

/** Whether as many sources of others are followed as may be; of one's own there are only so many. */
export function isFull(hub: Hub, { id }: Follower, sourceId: number): boolean {
  return follows(hub).countForeign(id) >= hub.config.sourcesMax && sources(hub).find(sourceId)?.ownerId !== id;
}

function tooManyFollows(hub: Hub): HttpError {
  const reason = `A reading list may have at most ${hub.config.sourcesMax} sources of others. Unfollow some first.`;
  return metLimit(hub, 'follows-max', 0, reason);
}

/** Takes a source out of the viewer's reading list; may be repeated. 404 for a hidden one that is not in it. */
export function unfollowSource(hub: Hub, viewer: Follower, sourceId: number): void {
  requireKnown(hub, viewer, sourceId);
  follows(hub).unfollow(viewer.id, sourceId);
}

/** A follower can let go of what is hidden by now. */
function requireKnown(hub: Hub, viewer: Follower, sourceId: number): void {
  const isKnown = maySeeSource(hub, sourceId, viewer) || follows(hub).isFollowed(viewer.id, sourceId);
  if (!isKnown) throw notFound('source');
}
