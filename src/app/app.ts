import { createAuditStore } from '../features/audit/audit-store.ts';
import { createErrorStore } from '../features/errors/error-store.ts';
import { createFetchFeed, NO_VALIDATORS } from '../features/feeds/fetch-feed.ts';
import { storeSync, syncSource, SYNC_SOURCE, type SyncDeps } from '../features/feeds/sync-source.ts';
import { createIngestStore } from '../features/posts/ingest-store.ts';
import { ingesting } from '../features/posts/ingest-posts.ts';
import { createPostStore } from '../features/posts/post-store.ts';
import { addingSources, type OpenFeed } from '../features/sources/add-source.ts';
import { changingSources } from '../features/sources/change-source.ts';
import { createSourceStore } from '../features/sources/source-store.ts';
import { createSyncStateStore } from '../features/sources/sync-state-store.ts';
import type { Clock, Random } from '../platform/clock.ts';
import type { Db } from '../platform/db/open-database.ts';
import { createRateLimitStore } from '../platform/http/rate-limit.ts';
import { createJobQueue } from '../platform/jobs/job-queue.ts';
import type { JobHandler } from '../platform/jobs/worker.ts';
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
  const ingestStore = createIngestStore(db, clock);
  const ingest = ingesting({ store: ingestStore, counts, clock });

  function enqueueSync(sourceId: number, host: string): boolean {
    const dedupeKey = String(sourceId);
    return jobs.enqueue({ kind: SYNC_SOURCE, payload: { sourceId }, dedupeKey, lane: host, maxAttempts: config.syncMaxAttempts });
  }

  const changing = changingSources({
    db, sources, limits, recordAct,
    enqueueSync: ({ id, feedUrl }) => void enqueueSync(id, new URL(feedUrl ?? '').host),
  });

  const sync: SyncDeps = {
    sources: { ...syncState, pauseGone: changing.pauseGone },
    posts: {
      prepare: (sourceId, items) => ingest(sourceId, 'feed', items),
      newestPublishedAt: ingestStore.newestPublishedAt,
    },
    fetchFeed: createFetchFeed(outbound, clock),
    counts,
    settleFailed: (sourceId) => void jobs.settleFailed(SYNC_SOURCE, String(sourceId)),
    clock,
    random,
    concurrency: config.syncConcurrency,
  };

  const storeFetched = storeSync(sync);
  const openFeed: OpenFeed = async (address) => {
    const fetched = await sync.fetchFeed(address, NO_VALIDATORS, { discover: true });
    return {
      url: fetched.url,
      title: fetched.feed?.title ?? '',
      store: (sourceId) => storeFetched(sourceId, fetched.url, fetched)(),
    };
  };

  const handlers: Record<string, JobHandler> = { [SYNC_SOURCE]: syncSource(sync) };

  return {
    ...surroundings,
    errors, recordAct, limits, jobs, handlers, sources, syncState, posts, changing, enqueueSync,
    adding: addingSources({ db, sources, openFeed, limits, recordAct, clock }),
  };
}
