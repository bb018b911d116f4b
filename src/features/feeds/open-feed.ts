import { NO_VALIDATORS, type FetchFeed } from './fetch-feed.ts';
import type { StoreSync } from './store-sync.ts';

/** A feed that was fetched, read and sanitised; `store` leaves its posts with a source, in the caller's transaction. */
export type OpenedFeed = { url: string; title: string; store(sourceId: number): void };

/** Opens the feed at an address, or the one that a page there advertises. Errors are for whoever named it. */
export function openingFeeds({ fetchFeed, storeSync }: { fetchFeed: FetchFeed; storeSync: StoreSync }) {
  return async (address: string): Promise<OpenedFeed> => {
    const fetched = await fetchFeed(address, NO_VALIDATORS, { discover: true });
    const store = storeSync({ sourceId: null, url: fetched.url, ttl: null }, fetched);
    return { url: fetched.url, title: fetched.feed?.title ?? '', store: (sourceId) => void store(sourceId) };
  };
}
