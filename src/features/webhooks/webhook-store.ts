import { DAY, MINUTE } from '../../platform/clock.ts';
import { createTimeRepair, type StoredTime } from '../../platform/jobs/scheduler.ts';
import { sourceIsPresent } from '../sources/source-store.ts';
import { store } from '../hub/hub.ts';

export const WEBHOOK_STATES = ['active', 'silent', 'disabled'] as const;

type WebhookState = (typeof WEBHOOK_STATES)[number];

/** A webhook without its secrets; all times are in unix ms. */
export type Webhook = {
  sourceId: number;
  state: WebhookState;
  lastEventAt: number | null;
  previousUntilAt: number | null;
  createdAt: number;
};

export type WebhookSecrets = StoredSecrets & {
  state: WebhookState;
  previousUntilAt: number | null; // unix ms
};

/** The webhook's secrets as they are stored: encrypted, or plain on a hub without a key. */
type StoredSecrets = { sourceId: number; secret: string; previousSecret: string | null };

export type QuietWebhook = Pick<Webhook, 'sourceId' | 'state'> & { quietSinceAt: number };

const COLUMNS = `source_id AS sourceId, state, last_event_at AS lastEventAt, previous_until_at AS previousUntilAt,
  created_at AS createdAt`;

export const ROTATION_GRACE = DAY;

/** How far a sender's clock may be ahead, and the hub's be set back before that ends the previous secret at once. */
const CLOCK_TOLERANCE = 5 * MINUTE;
export const LONGEST_LEFT = ROTATION_GRACE + CLOCK_TOLERANCE;

/** The time of an event (unix ms) as far as it counts: at most CLOCK_TOLERANCE ahead. */
export function credibleTime(at: number, now: number): number {
  return Math.min(at, now + CLOCK_TOLERANCE);
}

const TIMES: StoredTime[] = [
  { table: 'webhooks', column: 'quiet_since_at', furthest: 0 },
  { table: 'webhooks', column: 'silence_told_at', furthest: 0 },
  { table: 'webhooks', column: 'previous_until_at', furthest: LONGEST_LEFT },
];

export const webhooks = store(({ db, clock }) => {
  const insert = db.prepare<[{ sourceId: number; secret: string; now: number }]>('create webhook',
    'INSERT INTO webhooks (source_id, secret, quiet_since_at, created_at) VALUES (@sourceId, @secret, @now, @now)');

  const rotate = db.prepare<[number, string, number]>('rotate webhook secret',
    'UPDATE webhooks SET previous_secret = secret, previous_until_at = ?, secret = ? WHERE source_id = ?');
  const selectPlain = db.prepare<[string, string, number], StoredSecrets>('unsealed secrets', `
    SELECT source_id AS sourceId, secret, previous_secret AS previousSecret FROM webhooks
     WHERE secret LIKE ? OR previous_secret LIKE ? LIMIT ?`);

  const selectArrival = db.prepare<[number], { at: number }>('read the rate limit of a webhook',
    `SELECT arrives_at AS at FROM webhooks WHERE source_id = ? AND state <> 'disabled'`);
  const noteEvents = db.prepare<[{ sourceId: number; at: number; arrivesAt: number }]>('note the events of a webhook', `
    UPDATE webhooks
       SET last_event_at = @at, quiet_since_at = @at, state = 'active', silence_told_at = NULL, arrives_at = @arrivesAt
     WHERE source_id = @sourceId`);

  return {
    create: (sourceId: number, secret: string): void => void insert.run({ sourceId, secret, now: clock() }),
    find: db.prepare<[sourceId: number], Webhook>('webhook', `SELECT ${COLUMNS} FROM webhooks WHERE source_id = ?`).get,
    list: db.prepare<[after: number, limit: number], Webhook>('webhooks', `
      SELECT ${COLUMNS} FROM webhooks WHERE source_id > ? AND ${sourceIsPresent('webhooks.source_id')}
       ORDER BY source_id LIMIT ?`).all,
    secrets: db.prepare<[sourceId: number], WebhookSecrets>('secrets of webhook', `
      SELECT source_id AS sourceId, state, secret, previous_secret AS previousSecret,
             previous_until_at AS previousUntilAt
        FROM webhooks WHERE source_id = ?`).get,
    /** Sets a new secret; the current secret stays valid until `until` (unix ms). False if no webhook exists. */
    rotate: (sourceId: number, secret: string, until: number): boolean =>
      rotate.run(until, secret, sourceId).changes === 1,
    secretsBeginningWith: (prefix: string, limit: number): StoredSecrets[] =>
      selectPlain.all(`${prefix}%`, `${prefix}%`, limit),
    replaceSecrets: db.prepare<[secrets: StoredSecrets]>('seal webhook secrets', `
      UPDATE webhooks SET secret = @secret, previous_secret = @previousSecret WHERE source_id = @sourceId`).run,
    removePreviousSecrets: db.prepare<[now: number, limit: number]>('remove previous secrets', `
      UPDATE webhooks SET previous_secret = NULL, previous_until_at = NULL WHERE source_id IN
        (SELECT source_id FROM webhooks WHERE previous_until_at <= ? LIMIT ?)`).change,
    /** Returns a webhook's theoretical arrival time (GCRA), in unix ms; undefined if the webhook is paused or gone. */
    arrivesAt: (sourceId: number): number | undefined => selectArrival.get(sourceId)?.at,
    noteEvents: (sourceId: number, at: number, arrivesAt: number): void =>
      void noteEvents.run({ sourceId, at, arrivesAt }),
    quiet: db.prepare<[heardBefore: number, toldBefore: number, limit: number], QuietWebhook>('quiet webhooks', `
      SELECT source_id AS sourceId, state, quiet_since_at AS quietSinceAt FROM webhooks
       WHERE state <> 'disabled' AND quiet_since_at < ? AND (silence_told_at IS NULL OR silence_told_at <= ?)
       ORDER BY quiet_since_at LIMIT ?`).all,
    bringBackTimes: createTimeRepair(db, clock, TIMES),
    markSilent: db.prepare<[now: number, sourceId: number]>('mark webhook silent',
      `UPDATE webhooks SET state = 'silent', silence_told_at = ? WHERE source_id = ?`).run,
  };
});

