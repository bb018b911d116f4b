import { DAY, HOUR, MINUTE, SECOND } from '../platform/clock.ts';
import type { Task } from '../platform/jobs/scheduler.ts';
import { credentials as credentialsOf } from '../features/accounts/credential-store.ts';
import { invitations as invitationsOf } from '../features/accounts/invitation-store.ts';
import { tidyCache } from '../features/attachments/remote-cache.ts';
import { scanUnscanned } from '../features/attachments/scan-upload.ts';
import { removeAbandonedUploads, sweepUploads } from '../features/attachments/sweep-uploads.ts';
import { heartbeats } from '../features/hub/hub.ts';
import { planDueSyncs, pullBackStrayedSyncs } from '../features/feeds/queue-syncs.ts';
import { THE_HUB } from '../features/audit/audit.ts';
import type { App } from './app.ts';
import { createRetention } from './retention.ts';
import { troubleTasks, type Drain } from './trouble-tasks.ts';

export const FINISHED_JOBS_KEPT = DAY;

/** The worker's recurring work. Each can be repeated without harm. */
export function schedule(app: App): Task[] {
  const { paced, clock, log, jobs, limits, hub } = app;
  const credentials = credentialsOf(hub);
  const invitations = invitationsOf(hub);

  const drain: Drain = (name, everyMs, some) => ({
    name,
    everyMs,
    async run(stopping) {
      let rows = 0;
      await paced(name, (limit) => {
        const done = some(limit);
        rows += done;
        return done;
      }, () => stopping.aborted);
      if (rows > 0) log.info('scheduled task', { task: name, rows });
    },
  });

  const retention = createRetention(app, THE_HUB);
  const pruneJobs = (batch: number) => jobs.prune(clock() - FINISHED_JOBS_KEPT, batch);

  return [
    { name: 'heartbeat', everyMs: 5 * SECOND, run: () => heartbeats(hub).beat('worker') },
    { name: 'plan due syncs', everyMs: SECOND, run: (stopping) => planDueSyncs(hub, stopping) },
    { name: 'pull back strayed syncs', everyMs: MINUTE, run: () => pullBackStrayedSyncs(hub) },
    drain('remove finished jobs', MINUTE, pruneJobs),
    drain('remove idle rate limits', MINUTE, limits.prune),
    drain('remove expired sessions', MINUTE, credentials.removeExpired),
    { name: 'scan unscanned uploads', everyMs: HOUR, run: (stopping) => scanUnscanned(hub, stopping) },
    { name: 'sweep uploads', everyMs: HOUR, run: () => sweepUploads(hub) },
    { name: 'remove abandoned uploads', everyMs: HOUR, run: () => removeAbandonedUploads(hub) },
    { name: 'tidy the cache', everyMs: HOUR, run: () => tidyCache(hub) },
    ...troubleTasks(app, drain),
    { name: 'remove old rows', everyMs: 5 * SECOND, run: retention.runDaily },
    drain('remove expired invitations', MINUTE, invitations.removeExpired),
  ];
}
