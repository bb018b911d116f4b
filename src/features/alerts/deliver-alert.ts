import type { Clock, Random } from '../../platform/clock.ts';
import type { Job } from '../../platform/jobs/job-queue.ts';
import { PermanentError, RetryLaterError, type JobHandler } from '../../platform/jobs/worker.ts';
import type { AlertDelivery, AlertDeliveryStore } from './alert-delivery-store.ts';
import type { Alert } from './alert.ts';
import { MAX_ATTEMPTS, planDelivery } from './plan-delivery.ts';
import type { SendAlert } from './send-alert.ts';

export const DELIVER_ALERT = 'deliver-alert';
export const DELIVERY_ATTEMPTS = MAX_ATTEMPTS;

export type DeliverAlertDeps = {
  deliveries: AlertDeliveryStore;
  /** Undefined where no receiver is configured. */
  send: SendAlert | undefined;
  hubUrl: string;
  clock: Clock;
  random: Random;
  /** The failed job need not be kept: the delivery is. Given by app. */
  settleJob(deliveryId: number): void;
};

/**
 * Sends one alert. A worker that dies between the receiver's answer and the commit sends it again: rather twice than
 * never.
 */
export function deliverAlert({ deliveries, send, hubUrl, clock, random, settleJob }: DeliverAlertDeps): JobHandler {
  async function run(job: Job, signal: AbortSignal): Promise<void | (() => void)> {
    const delivery = deliveries.find(idOf(job));
    if (delivery?.state !== 'pending') return;
    if (!send) throw new PermanentError('there is no receiver any more: ALERT_WEBHOOK_URL is not set');
    const result = await send(toAlert(delivery, hubUrl), signal);
    const next = planDelivery(result, job.attempts, random);
    if (next.state === 'delivered') return () => deliveries.markDelivered(delivery.id, job.attempts);
    if (next.state === 'failed') throw new PermanentError(result.detail);
    throw new RetryLaterError(result.detail, clock() + next.delayMs);
  }

  function failed(job: Job, error: Error, fate: 'retrying' | 'failed'): void {
    const id = idOf(job);
    if (fate === 'retrying') {
      const nextAt = error instanceof RetryLaterError ? Math.ceil(error.at) : clock();
      return deliveries.markRetrying(id, job.attempts, nextAt, error.message);
    }
    deliveries.markFailed(id, job.attempts, error.message);
    settleJob(id);
  }

  return { concurrency: 2, run, failed };
}

function idOf({ payload }: Job): number {
  return (payload as { deliveryId: number }).deliveryId;
}

function toAlert({ title, body, severity, event, createdAt, suppressed }: AlertDelivery, hubUrl: string): Alert {
  return { title, text: body, severity, event, at: createdAt, hubUrl, suppressed };
}
