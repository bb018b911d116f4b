import { store } from '../hub/hub.ts';


export type WebhookState = 'active' | 'silent' | 'disabled';

/** A webhook as its owner may see it; times in unix ms. */
export type Webhook = {
  sourceId: number;
  state: WebhookState;
  lastEventAt: number | null;
  previousUntilAt: number | null;
  createdAt: number;
};

/** What an event has to be checked against; secrets as they are stored. */
export type WebhookSecrets = {
  state: WebhookState;
  secret: string;
  previousSecret: string | null;
  previousUntilAt: number | null; // unix ms
};

export type WebhookStore = ReturnType<typeof webhooks>;

/** The webhooks of sources of that kind: their secrets, and when they were last heard. */
export const webhooks = store(({ db, clock }) => {
  const insert = db.prepare<[number, string, number, number]>('create webhook',
    'INSERT INTO webhooks (source_id, secret, quiet_since_at, created_at) VALUES (?, ?, ?, ?)');
  const select = db.prepare<[number], Webhook>('webhook', `
    SELECT source_id AS sourceId, state, last_event_at AS lastEventAt, previous_until_at AS previousUntilAt,
           created_at AS createdAt
      FROM webhooks WHERE source_id = ?`);
  const selectSecrets = db.prepare<[number], WebhookSecrets>('secrets of webhook', `
    SELECT state, secret, previous_secret AS previousSecret, previous_until_at AS previousUntilAt
      FROM webhooks WHERE source_id = ?`);
  const selectDeleted = db.prepare<[number], { at: number }>('deleted webhook',
    'SELECT deleted_at AS at FROM deleted_webhooks WHERE source_id = ?');
  const rotate = db.prepare<[number, string, number]>('rotate webhook secret',
    'UPDATE webhooks SET previous_secret = secret, previous_until_at = ?, secret = ? WHERE source_id = ?');
  const hear = db.prepare<[{ sourceId: number; at: number; paidUntilAt: number }]>('hear webhook', `
    UPDATE webhooks
       SET last_event_at = @at, quiet_since_at = @at, state = 'active', silence_told_at = NULL,
           arrives_at = @paidUntilAt
     WHERE source_id = @sourceId`);
  const selectPaid = db.prepare<[number], { until: number }>('rate limit of webhook', `
    SELECT arrives_at AS until FROM webhooks WHERE source_id = ? AND state <> 'disabled'`);

  return {
    create: (sourceId: number, secret: string): void => void insert.run(sourceId, secret, clock(), clock()),
    find: (sourceId: number): Webhook | undefined => select.get(sourceId),
    secrets: (sourceId: number): WebhookSecrets | undefined => selectSecrets.get(sourceId),
    isDeleted: (sourceId: number): boolean => selectDeleted.get(sourceId) !== undefined,

    /** The present secret becomes the previous one, valid until `until` (unix ms). False where there is no webhook. */
    rotate: (sourceId: number, secret: string, until: number): boolean =>
      rotate.run(until, secret, sourceId).changes === 1,

    /** Until when its rate limit is paid, unix ms; undefined where no webhook takes events. */
    paidUntil: (sourceId: number): number | undefined => selectPaid.get(sourceId)?.until,

    /** Valid events have come, the last at `at` (unix ms). */
    hear: (sourceId: number, at: number, paidUntilAt: number): void => void hear.run({ sourceId, at, paidUntilAt }),
  };
});
