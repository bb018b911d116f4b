import { HOUR, MINUTE, SECOND } from '../platform/clock.ts';
import type { Task } from '../platform/jobs/scheduler.ts';
import type { App } from './app.ts';
import { watchingTroubles } from './watch-troubles.ts';

type Drain = (removeSome: (batch: number) => number) => Promise<void>;

/** What the worker does for webhooks and alerts from time to time. */
export function troubleTasks(app: App, drain: Drain): Task[] {
  const { alerts, webhooks } = app;
  const { managing } = webhooks;
  const { watchEnds, watchSpace, watchBackups, watchErrors } = watchingTroubles(app);

  return [
    { name: 'find silent webhooks', everyMs: HOUR, run: () => drain(webhooks.findSilent) },
    { name: 'watch errors', everyMs: MINUTE, run: watchErrors },
    { name: 'watch free space', everyMs: MINUTE, run: watchSpace },
    { name: 'watch backups', everyMs: 10 * MINUTE, run: watchBackups },
    { name: 'watch for ends of troubles', everyMs: MINUTE, run: watchEnds },
    { name: 'tell of troubles', everyMs: 5 * SECOND, run: alerts.tell },
    { name: 'tidy alerts', everyMs: MINUTE, run: alerts.tidy },
    { name: 'remove old alerts', everyMs: HOUR, run: () => drain(alerts.prune) },
    { name: 'forget old webhook events', everyMs: MINUTE, run: () => drain(webhooks.pruneEvents) },
    { name: 'forget replaced webhook secrets', everyMs: HOUR, run: () => drain(managing.removeExpired) },
    { name: 'seal webhook secrets', everyMs: HOUR, run: () => drain(managing.sealSome) },
  ];
}
