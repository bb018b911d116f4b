import { audit, type RecordAct } from '../features/audit/audit.ts';
import { noteError } from '../features/errors/error-store.ts';
import { syncSoon } from '../features/feeds/queue-syncs.ts';
import { openFeed, settleFailedSyncs } from '../features/feeds/sync-source.ts';
import { counts as countsOf, jobs as jobsOf, limits as limitsOf, throttled, type Hub } from '../features/hub/hub.ts';
import { notifications as notificationsOf } from '../features/notifications/notification-store.ts';
import { posts } from '../features/posts/post-store.ts';
import { addingSources } from '../features/sources/add-source.ts';
import { changingSources } from '../features/sources/change-source.ts';
import { REMOVE_ATTEMPTS, REMOVE_SOURCE, removingSources } from '../features/sources/remove-source.ts';
import { sources as sourcesOf } from '../features/sources/source-store.ts';
import { createWebhook } from '../features/webhooks/manage-webhooks.ts';
import { webhookEvents } from '../features/webhooks/webhook-store.ts';
import type { JobHandlers } from '../platform/jobs/worker.ts';
import { jobHandlers } from './job-kinds.ts';

export type Surroundings = Hub;

export type App = ReturnType<typeof createApp>;

/** What the hub is made of, and where its features meet. Read this first. */
export function createApp(surroundings: Surroundings) {
  const { db, clock } = surroundings;
  const hub: Hub = surroundings;
  const recordAct: RecordAct = (...event) => audit(hub, ...event);
  const [counts, limits, paced, jobs] = [countsOf(hub), limitsOf(hub), throttled(hub), jobsOf(hub)];

  const sources = sourcesOf(hub);
  const notifications = notificationsOf(hub);

  const removing = removingSources({
    db,
    paced,
    sources,
    removeParts: [
      (sourceId, limit) => posts(hub).removeOfSource(sourceId, limit),
      (sourceId, limit) => webhookEvents(hub).removeOfSource(sourceId, limit),
      (sourceId, limit) => notifications.removeAbout(`/sources/${sourceId}`, limit), // they lead nowhere now
    ],
    enqueue: (sourceId) =>
      void jobs.enqueue({
        kind: REMOVE_SOURCE, payload: { sourceId }, dedupeKey: String(sourceId), maxAttempts: REMOVE_ATTEMPTS,
      }),
  });
  const changing = changingSources({
    hub, db, sources, limits, recordAct, removing,
    syncSoon: (source) => syncSoon(hub, source),
    settleFailed: (id) => settleFailedSyncs(hub, id),
  });

  const handlers: JobHandlers = {
    ...jobHandlers(hub),
    [REMOVE_SOURCE]: removing.handler,
  };

  return {
    ...surroundings,
    hub,
    counts,
    errors: { note: (error: unknown) => noteError(hub, error) },
    recordAct, limits, paced, jobs, handlers, sources, changing, notifications,
    adding: addingSources({
      db, sources, limits, recordAct, clock,
      openFeed: (address) => openFeed(hub, address),
      createWebhook: (sourceId) => createWebhook(hub, sourceId),
    }),
  };
}
