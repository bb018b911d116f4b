import { store } from '../hub/hub.ts';
import type { Webhook } from './webhook-store.ts';

/** A webhook among all others, with what its source is called. */
export type ListedWebhook = Webhook & { title: string; ownerId: number };

export type WebhookListStore = ReturnType<typeof webhookList>;

/** All webhooks, for administrators. Secrets are not read. */
export const webhookList = store(({ db }) => {
  const select = db.prepare<[number, number], ListedWebhook>('webhooks', `
    SELECT w.source_id AS sourceId, s.title, s.owner_id AS ownerId, w.state, w.last_event_at AS lastEventAt,
           w.previous_until_at AS previousUntilAt, w.created_at AS createdAt
      FROM webhooks w JOIN sources s ON s.id = w.source_id AND s.removed_at IS NULL
     WHERE w.source_id > ? ORDER BY w.source_id LIMIT ?`);

  return {
    /** By the id of the source. */
    list: (after: number, limit: number): ListedWebhook[] => select.all(after, limit),
  };
});
