/**
 * node src/bin/worker.ts
 * The background worker: synchronises sources and does everything else that has time. SIGTERM finishes the jobs in
 * hand; those that do not end within 8 s are given back.
 */
import { createScheduler } from '../platform/jobs/scheduler.ts';
import { createWorker } from '../platform/jobs/worker.ts';
import { SECOND } from '../platform/clock.ts';
import { startProcess } from '../app/processes/start-process.ts';
import { workerTasks } from '../app/schedule.ts';

const GRACE = 8 * SECOND;

const { app, keepRunning } = startProcess('worker', process);
const { db, jobs, handlers, clock, log, errors } = app;

const worker = createWorker({ db, queue: jobs, handlers, clock, log, onError: errors.note });
const scheduler = createScheduler({ tasks: workerTasks(app.hub), clock, log, onError: errors.note });
worker.start();
scheduler.start();
log.info('working', { kinds: Object.keys(handlers).join(' ') });

keepRunning(async () => {
  await scheduler.stop();
  await worker.stop(GRACE);
});
