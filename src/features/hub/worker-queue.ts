import { createWorkerQueue, LEASE } from '../../platform/jobs/worker-queue.ts';
import { jobs, once, type Hub } from './hub.ts';

/** The queue for a worker of this process. Web has one only while it delivers alerts, and begins without. */
export const workerQueue = once((hub: Pick<Hub, 'db' | 'clock' | 'random'>) =>
  createWorkerQueue(hub.db, hub.clock, hub.random, LEASE, jobs(hub)));
