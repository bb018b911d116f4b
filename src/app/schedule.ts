import { setImmediate } from 'node:timers/promises';
import { DAY, MINUTE, SECOND } from '../platform/clock.ts';
import { createHeartbeat } from '../platform/jobs/heartbeat.ts';
import type { Task } from '../platform/jobs/scheduler.ts';
import { createCredentialStore } from '../features/accounts/credential-store.ts';
import { createInvitationStore } from '../features/accounts/invitation-store.ts';
import type { DueSource } from '../features/sources/sync-state-store.ts';
import type { App } from './app.ts';

/** Rows per task and run: small enough that no other writer waits long. */
const BATCH = 200;
const FINISHED_JOBS_KEPT = DAY;

/** The worker's recurring work. Each can be repeated without harm. */
export function schedule({ db, clock, jobs, limits, syncState, enqueueSync }: App): Task[] {
  const heartbeat = createHeartbeat(db, 'worker', clock);
  const credentials = createCredentialStore(db, clock);
  const invitations = createInvitationStore(db, clock);

  /** In small transactions with pauses between them, so that nobody waits for a long one. */
  async function planSyncs(): Promise<void> {
    const enqueue = ({ sourceId, host }: DueSource) => void enqueueSync(sourceId, host);
    while (syncState.takeDue(BATCH, enqueue) === BATCH) await setImmediate();
  }

  return [
    { name: 'heartbeat', everyMs: 5 * SECOND, run: heartbeat.beat },
    { name: 'plan due syncs', everyMs: SECOND, run: planSyncs },
    { name: 'remove finished jobs', everyMs: MINUTE, run: () => void jobs.prune(clock() - FINISHED_JOBS_KEPT, BATCH) },
    { name: 'remove idle rate limits', everyMs: MINUTE, run: () => void limits.prune(BATCH) },
    { name: 'remove expired sessions', everyMs: MINUTE, run: () => void credentials.removeExpired(BATCH) },
    { name: 'remove expired invitations', everyMs: MINUTE, run: () => void invitations.removeExpired(BATCH) },
  ];
}
