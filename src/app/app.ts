import { createAuditStore } from '../features/audit/audit-store.ts';
import { createErrorStore } from '../features/errors/error-store.ts';
import { createFetchFeed } from '../features/feeds/fetch-feed.ts';
import { openingFeeds } from '../features/feeds/open-feed.ts';
import { storingSync } from '../features/feeds/store-sync.ts';
import { syncSource, SYNC_SOURCE } from '../features/feeds/sync-source.ts';
import { createIngestStore } from '../features/posts/ingest-store.ts';
import { ingesting } from '../features/posts/ingest-posts.ts';
import { createPostStore } from '../features/posts/post-store.ts';
import { createRemoteAttachmentStore } from '../features/posts/remote-attachment-store.ts';
import { createSearchIndexStore } from '../features/posts/search-index-store.ts';
import { addingSources } from '../features/sources/add-source.ts';
import { changingSources } from '../features/sources/change-source.ts';
import { removingSources, REMOVE_SOURCE } from '../features/sources/remove-source.ts';
import { createSourceStore, type Source } from '../features/sources/source-store.ts';
import { createSyncStateStore } from '../features/sources/sync-state-store.ts';
import type { Clock, Random } from '../platform/clock.ts';
import type { Db } from '../platform/db/open-database.ts';
import { createRateLimitStore } from '../platform/http/rate-limit-store.ts';
import { createJobQueue } from '../platform/jobs/job-queue.ts';
import type { JobHandlers } from '../platform/jobs/worker.ts';
import type { Log } from '../platform/log.ts';
import { createKeptCounts } from '../platform/metrics/kept-counts.ts';
import type { OutboundFetch } from '../platform/net/outbound-fetch.ts';
import type { Config } from './config.ts';

/** What differs between a process and a test. */
export type Surroundings = {
  db: Db;
  config: Config;
  clock: Clock;
  random: Random;
  outbound: OutboundFetch;
  log: Log;
  program: 'web' | 'worker' | 'hubctl';
};

export type App = ReturnType<typeof createApp>;

/** What the hub is made of, and where its features meet. Read this first. */
export function createApp(surroundings: Surroundings) {
  const { db, config, clock, random, outbound, log, program } = surroundings;
  const errors = createErrorStore(db, clock, program, log);
  const recordAct = createAuditStore(db, clock).record;
  const counts = createKeptCounts(db);
  const limits = createRateLimitStore(db, clock);
  const jobs = createJobQueue(db, clock, random);

  const sources = createSourceStore(db, clock);
  const syncState = createSyncStateStore(db, clock);
  const posts = createPostStore(db, clock);
  const ingestStore = createIngestStore(db, clock, createSearchIndexStore(db), createRemoteAttachmentStore(db, clock));
  const ingest = ingesting({ store: ingestStore, counts, clock });

  const syncJobs = createSyncJobs(jobs, config);
  const removing = removingSources({
    db,
    sources,
    removePosts: posts.removeOfSource,
    enqueue: (sourceId) =>
      void jobs.enqueue({ kind: REMOVE_SOURCE, payload: { sourceId }, dedupeKey: String(sourceId) }),
  });
  const { settleFailed } = syncJobs;
  const changing = changingSources({ db, sources, limits, recordAct, removing, syncSoon: syncJobs.soon, settleFailed });

  const fetchFeed = createFetchFeed(outbound, clock);
  const storeSync = storingSync({
    sources: { ...syncState, settleFailed },
    posts: {
      prepare(known, items) {
        const prepared = ingest.prepare(known, items);
        return (sourceId) => ingest.store(sourceId, 'feed', prepared);
      },
      newestPublishedAt: ingestStore.newestPublishedAt,
    },
    clock,
    random,
  });

  const handlers: JobHandlers = {
    [SYNC_SOURCE]: syncSource({
      sources: { ...syncState, pauseGone: changing.pauseGone },
      storeSync, fetchFeed, counts, clock, random,
      concurrency: config.syncConcurrency,
    }),
    [REMOVE_SOURCE]: removing.handler,
  };

  return {
    ...surroundings,
    errors, recordAct, limits, jobs, handlers, sources, syncState, syncJobs, posts, changing,
    adding: addingSources({ db, sources, openFeed: openingFeeds({ fetchFeed, storeSync }), limits, recordAct, clock }),
  };
}

/** Jobs that synchronise sources: at most one lives for each, and the host is its lane. */
function createSyncJobs(jobs: ReturnType<typeof createJobQueue>, { syncMaxAttempts: maxAttempts }: Config) {
  const enqueue = (sourceId: number, host: string): boolean =>
    jobs.enqueue({ kind: SYNC_SOURCE, payload: { sourceId }, dedupeKey: String(sourceId), lane: host, maxAttempts });

  return {
    enqueue,
    /** A job is due now: a new one, or the one that waits for its next try. */
    soon({ id, feedUrl }: Source): void {
      if (!enqueue(id, new URL(feedUrl ?? '').host)) jobs.hurry(SYNC_SOURCE, String(id));
    },
    isUnderWay: (sourceId: number): boolean => jobs.isUnderWay(SYNC_SOURCE, String(sourceId)),
    settleFailed: (sourceId: number): void => void jobs.settleFailed(SYNC_SOURCE, String(sourceId)),
  };
}
