import { setImmediate } from 'node:timers/promises';
import { DAY, HOUR, MINUTE, SECOND } from '../platform/clock.ts';
import { createHeartbeat } from '../platform/jobs/heartbeat.ts';
import type { Task } from '../platform/jobs/scheduler.ts';
import { createCredentialStore } from '../features/accounts/credential-store.ts';
import { createInvitationStore } from '../features/accounts/invitation-store.ts';
import { SYNC_SOURCE } from '../features/feeds/sync-source.ts';
import type { DueSource } from '../features/sources/sync-state-store.ts';
import { THE_HUB } from '../platform/record-act.ts';
import type { App } from './app.ts';
import { createRetention } from './retention.ts';
import { troubleTasks } from './trouble-tasks.ts';

/** Rows per task and run: small enough that no other writer waits long. */
const BATCH = 200;
export const FINISHED_JOBS_KEPT = DAY;

/** No retry is ever put off further than a day, so a later one was planned while the clock was ahead. */
const NEVER_LATER = DAY + HOUR;

/** The worker's recurring work. Each can be repeated without harm. */
export function schedule(app: App): Task[] {
  const { db, clock, jobs, limits, syncState, syncJobs, attachments } = app;
  const heartbeat = createHeartbeat(db, 'worker', clock);
  const credentials = createCredentialStore(db, clock);
  const invitations = createInvitationStore(db, clock);

  /** In small transactions with pauses between them, so that nobody waits for a long one. */
  async function planSyncs(): Promise<void> {
    const enqueue = ({ sourceId, host }: DueSource) => void syncJobs.enqueue(sourceId, host);
    while (syncState.takeDue(BATCH, enqueue) === BATCH) await setImmediate();
  }

  /** All of it, in small transactions with pauses between them. */
  async function drain(removeSome: (batch: number) => number): Promise<void> {
    while (removeSome(BATCH) === BATCH) await setImmediate();
  }

  /** Every file without a verdict has a job that asks for one. */
  async function scanUnscanned(): Promise<void> {
    let after = '';
    for (let found = attachments.scanUnscanned(after, BATCH); found.length > 0;) {
      after = found.at(-1) ?? '';
      await setImmediate();
      found = attachments.scanUnscanned(after, BATCH);
    }
  }

  const retention = createRetention(app, THE_HUB);
  const { sweeping, remoteCache } = attachments;
  const pullBack = () => void jobs.pullBack(SYNC_SOURCE, clock() + NEVER_LATER);
  const pruneJobs = (batch: number) => jobs.prune(clock() - FINISHED_JOBS_KEPT, batch);

  return [
    { name: 'heartbeat', everyMs: 5 * SECOND, run: heartbeat.beat },
    { name: 'plan due syncs', everyMs: SECOND, run: planSyncs },
    { name: 'pull back strayed syncs', everyMs: MINUTE, run: pullBack },
    { name: 'remove finished jobs', everyMs: MINUTE, run: () => drain(pruneJobs) },
    { name: 'remove idle rate limits', everyMs: MINUTE, run: () => drain(limits.prune) },
    { name: 'remove expired sessions', everyMs: MINUTE, run: () => drain(credentials.removeExpired) },
    { name: 'scan unscanned uploads', everyMs: HOUR, run: scanUnscanned },
    { name: 'sweep uploads', everyMs: HOUR, run: sweeping.sweepDaily },
    { name: 'remove abandoned uploads', everyMs: HOUR, run: sweeping.removeAbandoned },
    { name: 'tidy the cache', everyMs: HOUR, run: remoteCache.tidy },
    ...troubleTasks(app, drain),
    { name: 'remove old rows', everyMs: 5 * SECOND, run: retention.runDaily },
    { name: 'remove expired invitations', everyMs: MINUTE, run: () => drain(invitations.removeExpired) },
  ];
}
