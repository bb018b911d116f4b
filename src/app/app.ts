import { createAuditStore } from '../features/audit/audit-store.ts';
import { createErrorStore } from '../features/errors/error-store.ts';
import { createFetchFeed } from '../features/feeds/fetch-feed.ts';
import { openingFeeds } from '../features/feeds/open-feed.ts';
import { storingSync } from '../features/feeds/store-sync.ts';
import { syncSource, SYNC_SOURCE, type SyncPayload } from '../features/feeds/sync-source.ts';
import { createNotificationStore } from '../features/notifications/notification-store.ts';
import { createIngestStore } from '../features/posts/ingest-store.ts';
import { ingesting } from '../features/posts/ingest-posts.ts';
import { createPostStore } from '../features/posts/post-store.ts';
import { createRemoteAttachmentStore } from '../features/posts/remote-attachment-store.ts';
import { createSearchIndexStore } from '../features/posts/search-index-store.ts';
import { writingPosts } from '../features/posts/write-post.ts';
import { addingSources } from '../features/sources/add-source.ts';
import { changingSources } from '../features/sources/change-source.ts';
import { REMOVE_ATTEMPTS, REMOVE_SOURCE, removingSources } from '../features/sources/remove-source.ts';
import { createSourceStore, mayManage, maySee, type Source } from '../features/sources/source-store.ts';
import { createSyncStateStore } from '../features/sources/sync-state-store.ts';
import type { Clock, Random } from '../platform/clock.ts';
import type { Db } from '../platform/db/open-database.ts';
import { createPacedWrites } from '../platform/db/paced-writes.ts';
import { createRateLimitStore } from '../platform/http/rate-limit-store.ts';
import { createJobQueue, type Job } from '../platform/jobs/job-queue.ts';
import type { JobHandlers } from '../platform/jobs/worker.ts';
import type { Log } from '../platform/log.ts';
import { createKeptCounts } from '../platform/metrics/kept-counts.ts';
import type { OutboundFetch } from '../platform/net/outbound-fetch.ts';
import { alertingOfFailure, createAlerts } from './alerts.ts';
import { createAttachments } from './attachments.ts';
import type { Config } from './config.ts';
import { createPeople } from './people.ts';
import { tellingOwners } from './telling-owners.ts';
import { createWebhooks, eventPosts } from './webhooks.ts';

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
  const audit = createAuditStore(db, clock);
  const recordAct = audit.record;
  const counts = createKeptCounts(db);
  const limits = createRateLimitStore(db, clock);
  const paced = createPacedWrites(db);
  const jobs = createJobQueue(db, clock, random);

  const sources = createSourceStore(db, clock);
  const syncState = createSyncStateStore(db, clock);
  const posts = createPostStore(db, clock);
  const searchIndex = createSearchIndexStore(db);
  const ingestStore = createIngestStore(db, clock, searchIndex, createRemoteAttachmentStore(db, clock));
  const notifications = createNotificationStore(db, clock);
  const people = createPeople({ db, clock, jobs, audit, notifications, sources, searchIndex });
  const { notices } = people;
  const ingest = ingesting({ store: ingestStore, counts, clock, onAdded: notices.newPosts });

  const syncJobs = createSyncJobs(jobs, config);
  const removing = removingSources({
    db,
    paced,
    sources,
    removeParts: [
      posts.removeOfSource,
      (sourceId, limit) => webhooks.removeEvents(sourceId, limit),
      (sourceId, limit) => notifications.removeAbout(`/sources/${sourceId}`, limit), // they lead nowhere now
    ],
    enqueue: (sourceId) =>
      void jobs.enqueue({
        kind: REMOVE_SOURCE, payload: { sourceId }, dedupeKey: String(sourceId), maxAttempts: REMOVE_ATTEMPTS,
      }),
  });
  const { settleFailed } = syncJobs;
  const changing = changingSources({ db, sources, limits, recordAct, removing, syncSoon: syncJobs.soon, settleFailed });

  const alerts = createAlerts({ ...surroundings, jobs });
  const webhooks = createWebhooks({
    ...surroundings, counts, notifications, recordAct, alerts,
    posts: eventPosts(ingest, ingestStore),
  });
  const attachments = createAttachments({ ...surroundings, jobs, counts, notifications, recordAct });
  const writing = writingPosts({
    db, posts, ingest: ingestStore, attach: attachments.attach, counts, recordAct, clock,
    onWritten: (sourceId, authorId) => notices.newPosts(sourceId, 1, authorId),
    findSource(id, viewer) {
      const source = sources.find(id);
      return source && maySee(source, viewer) ? { ...source, mayManage: mayManage(source, viewer) } : undefined;
    },
  });

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

  const syncing = syncSource({
    sources: tellingOwners({ ...syncState, pauseGone: changing.pauseGone }, notices),
    storeSync, fetchFeed, counts, clock, random,
    concurrency: config.syncConcurrency,
  });
  const handlers: JobHandlers = {
    [SYNC_SOURCE]: alertingOfFailure(syncing, (job, error) => alerts.raiseSyncFailed(sourceOf(job), error)),
    [REMOVE_SOURCE]: removing.handler,
    ...alerts.handlers,
    ...attachments.handlers,
    ...people.handlers,
  };

  function sourceOf({ payload }: Job): Source | undefined {
    return sources.find((payload as SyncPayload).sourceId);
  }

  return {
    ...surroundings,
    counts, alerts, webhooks,
    errors, recordAct, limits, paced, jobs, handlers, sources, syncState, syncJobs, posts, changing,
    notifications, attachments, writing, people,
    adding: addingSources({
      db, sources, limits, recordAct, clock,
      openFeed: openingFeeds({ fetchFeed, storeSync }),
      createWebhook: webhooks.managing.create,
    }),
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
