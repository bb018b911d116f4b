import { raiseSourceAlert } from '../features/alerts/raise-alerts.ts';
import { bufferedCounts, type Hub } from '../features/hub/hub.ts';
import type { notifications as notificationsOf } from '../features/notifications/notification-store.ts';
import { preparePosts, removePost, storePosts } from '../features/posts/ingest-posts.ts';
import { acceptingEvents } from '../features/webhooks/accept-events.ts';
import { managingWebhooks } from '../features/webhooks/manage-webhooks.ts';
import { EVENTS_KEPT, receivingEvents, type EventPosts } from '../features/webhooks/receive-event.ts';
import { watchingSilence } from '../features/webhooks/watch-silence.ts';
import { webhookEvents as webhookEventsOf } from '../features/webhooks/webhook-event-store.ts';
import { webhookSecrets as webhookSecretsOf } from '../features/webhooks/webhook-secret-store.ts';
import { webhookSilence as webhookSilenceOf } from '../features/webhooks/webhook-silence-store.ts';
import { webhooks as webhooksOf } from '../features/webhooks/webhook-store.ts';
import { DAY } from '../platform/clock.ts';
import type { KeptCounts } from '../platform/metrics/kept-counts.ts';
import type { RecordAct } from '../features/audit/audit.ts';
import type { Surroundings } from './app.ts';

export type WebhookNeeds = Pick<Surroundings, 'db' | 'config' | 'clock' | 'log'> & {
  hub: Surroundings;
  posts: EventPosts;
  counts: KeptCounts;
  notifications: ReturnType<typeof notificationsOf>;
  recordAct: RecordAct;
};

export type Webhooks = ReturnType<typeof createWebhooks>;

/** Posts out of events, by the way that posts of feeds come in. */
export function eventPosts(hub: Hub): EventPosts {
  return {
    prepare(item) {
      const prepared = preparePosts(hub, null, [item]);
      return (sourceId) => void storePosts(hub, sourceId, 'webhook', prepared);
    },
    remove: (sourceId, guid) => removePost(hub, sourceId, guid),
  };
}

/** How signed events come in, and what happens when they do not. */
export function createWebhooks(needs: WebhookNeeds) {
  const { hub, db, config, clock, log, posts, counts, notifications, recordAct } = needs;
  const { baseUrl } = config;
  const webhooks = webhooksOf(hub);
  const events = webhookEventsOf(hub);
  const silence = webhookSilenceOf(hub);
  const managing = managingWebhooks({
    db, webhooks, recordAct, clock, baseUrl, secretStore: webhookSecretsOf(hub), key: config.hubSecretKey,
  });

  return {
    managing,
    countSilent: silence.countSilent,
    pruneEvents: (batch: number): number => events.prune(clock() - EVENTS_KEPT, batch),
    removeEvents: events.removeOfSource,

    receiving: receivingEvents({
      webhooks, events, posts, clock, baseUrl,
      liveSecrets: managing.liveSecrets,
      accept: acceptingEvents({ db, webhooks, events, counts, clock }),
      countLater: (result) => bufferedCounts(hub).add('webhook_events_total', result),
      onUnreadable: (error) => log.error('webhook secrets cannot be read', { error: error.message }),
    }),

    findSilent: watchingSilence({
      db, silence, clock,
      tellOwner: ({ ownerId, title, sourceId }) => notifications.add({
        accountId: ownerId,
        kind: 'webhook.silent',
        title: `“${title}” has had no events for more than 7 days`,
        path: `/sources/${sourceId}`,
      }),
      raiseAlert({ title, sourceId, quietSinceAt }) {
        const days = Math.floor((clock() - quietSinceAt) / DAY);
        raiseSourceAlert(hub, 'webhook-silent', { id: sourceId, title }, `nothing for ${days} days`);
      },
    }),
  };
}
