import { raiseSourceAlert } from '../features/alerts/raise-alerts.ts';
import { audit, type RecordAct } from '../features/audit/audit.ts';
import { noteError } from '../features/errors/error-store.ts';
import { createFetchFeed } from '../features/feeds/fetch-feed.ts';
import { openingFeeds } from '../features/feeds/open-feed.ts';
import { storingSync } from '../features/feeds/store-sync.ts';
import { syncSource, SYNC_SOURCE, type SyncPayload } from '../features/feeds/sync-source.ts';
import { notifyFollowers } from '../features/follows/notify-followers.ts';
import { counts as countsOf, jobs as jobsOf, limits as limitsOf, throttled, type Hub } from '../features/hub/hub.ts';
import { notifications as notificationsOf } from '../features/notifications/notification-store.ts';
import { ingestStore as ingestStoreOf } from '../features/posts/ingest-store.ts';
import { preparePosts, storePosts } from '../features/posts/ingest-posts.ts';
import { posts as postsOf } from '../features/posts/post-store.ts';
import { searchIndex as searchIndexOf } from '../features/posts/search-index-store.ts';
import { writingPosts } from '../features/posts/write-post.ts';
import { addingSources } from '../features/sources/add-source.ts';
import { changingSources } from '../features/sources/change-source.ts';
import { REMOVE_ATTEMPTS, REMOVE_SOURCE, removingSources } from '../features/sources/remove-source.ts';
import { mayManage, maySee } from '../features/sources/source-access.ts';
import { sources as sourcesOf, type Source } from '../features/sources/source-store.ts';
import { syncState as syncStateOf } from '../features/sources/sync-state-store.ts';
import type { createJobQueue, Job } from '../platform/jobs/job-queue.ts';
import type { JobHandlers } from '../platform/jobs/worker.ts';
import { createAttachments } from './attachments.ts';
import type { Config } from '../features/hub/read-config.ts';
import { jobHandlers } from './job-kinds.ts';
import { createPeople } from './people.ts';
import { tellingOwners } from './telling-owners.ts';
import { createWebhooks, eventPosts } from './webhooks.ts';

export type Surroundings = Hub;

export type App = ReturnType<typeof createApp>;

/** What the hub is made of, and where its features meet. Read this first. */
export function createApp(surroundings: Surroundings) {
  const { db, config, clock, random, outbound } = surroundings;
  const hub: Hub = surroundings;
  const recordAct: RecordAct = (...event) => audit(hub, ...event);
  const [counts, limits, paced, jobs] = [countsOf(hub), limitsOf(hub), throttled(hub), jobsOf(hub)];

  const sources = sourcesOf(hub);
  const syncState = syncStateOf(hub);
  const posts = postsOf(hub);
  const searchIndex = searchIndexOf(hub);
  const ingestStore = ingestStoreOf(hub);
  const notifications = notificationsOf(hub);
  const people = createPeople({ hub, db, clock, jobs, notifications, searchIndex });

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
  const changing = changingSources({
    hub, db, sources, limits, recordAct, removing, syncSoon: syncJobs.soon, settleFailed,
  });

  const webhooks = createWebhooks({
    ...surroundings, hub, counts, notifications, recordAct,
    posts: eventPosts(hub),
  });
  const attachments = createAttachments({ ...surroundings, hub, jobs, counts, notifications, recordAct });
  const writing = writingPosts({
    db, posts, ingest: ingestStore, attach: attachments.attach, counts, recordAct, clock,
    onWritten: (sourceId, authorId) => notifyFollowers(hub, sourceId, 1, authorId),
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
        const prepared = preparePosts(hub, known, items);
        return (sourceId) => storePosts(hub, sourceId, 'feed', prepared);
      },
      newestPublishedAt: ingestStore.newestPublishedAt,
    },
    clock,
    random,
  });

  const syncing = syncSource({
    sources: tellingOwners(hub, { ...syncState, pauseGone: changing.pauseGone }),
    storeSync, fetchFeed, counts, clock, random,
    concurrency: config.syncConcurrency,
  });
  const handlers: JobHandlers = {
    ...jobHandlers(hub),
    [SYNC_SOURCE]: {
      ...syncing,
      failed(job, error, fate) {
        syncing.failed?.(job, error, fate);
        const source = fate === 'failed' ? sourceOf(job) : undefined;
        if (source) raiseSourceAlert(hub, 'sync-failed', source, error.message);
      },
    },
    [REMOVE_SOURCE]: removing.handler,
    ...attachments.handlers,
    ...people.handlers,
  };

  function sourceOf({ payload }: Job): Source | undefined {
    return sources.find((payload as SyncPayload).sourceId);
  }

  return {
    ...surroundings,
    hub,
    counts, webhooks,
    errors: { note: (error: unknown) => noteError(hub, error) },
    recordAct, limits, paced, jobs, handlers, sources, syncState, syncJobs, posts, changing,
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
