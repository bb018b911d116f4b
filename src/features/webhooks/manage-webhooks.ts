import { DAY } from '../../platform/clock.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { duration } from '../../platform/in-words.ts';
import { PLAIN, sealedSecrets } from '../../platform/secrets.ts';
import { raiseAlert } from '../alerts/raise-alerts.ts';
import { audit, type By } from '../audit/audit.ts';
import { once, type Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { sources, type Source } from '../sources/source-store.ts';
import { createSecret, signingKeys, type SigningKeys } from './verify-signature.ts';
import { LONGEST_LEFT, ROTATION_GRACE, webhooks, type QuietWebhook, type WebhookSecrets } from './webhook-store.ts';

export type WebhookAccess = { url: string; secret: string };

const signingSecrets = sealedSecrets('webhook');

/** The address to which a sender posts events. */
export function webhookUrl({ config }: Hub, sourceId: number): string {
  return `${config.baseUrl}/api/webhooks/${sourceId}`;
}

/** Creates the webhook of a new source, in the caller's transaction. */
export function createWebhook(hub: Hub, sourceId: number): WebhookAccess {
  const secret = createSecret();
  webhooks(hub).create(sourceId, signingSecrets.seal(hub.config, sourceId, secret));
  return { url: webhookUrl(hub, sourceId), secret };
}

/** Creates a new secret; the current one stays valid for ROTATION_GRACE. Throws 409 if the source is not a webhook. */
export function rotateSecret(hub: Hub, { id, title }: Source, by: By): WebhookAccess {
  const secret = createSecret();
  const sealed = signingSecrets.seal(hub.config, id, secret);
  hub.db.write('rotate webhook secret', () => {
    const isWebhook = webhooks(hub).rotate(id, sealed, hub.clock() + ROTATION_GRACE);
    if (!isWebhook) throw new HttpError(409, 'This source is not a webhook.');
    audit(hub, 'webhook.rotated', by, { kind: 'source', id, name: title });
  });
  return { url: webhookUrl(hub, id), secret };
}

/** Returns the keys of a webhook's valid secrets; undefined if it is missing or disabled. Throws SealedSecretError. */
export function liveSecrets(hub: Hub, sourceId: number): SigningKeys[] | undefined {
  const stored = secretsAsOfNow(hub, sourceId);
  if (!stored || stored.state === 'disabled') return undefined;
  const { secret, previousSecret, previousUntilAt } = stored;
  const left = (previousUntilAt ?? 0) - hub.clock();
  const isLive = previousSecret !== null && left > 0 && left <= LONGEST_LEFT;
  const sealed = isLive ? [secret, previousSecret] : [secret];
  return sealed.map((one) => keysOf(hub, sourceId, one));
}

/** Another process's change of a webhook is seen after this time (ms), a change of this process at once. */
const SEEN_MS = 20;

const seen = once((_hub: Hub) => ({ until: 0, commits: 0, rows: new Map<number, WebhookSecrets | undefined>() }));

/** Reads a webhook's row once for all events between two commits: reading takes as long as checking a signature. */
function secretsAsOfNow(hub: Hub, sourceId: number): WebhookSecrets | undefined {
  const [last, now, commits] = [seen(hub), performance.now(), hub.db.commits()];
  if (now > last.until || commits !== last.commits) {
    last.rows.clear();
    Object.assign(last, { until: now + SEEN_MS, commits });
  }
  if (!last.rows.has(sourceId)) last.rows.set(sourceId, webhooks(hub).secrets(sourceId));
  return last.rows.get(sourceId);
}

/** So many secrets keep their keys: unsealing one and making its keys takes 10 µs, checking an event 9. */
const KEYS_KEPT = 1_000;

const keptKeys = once((_hub: Hub) => new Map<string, SigningKeys>());

/** Kept by the sealed text, so that a new secret has new keys at once. Throws SealedSecretError. */
function keysOf(hub: Hub, sourceId: number, sealed: string): SigningKeys {
  const kept = keptKeys(hub);
  const name = `${sourceId} ${sealed}`;
  const known = kept.get(name);
  if (known) return known;
  const keys = signingKeys(signingSecrets.open(hub.config, sourceId, sealed));
  if (kept.size >= KEYS_KEPT) kept.clear();
  kept.set(name, keys);
  return keys;
}

/** Encrypts plain secrets of up to `limit` webhooks, in the caller's transaction; returns the number of webhooks. */
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

export const LONGEST_QUIET = 7 * DAY;

const ALERT_EVERY = DAY;

/** Reports up to `limit` silent webhooks, in the caller's transaction; returns the number of reported webhooks. */
export function findSilentWebhooks(hub: Hub, limit: number): number {
  const now = hub.clock();
  const quiet = webhooks(hub).quiet(now - LONGEST_QUIET, now - ALERT_EVERY, limit);
  for (const webhook of quiet) {
    webhooks(hub).markSilent(now, webhook.sourceId);
    reportSilence(hub, webhook, now);
  }
  return quiet.length;
}

function reportSilence(hub: Hub, { sourceId, state, quietSinceAt }: QuietWebhook, now: number): void {
  const source = sources(hub).find(sourceId);
  if (!source) return;
  raiseAlert(hub, { event: 'webhook-silent', source, problem: `no events for ${duration(now - quietSinceAt)}` });
  if (state === 'silent') return; // the webhook's owner was notified of the silence before
  notifications(hub).add({
    accountId: source.ownerId,
    kind: 'webhook.silent',
    title: `“${source.title}” has had no events for more than 7 days`,
    path: `/sources/${sourceId}`,
  });
}
