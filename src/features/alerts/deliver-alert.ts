import { DAY, HOUR, type Random } from '../../platform/clock.ts';
import { backoff, type Effects, type Fate } from '../../platform/jobs/finish-jobs.ts';
import type { Job } from '../../platform/jobs/claim-jobs.ts';
import { PermanentError, RetryLaterError } from '../../platform/jobs/run-job.ts';
import { jobs, type Hub, type JobKind } from '../hub/hub.ts';
import { alertDeliveries, DELIVER_ALERT } from './alert-store.ts';
import { receiverOf, sendAlert, type Receiver, type SendResult } from './send-alert.ts';

/** Attempts per alert, including the first. */
export const MAX_ATTEMPTS = 5;

/** Failed messages are kept longer, so that an operator can find out why. */
export const DELIVERED_KEPT = 30 * DAY;
export const FAILED_KEPT = 90 * DAY;

/** Upper bound for a receiver's Retry-After. */
const LONGEST_WAIT = HOUR;

/** Jitter: at most this share is added to a Retry-After, so that refused alerts do not return together. */
const SPREAD = 0.1;

/**
 * Sends one alert, at least once: a worker that dies between the receiver's answer and the commit sends it again. After
 * a restore none is sent, because the alerts in a backup are old.
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

/** Records the failure in the delivery. The failed job need not be kept. */
function noteFailure(hub: Hub, deliveryId: number, error: Error, fate: Fate, { attempts }: Job): void {
  if (fate === 'retrying') {
    const nextAt = error instanceof RetryLaterError ? Math.ceil(error.at) : hub.clock();
    return alertDeliveries(hub).markRetrying(deliveryId, attempts, nextAt, error.message);
  }
  alertDeliveries(hub).markFailed(deliveryId, attempts, error.message);
  jobs(hub).settleFailed(deliverAlert.name, String(deliveryId));
}

/**
 * The next state after attempt number `attempts`. Waits grow (`backoff`) and are at least Retry-After. `delayMs`: the
 * time until the next attempt.
 */
export function planDelivery(
  { outcome, retryAfterMs = 0 }: Pick<SendResult, 'outcome' | 'retryAfterMs'>, attempts: number, random: Random,
): { state: 'delivered' } | { state: 'failed' } | { state: 'pending'; delayMs: number } {
  if (outcome === 'delivered') return { state: 'delivered' };
  if (outcome === 'failed' || attempts >= MAX_ATTEMPTS) return { state: 'failed' };
  const asked = Math.min(retryAfterMs, LONGEST_WAIT) * (1 + SPREAD * random());
  return { state: 'pending', delayMs: Math.max(backoff(attempts, random), Math.ceil(asked)) };
}

/** Repairs deliveries after the clock was set back, and fails those whose job was discarded. */
export function tidyDeliveries(hub: Hub): void {
  alertDeliveries(hub).bringBackTimes();
  for (const { id, attempts } of alertDeliveries(hub).pending()) {
    if (jobs(hub).isLive(deliverAlert.name, String(id))) continue;
    alertDeliveries(hub).markFailed(id, attempts, 'it was given up: its job is gone');
  }
}

/** Removes up to `limit` old deliveries. Returns how many. */
export function removeOldDeliveries(hub: Hub, limit: number): number {
  const { prune } = alertDeliveries(hub);
  const delivered = prune('delivered', hub.clock() - DELIVERED_KEPT, limit);
  return delivered === limit ? limit : prune('failed', hub.clock() - FAILED_KEPT, limit);
}
