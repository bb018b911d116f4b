/**
 * node test/support/day-of-schedule.ts
 * Runs the whole schedule of web and worker, and the jobs that come of it, on DATA_DIR, over a day: the clock moves an
 * hour at each step.
 */
import { JOB_KINDS } from '../../src/app/job-kinds.ts';
import { hubOf, openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { webTasks, workerTasks } from '../../src/app/schedule.ts';
import { openStores, startedAt } from '../../src/features/hub/hub.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { jobHandlers, workerQueue } from '../../src/features/hub/worker-jobs.ts';
import { HOUR } from '../../src/platform/clock.ts';
import { createScheduler } from '../../src/platform/jobs/scheduler.ts';
import { createWorker } from '../../src/platform/jobs/worker.ts';
import { createLog } from '../../src/platform/log.ts';

let passed = 0;
const clock = (): number => Date.now() + passed;
const config = loadConfig(process.env);
const log = createLog('day', 'error', clock, (text) => void process.stderr.write(text));
const onError = (error: unknown): void => console.error(error);
const db = openHubDatabase(config, clock);
const hubs = (['web', 'worker'] as const).map((program) => ({ ...hubOf(program, config, db, log), clock }));
const schedulers = hubs.map((hub) => {
  openStores(hub);
  startedAt(hub);
  const tasks = hub.program === 'web' ? webTasks(hub) : workerTasks(hub);
  return createScheduler({ tasks, clock, log, onError });
});
const workers = hubs.filter(({ program }) => program === 'worker').map((hub) =>
  createWorker({ db, queue: workerQueue(hub), handlers: jobHandlers(hub, JOB_KINDS), clock, log, onError }));

for (let hour = 0; hour <= 24; hour++, passed += HOUR) {
  for (const scheduler of schedulers) await scheduler.tick();
  for (const worker of workers) await worker.runDue();
}
db.close();
