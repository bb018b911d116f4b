import { DAY, hasPassed, SECOND } from '../../platform/clock.ts';
import { HttpError } from '../../platform/http/reply.ts';
import { duration } from '../../platform/in-words.ts';
import { PLAIN, sealedSecrets } from '../../platform/secrets.ts';
import { raiseAlert } from '../alerts/raise-alerts.ts';
import { audit, type By } from '../audit/audit.ts';
import { once, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { createSecret, signingKeys, type SigningKeys } from './verify-signature.ts';
import { LONGEST_LEFT, ROTATION_GRACE, webhooks, type QuietWebhook } from './webhook-store.ts';

/** A webhook's secrets are read once a second at most: that takes longer than to check a signature. */
const KEPT_FOR = SECOND;
const KEPT_AT_MOST = 1_000;

/** What a sender needs. The secret is shown this once. */
export type WebhookAccess = { url: string; secret: string };

const signingSecrets = sealedSecrets('webhook');
const keptSecrets = once(() => new Map<number, { secrets: SigningKeys[]; at: number }>());

/** Where the senders of a webhook send to. */
export function webhookUrl({ config }: Hub, sourceId: number): string {
  return `${config.baseUrl}/api/webhooks/${sourceId}`;
}

/** Makes the webhook of a source, in the caller's transaction, which makes the source. */
export function createWebhook(hub: Hub, sourceId: number): WebhookAccess {
  const secret = createSecret();
  webhooks(hub).create(sourceId, signingSecrets.seal(hub.config, sourceId, secret));
  return { url: webhookUrl(hub, sourceId), secret };
}

/** A new secret; the one before it stays valid for a day, and the one before that no longer. 409 for no webhook. */
export function rotateSecret(hub: Hub, { id, title }: Source, by: By): WebhookAccess {
  const secret = createSecret();
  const sealed = signingSecrets.seal(hub.config, id, secret);
  hub.db.write('rotate webhook secret', () => {
    const isWebhook = webhooks(hub).rotate(id, sealed, hub.clock() + ROTATION_GRACE);
    if (!isWebhook) throw new HttpError(409, 'This source is not a webhook.');
    audit(hub, 'webhook.rotated', by, { kind: 'source', id, name: title });
  });
  keptSecrets(hub).delete(id);
  return { url: webhookUrl(hub, id), secret };
}

/**
 * The secrets that are valid now; undefined where there is no webhook, or none that takes events. May be a second old.
 * Throws SealedSecretError where they cannot be read.
 */
export function liveSecrets(hub: Hub, sourceId: number): SigningKeys[] | undefined {
  const now = hub.clock();
  const kept = keptSecrets(hub);
  const known = kept.get(sourceId);
  if (known && !hasPassed(known.at, KEPT_FOR, now)) return known.secrets;
  const secrets = readSecrets(hub, sourceId, now);
  if (kept.size >= KEPT_AT_MOST) kept.clear();
  if (secrets) kept.set(sourceId, { secrets, at: now });
  return secrets;
}

function readSecrets(hub: Hub, sourceId: number, now: number): SigningKeys[] | undefined {
  const stored = webhooks(hub).secrets(sourceId);
  if (!stored || stored.state === 'disabled') return undefined;
  const { secret, previousSecret, previousUntilAt } = stored;
  const left = (previousUntilAt ?? 0) - now;
  const isLive = previousSecret !== null && left > 0 && left <= LONGEST_LEFT;
  const sealed = isLive ? [secret, previousSecret] : [secret];
  return sealed.map((one) => signingKeys(signingSecrets.open(hub.config, sourceId, one)));
}

/** Seals up to `limit` secrets from before there was a key, in the caller's transaction. Returns how many. */
export function sealSecrets(hub: Hub, limit: number): number {
  if (hub.config.hubSecretKey === null) return 0;
  const plain = webhooks(hub).secretsBeginningWith(PLAIN, limit);
  for (const { sourceId, secret, previousSecret } of plain) {
    const sealAnew = (stored: string): string => signingSecrets.sealAnew(hub.config, sourceId, stored);
    webhooks(hub).replaceSecrets({
      sourceId, secret: sealAnew(secret), previousSecret: previousSecret && sealAnew(previousSecret),
    });
  }
  return plain.length;
}

/** Forgets up to `limit` secrets that are valid no longer, in the caller's transaction. Returns how many. */
export function removeExpiredSecrets(hub: Hub, limit: number): number {
  return webhooks(hub).removePreviousSecrets(hub.clock(), limit);
}

/** A webhook that is quiet for longer than this is silent. */
export const LONGEST_QUIET = 7 * DAY;

/** While one stays silent the operator is told again. */
const TELL_EVERY = DAY;

/**
 * Finds webhooks that are not heard any more and tells their owners and the operator, in the caller's transaction.
 * Takes up to `limit` and returns how many.
 */
export function findSilentWebhooks(hub: Hub, limit: number): number {
  const now = hub.clock();
  const quiet = webhooks(hub).quiet(now - LONGEST_QUIET, now - TELL_EVERY, limit);
  for (const webhook of quiet) {
    webhooks(hub).markSilent(webhook.sourceId, now);
    tellOf(hub, webhook, now);
  }
  return quiet.length;
}

function tellOf(hub: Hub, { sourceId, state, quietSinceAt }: QuietWebhook, now: number): void {
  const source = sources(hub).find(sourceId);
  if (!source) return;
  raiseAlert(hub, { event: 'webhook-silent', source, problem: `no events for ${duration(now - quietSinceAt)}` });
  if (state === 'silent') return; // its owner knows
  notifications(hub).add({
    accountId: source.ownerId,
    kind: 'webhook.silent',
    title: `“${source.title}” has had no events for more than 7 days`,
    path: `/sources/${sourceId}`,
  });
}
