import type { KeyObject } from 'node:crypto';
import { DAY, MINUTE, SECOND, type Clock } from '../../platform/clock.ts';
import { overwritingDeleted, type Db } from '../../platform/db/open-database.ts';
import { HttpError } from '../../platform/http/problem.ts';
import type { Actor, RecordAct } from '../audit/audit.ts';
import { isSealed, openSecret, PLAIN, sealSecret } from '../../platform/secrets.ts';
import type { WebhookSecretStore } from './webhook-secret-store.ts';
import { createSecret, signingKeys, type SigningKeys } from './webhook-secret.ts';
import type { Webhook, WebhookStore } from './webhook-store.ts';

/** How long the secret before the last rotation stays valid. */
export const ROTATION_GRACE = DAY;

/**
 * How far a clock may be set back without ending the previous secret: as far as a sender's clock may be off. A clock
 * that was further ahead at the rotation must not make that secret valid for longer than was promised.
 */
const CLOCK_TOLERANCE = 5 * MINUTE;
const LONGEST_LEFT = ROTATION_GRACE + CLOCK_TOLERANCE;

/** A webhook's secrets are read once a second at most: that takes longer than to check a signature. */
const KEPT_FOR = SECOND;
const KEPT_AT_MOST = 1_000;

/** What a sender needs. The secret is shown this once. */
export type WebhookAccess = { url: string; secret: string };

/** A source, as far as its webhook is concerned. */
export type WebhookSource = { id: number; title: string; kind: string };

export type ManagingWebhooksDeps = {
  db: Db;
  webhooks: WebhookStore;
  secretStore: WebhookSecretStore;
  /** Null where no key file is configured: secrets are then stored as they are. */
  key: KeyObject | null;
  baseUrl: string;
  recordAct: RecordAct;
  clock: Clock;
};

export type ManagingWebhooks = ReturnType<typeof managingWebhooks>;

/** Makes webhooks, changes their secrets and reads them. */
export function managingWebhooks(deps: ManagingWebhooksDeps) {
  const { db, webhooks, secretStore, key, baseUrl, recordAct, clock } = deps;

  const urlOf = (sourceId: number): string => `${baseUrl}/api/webhooks/${sourceId}`;
  const seal = (sourceId: number, secret: string): string => sealSecret(secret, key, contextOf(sourceId));
  const open = (sourceId: number, stored: string): string => openSecret(stored, key, contextOf(sourceId));

  const kept = new Map<number, { secrets: SigningKeys[]; at: number }>();

  function readSecrets(sourceId: number, now: number): SigningKeys[] | undefined {
    const stored = webhooks.secrets(sourceId);
    if (!stored || stored.state === 'disabled') return undefined;
    const { secret, previousSecret, previousUntilAt } = stored;
    const left = (previousUntilAt ?? 0) - now;
    const isLive = previousSecret !== null && left > 0 && left <= LONGEST_LEFT;
    return (isLive ? [secret, previousSecret] : [secret]).map((one) => signingKeys(open(sourceId, one)));
  }

  const rotate = db.transaction('rotate webhook secret', (source: WebhookSource, actor: Actor): WebhookAccess => {
    const { id, title } = source;
    const secret = createSecret();
    kept.delete(id);
    if (!webhooks.rotate(id, seal(id, secret), clock() + ROTATION_GRACE)) throw noWebhook();
    recordAct('webhook.rotated', actor, { kind: 'source', id, name: title });
    return { url: urlOf(id), secret };
  });

  const sealSome = db.transaction('seal webhook secrets', (limit: number): number => {
    const plain = key === null ? [] : secretStore.beginningWith(PLAIN, limit);
    for (const { sourceId, secret, previousSecret } of plain) {
      const sealAnew = (stored: string): string => isSealed(stored) ? stored : seal(sourceId, open(sourceId, stored));
      secretStore.replace({
        sourceId, secret: sealAnew(secret), previousSecret: previousSecret && sealAnew(previousSecret),
      });
    }
    return plain.length;
  });

  return {
    urlOf,
    find: (sourceId: number): Webhook | undefined => webhooks.find(sourceId),

    /** In the caller's transaction, which makes the source. */
    create(sourceId: number): WebhookAccess {
      const secret = createSecret();
      kept.delete(sourceId);
      webhooks.create(sourceId, seal(sourceId, secret));
      return { url: urlOf(sourceId), secret };
    },

    /** A new secret; the one before it stays valid for a day, and the one before that no longer. 409 for no webhook. */
    rotate,

    /**
     * The secrets that are valid now; undefined where there is no webhook, or none that takes events. May be a second
     * old. Throws SealedSecretError where they cannot be read.
     */
    liveSecrets(sourceId: number): SigningKeys[] | undefined {
      const now = clock();
      const known = kept.get(sourceId);
      if (known && Math.abs(now - known.at) < KEPT_FOR) return known.secrets;
      const secrets = readSecrets(sourceId, now);
      if (kept.size >= KEPT_AT_MOST) kept.clear();
      if (secrets) kept.set(sourceId, { secrets, at: now });
      return secrets;
    },

    /** Seals up to `limit` secrets that were stored before there was a key. Returns how many. */
    sealSome: (limit: number): number => overwritingDeleted(db, () => sealSome(limit)),

    /** Forgets up to `limit` secrets that are valid no longer. Returns how many. */
    removeExpired: (limit: number): number =>
      overwritingDeleted(db, () => secretStore.removePrevious(clock(), clock() + LONGEST_LEFT, limit)),
  };
}

/** Whose secret it is, so that none can be moved to another webhook. */
function contextOf(sourceId: number): string {
  return `webhook ${sourceId}`;
}

function noWebhook(): HttpError {
  return new HttpError(409, 'This source is no webhook.');
}
