// Claims all jobs of kind k from the file named in its arguments once a line comes in; prints their ids.
import { openDatabase } from '../../src/platform/db/open-database.ts';
import { createJobQueue } from '../../src/platform/jobs/job-queue.ts';

const queue = createJobQueue(openDatabase(process.argv[2] ?? ''), Date.now);
process.stdout.write('ready\n');
process.stdin.once('data', () => {
  for (let jobs = queue.claim('k', 3); jobs.length > 0; jobs = queue.claim('k', 3)) {
    process.stdout.write(jobs.map(({ id }) => `${id}\n`).join(''));
  }
  process.stdin.destroy();
});
