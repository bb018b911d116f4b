import { SECOND, type Clock, type Random } from '../../platform/clock.ts';
import type { Job } from '../../platform/jobs/job-queue.ts';
import { RetryLaterError, type JobHandler } from '../../platform/jobs/worker.ts';
import type { KeptCounts } from '../../platform/metrics/kept-counts.ts';
import { FeedBusyError, FeedGoneError, type FetchedFeed, type FetchFeed, type Validators } from './fetch-feed.ts';
import { planAfterFailure } from './plan-sync.ts';
import type { StoreSync } from './store-sync.ts';

export const SYNC_SOURCE = 'sync-source';

export type SyncPayload = { sourceId: number };

export type SyncState = Validators & {
  sourceId: number;
  state: 'active' | 'failing' | 'paused';
  failures: number;
  lastSuccessAt: number | null;
  url: string;
  ttl: number | null; // ms; what the feed itself last asked to wait
};

/** What a synchronisation needs of sources; given by app. */
export type SyncSources = {
  find(sourceId: number): SyncState | undefined;
  recordFailure(sourceId: number, reason: string, final: boolean): void;
  planNext(sourceId: number, at: number): void;
  /** Pauses the source and lets its owner know. */
  pauseGone(sourceId: number, reason: string): void;
};

export type SyncDeps = {
  sources: SyncSources;
  storeSync: StoreSync;
  fetchFeed: FetchFeed;
  counts: KeptCounts;
  clock: Clock;
  random: Random;
  concurrency: number;
};

const GONE = 'The publisher says that this feed is gone for good (410).';

/**
 * Synchronises one feed. Safe to repeat: posts are keyed by the publisher's id, and all effects share the transaction
 * that completes the job.
 */
export function syncSource(deps: SyncDeps): JobHandler {
  const { sources, storeSync, fetchFeed, counts, clock, random, concurrency } = deps;
  const started = new WeakMap<Job, number>();

  async function run(job: Job, signal: AbortSignal): Promise<(() => void) | void> {
    const { sourceId } = job.payload as SyncPayload;
    const source = sources.find(sourceId);
    if (!source || source.state === 'paused') return; // deleted or paused while the job waited
    started.set(job, performance.now());
    const fetched = await fetchUnlessGone(source, signal);
    if (!fetched) return () => end(job, 'error', () => sources.pauseGone(sourceId, GONE));
    const store = storeSync(source, fetched);
    return () => end(job, store(sourceId) > 0 ? 'changed' : 'unchanged');
  }

  async function fetchUnlessGone(source: SyncState, signal: AbortSignal): Promise<FetchedFeed | undefined> {
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
    end(job, 'error');
    const source = sources.find(sourceId);
    if (!source) return;
    sources.recordFailure(sourceId, error.message, fate === 'failed');
    if (fate === 'retrying') return;
    const notBefore = error instanceof RetryLaterError ? error.at : 0;
    sources.planNext(sourceId, Math.max(clock() + planAfterFailure(source.failures, random), notBefore));
  }

  /** Counts the run; a job that another worker began has no duration here. */
  function end(job: Job, result: 'changed' | 'unchanged' | 'error', effects: () => void = () => {}): void {
    effects();
    const startedAt = started.get(job);
    counts.add('sync_runs_total', result, 1);
    if (startedAt !== undefined) counts.observe('sync_duration_seconds', (performance.now() - startedAt) / SECOND);
  }

  return { concurrency, run, failed };
}
