import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import type { Limit } from '../../platform/http/rate-limit-store.ts';

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

type Allowance = Omit<Limit, 'name'>;
type Hearing = { sourceId: number; now: number; latest: number; everyMs: number };

export type WebhookStore = ReturnType<typeof createWebhookStore>;

/** The webhooks of sources of that kind: their secrets, and when they were last heard. */
export function createWebhookStore(db: Db, clock: Clock) {
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
  // One statement, since it runs for every event. What lies beyond the latest moment was written by a clock ahead.
  const hear = db.prepare<[Hearing]>('hear webhook', `
    UPDATE webhooks
       SET last_event_at = @now, quiet_since_at = @now, state = 'active', silence_told_at = NULL,
           paid_until_at = iif(paid_until_at > @latest, @now, MAX(paid_until_at, @now)) + @everyMs
     WHERE source_id = @sourceId AND state <> 'disabled'
       AND (paid_until_at + @everyMs <= @latest OR paid_until_at > @latest)`);
  const selectPaid = db.prepare<[number], { until: number }>('rate limit of webhook',
    'SELECT paid_until_at AS until FROM webhooks WHERE source_id = ?');

  const waitOf = (sourceId: number, latest: number, { everyMs }: Allowance): number =>
    (selectPaid.get(sourceId)?.until ?? 0) + everyMs - latest;

  return {
    create: (sourceId: number, secret: string): void => void insert.run(sourceId, secret, clock(), clock()),
    find: (sourceId: number): Webhook | undefined => select.get(sourceId),
    secrets: (sourceId: number): WebhookSecrets | undefined => selectSecrets.get(sourceId),
    takesEvents: (sourceId: number): boolean => (select.get(sourceId)?.state ?? 'disabled') !== 'disabled',
    isDeleted: (sourceId: number): boolean => selectDeleted.get(sourceId) !== undefined,

    /** The present secret becomes the previous one, valid until `until` (unix ms). False where there is no webhook. */
    rotate: (sourceId: number, secret: string, until: number): boolean =>
      rotate.run(until, secret, sourceId).changes === 1,

    /**
     * A valid event has come. 0, or the milliseconds until the rate limit admits it: nothing has changed then.
     */
    hear(sourceId: number, limit: Allowance): number {
      const now = clock();
      const latest = latestOf(now, limit);
      if (hear.run({ sourceId, now, latest, everyMs: limit.everyMs }).changes === 1) return 0;
      return Math.max(1, waitOf(sourceId, latest, limit));
    },

    /** What `hear` would answer now; changes nothing. */
    waitFor(sourceId: number, limit: Allowance): number {
      const latest = latestOf(clock(), limit);
      const wait = waitOf(sourceId, latest, limit);
      return wait > limit.everyMs ? 0 : Math.max(0, wait); // more was written by a clock ahead
    },
  };
}

/** How far ahead a rate limit may be paid. */
function latestOf(now: number, { burst, everyMs }: Allowance): number {
  return now + burst * everyMs;
}
