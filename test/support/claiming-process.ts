// Claims all jobs of kind k from the file named in its arguments once a line comes in; prints their ids.
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { createWorkerQueue } from '../../src/platform/jobs/worker-queue.ts';

const queue = createWorkerQueue(openDatabase(process.argv[2] ?? ''), Date.now);
process.stdout.write('ready\n');
process.stdin.once('data', () => {
  for (let jobs = queue.claim('k', 3); jobs.length > 0; jobs = queue.claim('k', 3)) {
    process.stdout.write(jobs.map(({ id }) => `${id}\n`).join(''));
  }
  process.stdin.destroy();
});
