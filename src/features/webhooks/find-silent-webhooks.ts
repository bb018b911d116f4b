import { DAY } from '../../platform/clock.ts';
import { raiseSourceAlert } from '../alerts/raise-alerts.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { sources } from '../sources/source-store.ts';
import { webhooks, type QuietWebhook } from './webhook-store.ts';

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
  raiseSourceAlert(hub, 'webhook-silent', source, `nothing for ${Math.floor((now - quietSinceAt) / DAY)} days`);
  if (state === 'silent') return; // its owner knows
  notifications(hub).add({
    accountId: source.ownerId,
    kind: 'webhook.silent',
    title: `“${source.title}” has had no events for more than 7 days`,
    path: `/sources/${sourceId}`,
  });
}
