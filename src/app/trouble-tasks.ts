import { HOUR, MINUTE, SECOND } from '../platform/clock.ts';
import type { Task } from '../platform/jobs/scheduler.ts';
import { removeOldDeliveries, tidyDeliveries } from '../features/alerts/deliver-alert.ts';
import { tellTroubles } from '../features/alerts/raise-alerts.ts';
import { findSilentWebhooks } from '../features/webhooks/find-silent-webhooks.ts';
import { removeExpiredSecrets, sealSecrets } from '../features/webhooks/manage-webhooks.ts';
import { removeOldEvents } from '../features/webhooks/receive-event.ts';
import type { App } from './app.ts';
import { watchingTroubles } from './watch-troubles.ts';

/**
 * A task that does all there is, at a pace that lets others write; `some` does up to `limit` and returns how many. What
 * it has done stands in the log.
 */
export type Drain = (name: string, everyMs: number, some: (limit: number) => number) => Task;

/** What the worker does for webhooks and alerts from time to time. */
export function troubleTasks(app: App, drain: Drain): Task[] {
  const { hub } = app;
  const { watchEnds, watchSpace, watchBackups, watchErrors } = watchingTroubles(app);

  return [
    drain('find silent webhooks', HOUR, (limit) => findSilentWebhooks(hub, limit)),
    { name: 'watch errors', everyMs: MINUTE, run: watchErrors },
    { name: 'watch free space', everyMs: MINUTE, run: watchSpace },
    { name: 'watch backups', everyMs: 10 * MINUTE, run: watchBackups },
    { name: 'watch for ends of troubles', everyMs: MINUTE, run: watchEnds },
    { name: 'tell of troubles', everyMs: 5 * SECOND, run: () => tellTroubles(hub) },
    { name: 'tidy alerts', everyMs: MINUTE, run: () => tidyDeliveries(hub) },
    drain('remove old alerts', HOUR, (limit) => removeOldDeliveries(hub, limit)),
    drain('forget old webhook events', MINUTE, (limit) => removeOldEvents(hub, limit)),
    drain('forget replaced webhook secrets', HOUR, (limit) => removeExpiredSecrets(hub, limit)),
    drain('seal webhook secrets', HOUR, (limit) => sealSecrets(hub, limit)),
  ];
}
