import { flag, line, noted, optional, orNull } from '../../platform/http/fields.ts';
import { notFound } from '../../platform/http/http-error.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { FOLDER_MAX, follows, type FollowChange } from '../follows/follow-store.ts';
import { metLimit, type Hub } from '../hub/hub.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { maySeeSource, sources, TITLE_MAX } from '../sources/source-store.ts';
import { sectionOf } from './list-address.ts';
import { listChoices } from './list-choice-store.ts';
import { settleNow } from './settle-entries.ts';

export type Follower = Pick<Viewer, 'id' | 'role'>;

/** Fields of a follow; an absent one stays as it is. */
export const FOLLOW_FIELDS = {
  title: optional(orNull(noted(line({ max: TITLE_MAX }), 'Only you see this name of the source'))),
  folder: optional(orNull(line({ max: FOLDER_MAX }))),
  notify: optional(flag),
  hideGlobally: optional(noted(flag, 'Views unread and list, without a folder, leave out the source’s posts')),
};

const UNREAD_AT_FIRST = 30;

/**
 * Follows a source, or changes how it is followed; returns whether that is new. Throws 404 for a hidden source, 422 at
 * the limit.
 */
export function followSource(hub: Hub, viewer: Follower, sourceId: number, change: FollowChange = {}): boolean {
  return hub.db.write('follow source', () => {
    requireKnown(hub, viewer, sourceId);
    const isNew = !follows(hub).isFollowed(viewer.id, sourceId);
    if (isNew) {
      if (isFull(hub, viewer, sourceId)) {
        throw metLimit(hub, 'follows-max', 0,
          `You can follow at most ${hub.config.sourcesMax} sources of other accounts. Unfollow some first.`);
      }
      follows(hub).follow(viewer.id, sourceId, sourcePosts(hub).nthLast(sourceId, UNREAD_AT_FIRST));
    }
    // An own name that repeats the source's title is not stored, so that the member sees later changes of the title.
    const isRepeated = change.title !== undefined && change.title === sources(hub).find(sourceId)?.title;
    follows(hub).change(viewer.id, sourceId, isRepeated ? { ...change, title: null } : change);
    settleNow(hub, { accountId: viewer.id, sourceId });
    return isNew;
  });
}

/** Whether the account follows the maximum of sources of other owners; its own sources have a separate limit. */
export function isFull(hub: Hub, { id }: Follower, sourceId: number): boolean {
  return follows(hub).countForeign(id) >= hub.config.sourcesMax && sources(hub).find(sourceId)?.ownerId !== id;
}

/** Unfollows a source (idempotent). Throws status 404 for a hidden source that the viewer does not follow. */
export function unfollowSource(hub: Hub, viewer: Follower, sourceId: number): void {
  requireKnown(hub, viewer, sourceId);
  hub.db.write('unfollow source', () => {
    follows(hub).unfollow(viewer.id, sourceId);
    settleNow(hub, { accountId: viewer.id, sourceId });
  });
}

/** Moves a folder's sources to the folder `to` (null: no folder); a new folder gets the old folder's list settings. */
export function moveFolder(hub: Hub, accountId: number, from: string, to: string | null): void {
  const key = (folder: string): string => sectionOf({ kind: 'unread', folder });
  hub.db.write('move folder', () => {
    const isNew = to !== null && !follows(hub).hasFolder(accountId, to);
    follows(hub).moveFolder(accountId, from, to);
    if (isNew) listChoices(hub).rename(accountId, key(from), key(to));
  });
}

/** A follower may still change or end the follow of a source that became hidden. */
export function isKnownSource(hub: Hub, sourceId: number, viewer: Follower): boolean {
  return maySeeSource(hub, sourceId, viewer) || follows(hub).isFollowed(viewer.id, sourceId);
}

function requireKnown(hub: Hub, viewer: Follower, sourceId: number): void {
  if (!isKnownSource(hub, sourceId, viewer)) throw notFound('source');
}
