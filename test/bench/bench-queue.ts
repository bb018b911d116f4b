import { join } from 'node:path';
import type { Db } from '../../src/platform/db/open-database.ts';
import { createWorkerQueue } from '../../src/platform/jobs/worker-queue.ts';
import { benchFolder, newDatabase } from './bench-hub.ts';
import { alternate, moreRow, type BenchRow } from './bench-row.ts';

const ROUNDS = 31;
const JOBS_EACH_ROUND = 128;
const BATCH = 64;

type Contender = { refill(): void; run(): number };

/**
 * Jobs claimed and completed per second, beside a bare loop of two prepared statements (claim by UPDATE … RETURNING,
 * complete by token) over the same table and indexes without the triggers that keep counts. Both on a file on disk
 * with synchronous=FULL, so that each commit waits for the disk. The rounds alternate; the medians are compared.
 */
export async function benchQueue(): Promise<BenchRow[]> {
  using folder = benchFolder('queue');
  const contenders = [queueOneByOne, queueInBatches, bareLoop].map((make, index) =>
    make(newDatabase(join(folder.path, `${index}.db`))));
  const rates = contenders.map((one) => () => measureRate(one));
  const [oneByOne = 0, batches = 0, bare = 0] = await alternate(rates, ROUNDS, 0);
  const row = (name: string, ours: number, want: string): BenchRow =>
    moreRow({ name, ours, peer: 'bare SQL loop, one by one', peerFigure: bare, unit: 'jobs/s', want });
  return [
    row('job queue: claim + complete one by one', oneByOne, '>= 0.8'),
    row(`job queue: batches of ${BATCH}`, batches, '>= 5'),
  ];
}

function queueOneByOne(db: Db): Contender {
  const queue = createWorkerQueue(db, Date.now);
  function run(): number {
    let done = 0;
    for (let [job] = queue.claim('k', 1); job; [job] = queue.claim('k', 1)) if (queue.complete(job)) done++;
    return done;
  }
  return { refill: refill(db), run };
}

function queueInBatches(db: Db): Contender {
  const queue = createWorkerQueue(db, Date.now);
  function run(): number {
    let done = 0;
    for (let jobs = queue.claim('k', BATCH); jobs.length > 0; jobs = queue.claim('k', BATCH)) {
      // On a busy machine one call completes only the first of them.
      for (let left = jobs.map((job) => ({ job })); left.length > 0;) {
        const results = queue.completeMany(left);
        done += results.filter((result) => result === true).length;
        left = left.slice(results.length);
      }
    }
    return done;
  }
  return { refill: refill(db), run };
}

function bareLoop(db: Db): Contender {
  db.exec('DROP TRIGGER jobs_count_insert; DROP TRIGGER jobs_count_update; DROP TRIGGER jobs_count_delete');
  const claim = db.prepare<[string, number, number], { id: number; token: string }>('bare claim', `
    UPDATE jobs SET state = 'running', attempts = attempts + 1, lease_token = ?, lease_expires_at = ?
     WHERE id = (SELECT id FROM jobs WHERE kind = 'k' AND state IN ('queued', 'retrying') AND run_at <= ?
                  ORDER BY run_at, id LIMIT 1)
    RETURNING id, lease_token AS token
  `);
  const complete = db.prepare<[number, number, string]>('bare complete', `
    UPDATE jobs SET state = 'done', finished_at = ?, lease_token = NULL, lease_expires_at = NULL
     WHERE id = ? AND lease_token = ?
  `);
  function run(): number {
    let done = 0;
    const next = () => claim.get(crypto.randomUUID(), Date.now() + 60_000, Date.now());
    for (let job = next(); job; job = next()) done += complete.run(Date.now(), job.id, job.token).changes;
    return done;
  }
  return { refill: refill(db), run };
}

function refill(db: Db): () => void {
  const queue = createWorkerQueue(db, Date.now);
  return db.transaction('refill', () => {
    for (let n = 0; n < JOBS_EACH_ROUND; n++) queue.enqueue({ kind: 'k', payload: { n } });
  });
}

function measureRate({ refill, run }: Contender): number {
  refill();
  const start = performance.now();
  const done = run();
  if (done !== JOBS_EACH_ROUND) throw new Error(`${done} of ${JOBS_EACH_ROUND} jobs were done`);
  return (done / (performance.now() - start)) * 1_000;
}
