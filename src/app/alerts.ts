import { alertDeliveries as alertDeliveriesOf } from '../features/alerts/alert-delivery-store.ts';
import { alertEvents as alertEventsOf } from '../features/alerts/alert-event-store.ts';
import { deliverAlert, DELIVER_ALERT, DELIVERY_ATTEMPTS } from '../features/alerts/deliver-alert.ts';
import { describeDestination } from '../features/alerts/describe-destination.ts';
import { raisingAlerts } from '../features/alerts/raise-alerts.ts';
import { createAlertSender, type SendAlert } from '../features/alerts/send-alert.ts';
import { TROUBLES, type Trouble } from '../features/alerts/troubles.ts';
import { DAY, HOUR } from '../platform/clock.ts';
import type { Job, JobQueue } from '../platform/jobs/job-queue.ts';
import type { JobHandler } from '../platform/jobs/worker.ts';
import type { Surroundings } from './app.ts';
import { hubUserAgent } from '../features/hub/hub-user-agent.ts';

/** Messages that failed are there for longer: somebody may have to find out why. */
export const DELIVERED_KEPT = 30 * DAY;
export const FAILED_KEPT = 90 * DAY;

/** No delivery is ever put off further, so a later one was planned while the clock was ahead. */
const NEVER_LATER = 2 * HOUR;

export type Alerts = ReturnType<typeof createAlerts>;

type Needs = Pick<Surroundings, 'db' | 'config' | 'clock' | 'random' | 'log'> & { hub: Surroundings; jobs: JobQueue };

/** What the operator is told of. Without a receiver nothing is stored: what would be told is in the log alone. */
export function createAlerts({ hub, db, config, clock, random, log, jobs }: Needs) {
  const deliveries = alertDeliveriesOf(hub);
  const isOn = config.alertWebhookUrl !== null;
  const raising = raisingAlerts({
    db, clock, deliveries,
    events: alertEventsOf(hub),
    enqueue(deliveryId) {
      const payload = { deliveryId };
      jobs.enqueue({ kind: DELIVER_ALERT, payload, dedupeKey: String(deliveryId), maxAttempts: DELIVERY_ATTEMPTS });
    },
  });
  const send = senderFor(config, clock);
  const lasting = new Set<Trouble>();
  const note = (trouble: Trouble, subject: string): void =>
    log.warn('trouble', { trouble, title: TROUBLES[trouble].title, subject });

  function raise(trouble: Trouble, subject: string): void {
    note(trouble, subject);
    if (isOn) raising.raise(trouble, subject);
  }

  return {
    send,
    /** Scheme, host and port of the receiver; null without one. */
    destination: config.alertWebhookUrl === null ? null : describeDestination(config.alertWebhookUrl),
    list: deliveries.list,
    isOpen: raising.isOpen,
    tell: raising.tell,

    /** In the caller's transaction. `subject` says in one line what it happened to. */
    raise,

    /** The last attempt of a synchronisation has failed; undefined for a source that is gone. */
    raiseSyncFailed(source: { id: number; title: string } | undefined, error: Error): void {
      if (source) raise('sync-failed', `“${source.title}” (${config.baseUrl}/sources/${source.id}): ${error.message}`);
    },

    /** For a state of things: `subject` in words while it lasts, null when it does not. */
    watch(trouble: Trouble, subject: string | null): void {
      if (subject === null) lasting.delete(trouble);
      else if (!lasting.has(trouble)) note(trouble, subject);
      if (subject !== null) lasting.add(trouble);
      if (isOn) raising.watch(trouble, subject);
    },

    /** Removes up to `batch` deliveries whose time is over. Returns how many. */
    prune(batch: number): number {
      const delivered = deliveries.prune('delivered', clock() - DELIVERED_KEPT, batch);
      return delivered === batch ? batch : deliveries.prune('failed', clock() - FAILED_KEPT, batch);
    },

    /** Deliveries that a clock set back or a discarded job has left behind. */
    tidy(): void {
      jobs.pullBack(DELIVER_ALERT, clock() + NEVER_LATER);
      deliveries.failAbandoned(DELIVER_ALERT);
    },

    handlers: {
      [DELIVER_ALERT]: deliverAlert({
        deliveries, send, clock, random,
        hubUrl: config.baseUrl,
        settleJob: (deliveryId) => void jobs.settleFailed(DELIVER_ALERT, String(deliveryId)),
      }),
    },
  };
}

/** The same handler; `raise` is called when a job has failed for good, in the transaction that records it. */
export function alertingOfFailure(handler: JobHandler, raise: (job: Job, error: Error) => void): JobHandler {
  return {
    ...handler,
    failed(job, error, fate) {
      handler.failed?.(job, error, fate);
      if (fate === 'failed') raise(job, error);
    },
  };
}

function senderFor(config: Surroundings['config'], clock: Surroundings['clock']): SendAlert | undefined {
  const { alertWebhookUrl: url, alertWebhookFormat: format } = config;
  return url === null ? undefined : createAlertSender({ url, format, userAgent: hubUserAgent(config), clock });
}
