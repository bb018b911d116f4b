import { SECOND, type Clock, type Random } from '../../platform/clock.ts';
import type { Job } from '../../platform/jobs/job-queue.ts';
import { RetryLaterError, type JobHandler } from '../../platform/jobs/worker.ts';
import type { KeptCounts } from '../../platform/metrics/kept-counts.ts';
import { FeedBusyError, FeedGoneError, type FetchedFeed, type FetchFeed, type Validators } from './fetch-feed.ts';
import type { ParsedFeed, ParsedItem } from './parse-feed.ts';
import { planAfterFailure, planNextSync } from './plan-sync.ts';

export const SYNC_SOURCE = 'sync-source';

export type SyncPayload = { sourceId: number };

type SyncState = Validators & {
  sourceId: number;
  state: 'active' | 'failing' | 'paused';
  failures: number;
  lastSuccessAt: number | null;
  url: string;
};

/** What a synchronisation needs of sources; given by app. */
export type SyncSources = {
  find(sourceId: number): SyncState | undefined;
  recordSuccess(sourceId: number, nextSyncAt: number): void;
  recordFailure(sourceId: number, reason: string, final: boolean): void;
  planNext(sourceId: number, at: number): void;
  keepValidators(sourceId: number, validators: Validators): void;
  keepFacts(sourceId: number, facts: { title: string; siteUrl: string | null; description: string | null }): void;
  move(sourceId: number, url: string): void;
  /** Pauses the source and lets its owner know. */
  pauseGone(sourceId: number, reason: string): void;
};

/** What a synchronisation needs of posts; given by app. `prepare` is the slow part, outside the transaction. */
export type SyncPosts = {
  prepare(sourceId: number, items: ParsedItem[]): () => number;
  newestPublishedAt(sourceId: number): number[];
};

export type SyncDeps = {
  sources: SyncSources;
  posts: SyncPosts;
  fetchFeed: FetchFeed;
  counts: KeptCounts;
  /** A success ends the worry about earlier failures of the source. */
  settleFailed(sourceId: number): void;
  clock: Clock;
  random: Random;
  concurrency: number;
};

/** Synchronises one feed. Safe to repeat: posts are keyed by the publisher's id, and all effects share one transaction. */
export function syncSource(deps: SyncDeps): JobHandler {
  const { sources, fetchFeed, counts, clock, random } = deps;
  const store = storeSync(deps);

  async function run(job: Job, signal: AbortSignal): Promise<(() => void) | void> {
    const { sourceId } = job.payload as SyncPayload;
    const source = sources.find(sourceId);
    if (!source || source.state === 'paused') return; // deleted or paused while the job waited
    const started = performance.now();
    const fetched = await fetchOr410(source, signal);
    const effects = fetched ? store(sourceId, source.url, fetched) : () => sources.pauseGone(sourceId, GONE);
    return () => {
      effects();
      if (!fetched) counts.add('sync_runs_total', 'error', 1);
      counts.observe('sync_duration_seconds', (performance.now() - started) / SECOND);
    };
  }

  async function fetchOr410(source: SyncState, signal: AbortSignal): Promise<FetchedFeed | undefined> {
    try {
      return await fetchFeed(source.url, source, { discover: source.lastSuccessAt === null, signal });
    } catch (error) {
      if (error instanceof FeedGoneError) return undefined;
      if (error instanceof FeedBusyError) throw new RetryLaterError(error.message, error.at);
      throw error;
    }
  }

  function failed(job: Job, error: Error, fate: 'retrying' | 'failed'): void {
    const { sourceId } = job.payload as SyncPayload;
    counts.add('sync_runs_total', 'error', 1);
    const source = sources.find(sourceId);
    if (!source) return;
    sources.recordFailure(sourceId, error.message, fate === 'failed');
    if (fate === 'failed') sources.planNext(sourceId, clock() + planAfterFailure(source.failures, random));
  }

  return { concurrency: deps.concurrency, run, failed };
}

const GONE = 'The publisher says that this feed is gone for good (410).';

type StoreDeps = Pick<SyncDeps, 'sources' | 'posts' | 'counts' | 'settleFailed' | 'clock' | 'random'>;

/** What a fetched feed leaves behind. Sanitising happens now; the returned function is for the transaction. */
export function storeSync({ sources, posts, counts, settleFailed, clock, random }: StoreDeps) {
  return (sourceId: number, url: string, { feed, url: newUrl, validators, askedFor }: FetchedFeed): (() => void) => {
    const storePosts = feed ? posts.prepare(sourceId, feed.items) : () => 0;
    return () => {
      const changed = storePosts();
      if (newUrl !== url) sources.move(sourceId, newUrl);
      if (feed) sources.keepFacts(sourceId, factsOf(feed));
      sources.keepValidators(sourceId, validators);
      const publishedAt = posts.newestPublishedAt(sourceId);
      sources.recordSuccess(sourceId, clock() + planNextSync({ publishedAt, askedFor }, clock(), random));
      settleFailed(sourceId);
      counts.add('sync_runs_total', changed > 0 ? 'changed' : 'unchanged', 1);
    };
  };
}

function factsOf({ title, siteUrl, description }: ParsedFeed) {
  return { title, siteUrl, description };
}
