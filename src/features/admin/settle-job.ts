import type { JobRow } from '../../platform/jobs/job-queue.ts';
import { audit, type Actor } from '../audit/audit.ts';
import { jobs, type Hub } from '../hub/hub.ts';

/** Puts a failed job back into the queue. False where it has not failed, or another for its subject waits already. */
export function retryJob(hub: Hub, { id, kind }: JobRow, actor: Actor): boolean {
  return hub.db.write('retry job', () => {
    const isRetried = jobs(hub).retry(id);
    if (isRetried) audit(hub, 'job.retried', actor, { kind: 'job', id, name: kind });
    return isRetried;
  });
}

/** A failed or waiting job will not run. False for one that is running or has ended. */
export function discardJob(hub: Hub, { id, kind }: JobRow, actor: Actor): boolean {
  return hub.db.write('discard job', () => {
    const isDiscarded = jobs(hub).discard(id);
    if (isDiscarded) audit(hub, 'job.discarded', actor, { kind: 'job', id, name: kind });
    return isDiscarded;
  });
}
