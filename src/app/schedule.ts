import { DAY, HOUR, MINUTE, SECOND } from '../platform/clock.ts';
import type { Task } from '../platform/jobs/scheduler.ts';
import { credentials as credentialsOf } from '../features/accounts/credential-store.ts';
import { invitations as invitationsOf } from '../features/accounts/invitation-store.ts';
import { heartbeats } from '../features/hub/hub.ts';
import { planDueSyncs, pullBackStrayedSyncs } from '../features/feeds/queue-syncs.ts';
import { THE_HUB } from '../features/audit/audit.ts';
import type { App } from './app.ts';
import { createRetention } from './retention.ts';
import { troubleTasks, type Drain } from './trouble-tasks.ts';

export const FINISHED_JOBS_KEPT = DAY;

/** The worker's recurring work. Each can be repeated without harm. */
export function schedule(app: App): Task[] {
  const { paced, clock, log, jobs, limits, attachments } = app;
  const credentials = credentialsOf(app.hub);
  const invitations = invitationsOf(app.hub);

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

  /** Every file without a verdict has a job that asks for one. */
  async function scanUnscanned(stopping: AbortSignal): Promise<void> {
    let after = '';
    await paced('scan unscanned uploads', (limit) => {
      const found = attachments.scanUnscanned(after, limit);
      after = found.at(-1) ?? after;
      return found.length;
    }, () => stopping.aborted);
  }

  const retention = createRetention(app, THE_HUB);
  const { sweeping, remoteCache } = attachments;
  const pruneJobs = (batch: number) => jobs.prune(clock() - FINISHED_JOBS_KEPT, batch);

  return [
    { name: 'heartbeat', everyMs: 5 * SECOND, run: () => heartbeats(app.hub).beat('worker') },
    { name: 'plan due syncs', everyMs: SECOND, run: (stopping) => planDueSyncs(app.hub, stopping) },
    { name: 'pull back strayed syncs', everyMs: MINUTE, run: () => pullBackStrayedSyncs(app.hub) },
    drain('remove finished jobs', MINUTE, pruneJobs),
    drain('remove idle rate limits', MINUTE, limits.prune),
    drain('remove expired sessions', MINUTE, credentials.removeExpired),
    { name: 'scan unscanned uploads', everyMs: HOUR, run: scanUnscanned },
    { name: 'sweep uploads', everyMs: HOUR, run: sweeping.sweepDaily },
    { name: 'remove abandoned uploads', everyMs: HOUR, run: sweeping.removeAbandoned },
    { name: 'tidy the cache', everyMs: HOUR, run: remoteCache.tidy },
    ...troubleTasks(app, drain),
    { name: 'remove old rows', everyMs: 5 * SECOND, run: retention.runDaily },
    drain('remove expired invitations', MINUTE, invitations.removeExpired),
  ];
}
