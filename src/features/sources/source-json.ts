import type { Source } from './source-store.ts';

/** Who asks: an owner (or administrator) sees more; `isFollowed` is null where that is nobody's question. */
export type SourceViewer = {
  isOwner: boolean;
  isFollowed: boolean | null;
  /** Of a source of that kind, where its owner asks. */
  webhook: { state: string; lastEventAt: number | null } | undefined;
};

/** A source as the API shows it; the owner also sees how its synchronisation goes, or whether its webhook is heard. */
export function sourceJson(source: Source, { isOwner, isFollowed, webhook }: SourceViewer) {
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
    ...(webhook ? { webhook: { state: webhook.state, lastEventAt: time(webhook.lastEventAt) } } : {}),
    lastSyncAt: time(source.lastSyncAt),
    lastSuccessAt: time(source.lastSuccessAt),
    createdAt: time(source.createdAt),
    updatedAt: time(source.updatedAt),
  };
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
