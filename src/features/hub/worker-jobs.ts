import type { JobHandler, JobHandlers } from '../../platform/jobs/run-job.ts';
import { createWorkerQueue, LEASE } from '../../platform/jobs/worker-queue.ts';
import { isFrozen } from './database-file.ts';
import { configured, type Hub, type JobKind, jobs, once } from './hub.ts';
import { mayRecord } from './disk-reserve.ts';

export function jobHandlers(hub: Hub, kinds: JobKind<never>[]): JobHandlers {
  return Object.fromEntries(kinds.map((kind) => [kind.name, handlerOf(hub, kind)]));
}

function handlerOf(hub: Hub, kind: JobKind<never>): JobHandler {
  const { failed, stores } = kind;
  return {
    concurrency: configured(hub, kind.concurrency),
    run: (job, signal) => kind.run(hub, job.payload as never, signal, job),
    ...(failed && { failed: (job, error, fate) => failed(hub, job.payload as never, error, fate, job) }),
    mustWait: () => (stores ? !mayRecord(hub) : isFrozen(hub)),
  };
}

/** The job queue for a worker in this process. Web runs a worker of its own only while it delivers alerts. */
export const workerQueue = once((hub: Pick<Hub, 'db' | 'clock' | 'random'>) =>
  createWorkerQueue(hub.db, hub.clock, hub.random, LEASE, jobs(hub)));