/** An accepted event. Without a post, `guid` (the post's id) and `happenedAt` (the event's time, unix ms) are null. */
export type AcceptedEvent = {
  sourceId: number;
  id: string;
  bodyId: string | null;
  guid: string | null;
  happenedAt: number | null;
};

export const webhookEvents = store(({ db, clock }) => {
  const selectKnown = db.prepare<[number, string, string], { id: string }>('known event',
    'SELECT event_id AS id FROM webhook_events WHERE source_id = ? AND event_id IN (?, ?) LIMIT 1');
  const insert = db.prepare<[number, string, number, string | null, number | null]>('remember event', `
    INSERT INTO webhook_events (source_id, event_id, received_at, guid, happened_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING`);

  return {
    isOutdated: db.prepare<[sourceId: number, guid: string, happenedAt: number], { at: number }>(
      'whether a post has a later event', `
      SELECT happened_at AS at FROM webhook_events WHERE source_id = ? AND guid = ? AND happened_at > ?`).has,
    isKnown: (sourceId: number, { id, bodyId }: Pick<AcceptedEvent, 'id' | 'bodyId'>): boolean =>
      selectKnown.get(sourceId, id, bodyId ?? id) !== undefined,

    /**
     * Adds an accepted event. Returns false if an event with the same id or body was accepted before; the caller must
     * then roll back, because `add` may have stored the id of the event's body before it found that the event is known.
     */
    add({ sourceId, id, bodyId, guid, happenedAt }: AcceptedEvent): boolean {
      const receivedAt = clock();
      const at = happenedAt === null ? null : credibleTime(happenedAt, receivedAt);
      const isNewBody = bodyId === null || insert.run(sourceId, bodyId, receivedAt, null, null).changes === 1;
      return isNewBody && insert.run(sourceId, id, receivedAt, guid, at).changes === 1;
    },

    removeBefore: db.prepare<[before: number, limit: number]>('forget old events', `
      DELETE FROM webhook_events WHERE (source_id, event_id) IN
        (SELECT source_id, event_id FROM webhook_events WHERE received_at < ? LIMIT ?)`).change,
    removeOfSource: db.prepare<[sourceId: number, limit: number]>('remove the events of a source', `
      DELETE FROM webhook_events WHERE (source_id, event_id) IN
        (SELECT source_id, event_id FROM webhook_events WHERE source_id = ? LIMIT ?)`).change,
  };
});
