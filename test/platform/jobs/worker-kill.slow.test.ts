// Protects jobs when workers are killed under load: none lost, no effect doubled, no lane shared.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { createWorkerQueue, type WorkerQueue } from '../../../src/platform/jobs/worker-queue.ts';
import { startProgram, type ChildProgram } from '../../support/child-program.ts';
import { migratedDatabase, number } from '../../support/migrated-database.ts';
import { waitUntil } from '../../support/wait-until.ts';

const KILLS = 50;
const FIRST_JOBS = 1_800;
const MORE_JOBS = 200;
const LEASE = 1_000; // ms

function startFile(t: TestContext) {
  const { db, path } = migratedDatabase(t);
  db.exec('CREATE TABLE effects (job_id INTEGER NOT NULL) STRICT');
  db.exec('CREATE TABLE occupied (lane TEXT PRIMARY KEY) STRICT');
  return { db, path, queue: createWorkerQueue(db, Date.now) };
}

type LaneOf = (n: number) => string | undefined;

function enqueueMany(db: Db, queue: WorkerQueue, count: number, kind: string, lane: LaneOf): void {
  const enqueue = db.transaction('enqueue', () => {
    for (let n = 0; n < count; n++) {
      const on = lane(n);
      queue.enqueue({ kind, payload: { n }, maxAttempts: 20, ...(on ? { lane: on } : {}) });
    }
  });
  enqueue();
}

test('four processes that claim 400 jobs at once get each job once', async (t) => {
  const { db, path, queue } = startFile(t);
  enqueueMany(db, queue, 400, 'k', () => undefined);
  const processes = [1, 2, 3, 4].map(() => startProgram(t, 'claiming-process.ts', path));
  await waitUntil('all are ready', () => processes.every(({ output }) => output().startsWith('ready')));
  for (const { child } of processes) child.stdin?.write('go\n');
  await Promise.all(processes.map(({ ended }) => ended));

  const ids = processes.flatMap(({ output }) => output().trim().split('\n').slice(1));
  assert.deepEqual(processes.map(({ errors }) => errors()), ['', '', '', '']);
  assert.equal(ids.length, 400);
  assert.equal(new Set(ids).size, 400);
});

test('two processes never work in one lane at the same time', async (t) => {
  const { db, path, queue } = startFile(t);
  enqueueMany(db, queue, 200, 'lane', (n) => `lane ${n % 3}`);
  const processes = [1, 2].map(() => startProgram(t, 'worker-process.ts', path, '60000'));
  const open = () => number(db, `SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')`);
  await waitUntil('all jobs have been tried', () => open() === 0);
  await Promise.all(processes.map(({ end }) => end('SIGTERM')));

  assert.deepEqual(processes.map(({ errors }) => errors()), ['', '']);
  assert.equal(number(db, `SELECT count(*) FROM jobs WHERE state = 'done' AND attempts = 1`), 200);
  assert.equal(number(db, 'SELECT count(DISTINCT job_id) FROM effects'), 200);
});

test('fifty kills of workers under load lose no job and double no effect', async (t) => {
  const { db, path, queue } = startFile(t);
  let jobs = 0;
  const addJobs = (count: number) => {
    enqueueMany(db, queue, count, 'plain', (n) => (n % 4 === 0 ? `lane ${n % 64}` : undefined));
    jobs += count;
  };
  addJobs(FIRST_JOBS);
  const all: ChildProgram[] = [];
  const start = () => {
    const program = startProgram(t, 'worker-process.ts', path, String(LEASE));
    all.push(program);
    return program;
  };
  const web = startProgram(t, 'writing-process.ts', path);
  const workers = [start(), start(), start()];

  for (let kill = 0; kill < KILLS; kill++) {
    const victim = workers.shift();
    assert.ok(victim);
    await waitUntil('the worker is at work', () => victim.output().split('\n').length > 12, 20_000);
    await victim.end('SIGKILL');
    workers.push(start());
    if (number(db, `SELECT count(*) FROM jobs WHERE state = 'queued'`) < MORE_JOBS) addJobs(MORE_JOBS);
  }
  addJobs(MORE_JOBS);
  await waitUntil('all jobs are done', () => number(db, `SELECT count(*) FROM jobs WHERE state <> 'done'`) === 0);
  await Promise.all([web, ...workers].map(({ end }) => end('SIGTERM')));

  assert.equal(number(db, 'SELECT count(DISTINCT job_id) FROM effects'), jobs, 'no job is lost');
  assert.equal(number(db, 'SELECT count(*) FROM effects'), jobs, 'no effect is doubled');
  const repeated = number(db, 'SELECT sum(attempts - 1) FROM jobs');
  t.diagnostic(`${repeated} attempts were cut short by ${KILLS} kills among ${jobs} jobs`);
  assert.ok(repeated >= KILLS, 'the kills hit jobs at work');
  assert.equal(db.pragma('integrity_check'), 'ok');
  assert.equal(number(db, `SELECT count(*) FROM counts WHERE metric = 'jobs' AND value <> 0`), 1, 'the kept counts are true');
  assert.equal(number(db, `SELECT value FROM counts WHERE metric = 'jobs' AND label = 'plain,done'`), jobs);
  const { writes, errors } = JSON.parse(web.output());
  assert.ok(writes > 500, `another process wrote meanwhile (${writes})`);
  assert.deepEqual(errors, []);
  assert.doesNotMatch(all.map((program) => program.errors()).join(''), /locked|SQLITE|trouble/);
});
