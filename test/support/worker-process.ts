// A real worker on the file and with the lease (ms) named in its arguments. Prints each job as it starts it; its log
// and errors go to standard error. A job of kind `lane` occupies its lane in a table, where two cannot fit.
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import type { Job } from '../../src/platform/jobs/claim-jobs.ts';
import { createWorkerQueue } from '../../src/platform/jobs/worker-queue.ts';
import { createWorker } from '../../src/platform/jobs/worker.ts';
import { createLog } from '../../src/platform/log.ts';
import { jobEffects } from './job-effects.ts';

const [path = '', lease = ''] = process.argv.slice(2);
const db = openDatabase(path);
const log = createLog('worker', 'warn', Date.now, (text) => writeSync(2, text));
const queue = createWorkerQueue(db, Date.now, Math.random, Number(lease));
const effects = jobEffects(db);

async function work(job: Job): Promise<() => void> {
  writeSync(1, `${job.id}\n`);
  await sleep(2 + (job.id % 4) * 5);
  return () => effects.leave(job.id);
}

async function workInLane(job: Job): Promise<() => void> {
  effects.enterLane(job.lane);
  await sleep(2);
  return () => {
    effects.quitLane(job.lane);
    effects.leave(job.id);
  };
}

const worker = createWorker({
  db, queue, log, clock: Date.now,
  onError: (error) => writeSync(2, `${String(error)}\n`),
  handlers: { plain: { concurrency: 6, run: work }, lane: { concurrency: 6, run: workInLane } },
});
process.on('SIGTERM', () => void worker.stop(1_000).then(() => process.exit(0)));
worker.start();
