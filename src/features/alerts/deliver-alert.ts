import { DAY, HOUR, type Random } from '../../platform/clock.ts';
import { backoff, type Effects, type Fate } from '../../platform/jobs/finish-jobs.ts';
import type { Job } from '../../platform/jobs/claim-jobs.ts';
import { PermanentError, RetryLaterError } from '../../platform/jobs/run-job.ts';
import { jobs, type Hub, type JobKind } from '../hub/hub.ts';
import { alertDeliveries, DELIVER_ALERT } from './alert-store.ts';
import { receiverOf, sendAlert, type Receiver, type SendResult } from './send-alert.ts';

/** Of one alert, the first included. */
export const MAX_ATTEMPTS = 5;

/** Messages that failed are there for longer: somebody may have to find out why. */
export const DELIVERED_KEPT = 30 * DAY;
export const FAILED_KEPT = 90 * DAY;

/** How long a receiver's Retry-After may hold an alert back; longer ones are taken for this. */
const LONGEST_WAIT = HOUR;

/** Added to a Retry-After at most, as a share of it, so that what was refused together does not come back together. */
const SPREAD = 0.1;

/**
 * Sends one alert. A worker that dies between the receiver's answer and the commit sends it again: rather twice than
 * never. After a restore none is sent: what a backup holds was told long ago.
 */
export const deliverAlert: JobKind<{ deliveryId: number }> = {
  name: DELIVER_ALERT,
  key: ({ deliveryId }) => String(deliveryId),
  attempts: MAX_ATTEMPTS,
  concurrency: 2,
  afterRestore: 'discard',
  stores: false,
  run: (hub, { deliveryId }, signal, job) => deliver(hub, deliveryId, receiverOf(hub), job, signal),
  failed: (hub, { deliveryId }, error, fate, job) => noteFailure(hub, deliveryId, error, fate, job),
};

/** One attempt. */
export async function deliver(
  hub: Hub, deliveryId: number, receiver: Receiver | undefined, { attempts }: Job, signal: AbortSignal,
): Promise<void | Effects> {
  const delivery = alertDeliveries(hub).find(deliveryId);
  if (delivery?.state !== 'pending') return;
  if (!receiver) throw new PermanentError('no receiver is configured any more: ALERT_WEBHOOK_URL is not set');
  const { body: text, createdAt: at, ...said } = delivery;
  const result = await sendAlert(receiver, { ...said, text, at, hubUrl: hub.config.baseUrl }, signal);
  const next = planDelivery(result, attempts, hub.random);
  if (next.state === 'delivered') return () => alertDeliveries(hub).markDelivered(deliveryId, attempts);
  if (next.state === 'failed') throw new PermanentError(result.detail);
  throw new RetryLaterError(result.detail, hub.clock() + next.delayMs);
}

/** A job that failed for good need not be kept: the delivery is. */
function noteFailure(hub: Hub, deliveryId: number, error: Error, fate: Fate, { attempts }: Job): void {
  if (fate === 'retrying') {
    const nextAt = error instanceof RetryLaterError ? Math.ceil(error.at) : hub.clock();
    return alertDeliveries(hub).markRetrying(deliveryId, attempts, nextAt, error.message);
  }
  alertDeliveries(hub).markFailed(deliveryId, attempts, error.message);
  jobs(hub).settleFailed(deliverAlert.name, String(deliveryId));
}

/**
 * What follows the attempt just made, the `attempts`-th: waits grow (`backoff`), none is shorter than Retry-After.
 * `delayMs`: from now until it is tried again.
 */
export function planDelivery(
  { outcome, retryAfterMs = 0 }: Pick<SendResult, 'outcome' | 'retryAfterMs'>, attempts: number, random: Random,
): { state: 'delivered' } | { state: 'failed' } | { state: 'pending'; delayMs: number } {
  if (outcome === 'delivered') return { state: 'delivered' };
  if (outcome === 'failed' || attempts >= MAX_ATTEMPTS) return { state: 'failed' };
  const asked = Math.min(retryAfterMs, LONGEST_WAIT) * (1 + SPREAD * random());
  return { state: 'pending', delayMs: Math.max(backoff(attempts, random), Math.ceil(asked)) };
}

/** Looks after deliveries that a clock set back or a discarded job has left behind. */
export function tidyDeliveries(hub: Hub): void {
  alertDeliveries(hub).bringBackTimes();
  for (const { id, attempts } of alertDeliveries(hub).pending()) {
    if (jobs(hub).isLive(deliverAlert.name, String(id))) continue;
    alertDeliveries(hub).markFailed(id, attempts, 'it was given up: its job is gone');
  }
}

/** Removes up to `limit` deliveries whose time is over. Returns how many. */
export function removeOldDeliveries(hub: Hub, limit: number): number {
  const { prune } = alertDeliveries(hub);
  const delivered = prune('delivered', hub.clock() - DELIVERED_KEPT, limit);
  return delivered === limit ? limit : prune('failed', hub.clock() - FAILED_KEPT, limit);
}
