// A real worker on the file and with the lease (ms) named in its arguments. Prints each job as it starts it; its log
// and errors go to standard error. A job of kind `lane` occupies its lane in a table, where two cannot fit.
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/platform/db/open-database.ts';
import type { Job } from '../../src/platform/jobs/claim-jobs.ts';
import { createWorkerQueue } from '../../src/platform/jobs/worker-queue.ts';
import { createWorker } from '../../src/platform/jobs/worker.ts';
import { createLog } from '../../src/platform/log.ts';

const [path = '', lease = ''] = process.argv.slice(2);
const db = openDatabase(path);
const log = createLog('worker', 'warn', Date.now, (text) => writeSync(2, text));
const queue = createWorkerQueue(db, Date.now, Math.random, Number(lease));
const insertEffect = db.prepare<[number]>('insert effect', 'INSERT INTO effects (job_id) VALUES (?)');
const occupy = db.prepare<[string | null]>('occupy lane', 'INSERT INTO occupied (lane) VALUES (?)');
const leave = db.prepare<[string | null]>('leave lane', 'DELETE FROM occupied WHERE lane = ?');

async function work(job: Job): Promise<() => void> {
  writeSync(1, `${job.id}\n`);
  await sleep(2 + (job.id % 4) * 5);
  return () => void insertEffect.run(job.id);
}

async function workInLane(job: Job): Promise<() => void> {
  occupy.run(job.lane);
  await sleep(2);
  return () => {
    leave.run(job.lane);
    insertEffect.run(job.id);
  };
}

const worker = createWorker({
  db, queue, log, clock: Date.now,
  onError: (error) => writeSync(2, `${String(error)}\n`),
  handlers: { plain: { concurrency: 6, run: work }, lane: { concurrency: 6, run: workInLane } },
});
process.on('SIGTERM', () => void worker.stop(1_000).then(() => process.exit(0)));
worker.start();
