/**
 * node src/bin/worker.ts
 * The background worker: synchronises sources and does all other work that can wait. After SIGTERM, running jobs have
 * 8 s to finish; unfinished jobs return to the queue.
 */
import { JOB_KINDS } from '../app/job-kinds.ts';
import { startProcess } from '../app/processes/start-process.ts';
import { joinTrial } from '../app/processes/trial.ts';
import { rehearseWorker, workerTasks } from '../app/schedule.ts';
import { noteError } from '../features/errors/error-store.ts';
import { jobHandlers, workerQueue } from '../features/hub/worker-jobs.ts';
import { isOnTrial } from '../features/hub/trial.ts';
import { SECOND } from '../platform/clock.ts';
import { createScheduler } from '../platform/jobs/scheduler.ts';
import { createWorker } from '../platform/jobs/worker.ts';

const GRACE = 8 * SECOND;

const { hub, keepRunning } = startProcess('worker', process);
const { db, clock, log } = hub;
const handlers = jobHandlers(hub, JOB_KINDS);
const onError = (error: unknown): void => noteError(hub, error);

const worker = createWorker({ db, queue: workerQueue(hub), handlers, clock, log, onError });
const scheduler = createScheduler({ tasks: workerTasks(hub), clock, log, onError });
const stopWaiting = joinTrial(hub, () => {
  worker.start();
  log.info('working', { kinds: Object.keys(handlers).join(' ') });
});
if (isOnTrial(hub)) rehearseWorker(hub); // a worker that cannot work ends here, before its first heartbeat
scheduler.start();

keepRunning(async () => {
  stopWaiting();
  await scheduler.stop();
  await worker.stop(GRACE);
});
