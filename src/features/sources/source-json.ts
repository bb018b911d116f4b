import type { Source } from './source-store.ts';

/** A source as the API shows it; the owner also sees how its synchronisation goes. */
export function sourceJson(source: Source, forOwner: boolean) {
  const { id, kind, title, visibility, owner, feedUrl, siteUrl, description } = source;
  return {
    id, kind, title, visibility,
    owner: { id: source.ownerId, displayName: owner },
    ...(kind === 'feed' ? { siteUrl, description } : {}),
    state: source.state,
    paused: source.state === 'paused',
    // The address of a feed may hold a secret in its query.
    ...(forOwner ? { url: feedUrl, stateReason: source.stateReason, nextSyncAt: time(source.nextSyncAt) } : {}),
    lastSyncAt: time(source.lastSyncAt),
    lastSuccessAt: time(source.lastSuccessAt),
    createdAt: time(source.createdAt),
    updatedAt: time(source.updatedAt),
  };
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
