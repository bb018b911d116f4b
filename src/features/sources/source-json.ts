import type { Viewer } from '../../platform/http/router.ts';
import type { Source } from './source-store.ts';

/** Those of the sources of whose new posts the viewer hears; given by app. */
export type FollowedAmong = (viewer: Viewer, sourceIds: number[]) => Set<number>;

/** Who asks: an owner (or administrator) sees more; `isFollowed` is null where that is nobody's question. */
export type SourceViewer = { isOwner: boolean; isFollowed: boolean | null };

/** A source as the API shows it; the owner also sees how its synchronisation goes, or whether its webhook is heard. */
export function sourceJson(source: Source, { isOwner, isFollowed }: SourceViewer) {
  const { id, kind, title, visibility, owner, feedUrl, siteUrl, description } = source;
  return {
    id, kind, title, visibility,
    owner: { id: source.ownerId, displayName: owner },
    ...(kind === 'feed' ? { siteUrl, description } : {}),
    state: source.state,
    paused: source.state === 'paused',
    ...(isFollowed === null ? {} : { followed: isFollowed }),
    // The address of a feed may hold a secret in its query.
    ...(isOwner ? { url: feedUrl, stateReason: source.stateReason, nextSyncAt: time(source.nextSyncAt) } : {}),
    ...(isOwner && kind === 'webhook' ? { webhook: webhookJson(source) } : {}),
    lastSyncAt: time(source.lastSyncAt),
    lastSuccessAt: time(source.lastSuccessAt),
    createdAt: time(source.createdAt),
    updatedAt: time(source.updatedAt),
  };
}

/** Whether events come: active, silent (none for more than 7 days) or disabled (paused), and when the last one did. */
function webhookJson({ webhookState, lastEventAt }: Source) {
  return { state: webhookState, lastEventAt: time(lastEventAt) };
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
