import type { Clock, Random } from '../../platform/clock.ts';
import type { IncomingPost } from '../posts/incoming-post.ts';
import type { FetchedFeed, Validators } from './fetch-feed.ts';
import { planNextSync } from './plan-sync.ts';

export type FeedFacts = { title: string; siteUrl: string | null; description: string | null; ttl: number | null };

/** What storing a synchronisation needs of sources; given by app. */
export type StoreSources = {
  recordSuccess(sourceId: number, nextSyncAt: number): void;
  keepValidators(sourceId: number, validators: Validators): void;
  keepFacts(sourceId: number, facts: FeedFacts): void;
  /** False when the owner follows the feed at that address already; the source is paused then. */
  move(sourceId: number, url: string): boolean;
  /** A success ends the worry about earlier failures of the source. */
  settleFailed(sourceId: number): void;
};

/** What it needs of posts. `prepare` is the slow part; what it returns stores, in a transaction, and counts changes. */
export type StorePosts = {
  prepare(sourceId: number | null, items: IncomingPost[]): (sourceId: number) => number;
  newestPublishedAt(sourceId: number): number[];
};

export type StoreSyncDeps = { sources: StoreSources; posts: StorePosts; clock: Clock; random: Random };

/** The source that was fetched; `sourceId` is null when it is yet to be made. */
export type FetchedSource = { sourceId: number | null; url: string; ttl: number | null };

export type StoreSync = (source: FetchedSource, fetched: FetchedFeed) => (sourceId: number) => number;

/**
 * What a fetched feed leaves behind. Sanitising happens in the call; the function that it returns is for the
 * transaction, and says how many posts changed.
 */
export function storingSync({ sources, posts, clock, random }: StoreSyncDeps): StoreSync {
  return ({ sourceId: known, url, ttl }, { feed, url: newUrl, validators, askedFor }) => {
    const storePosts = feed ? posts.prepare(known, feed.items) : () => 0;
    const wait = Math.max(askedFor, (feed ? feed.ttl : ttl) ?? 0);

    return (sourceId) => {
      if (newUrl !== url && !sources.move(sourceId, newUrl)) return 0;
      const changed = storePosts(sourceId);
      if (feed) sources.keepFacts(sourceId, feed);
      sources.keepValidators(sourceId, validators);
      const publishedAt = posts.newestPublishedAt(sourceId);
      sources.recordSuccess(sourceId, clock() + planNextSync({ publishedAt, askedFor: wait }, clock(), random));
      sources.settleFailed(sourceId);
      return changed;
    };
  };
}
