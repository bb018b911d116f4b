// Protects jobs when workers are killed under load: none lost, no effect doubled, no lane shared.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { createWorkerQueue, type WorkerQueue } from '../../../src/platform/jobs/worker-queue.ts';
import { createCounters } from '../../../src/platform/metrics/counters.ts';
import { startProgram, type ChildProgram } from '../../support/child-program.ts';
import { jobEffects } from '../../support/job-effects.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';
import { assertCountsAreTrue } from '../../support/queue.ts';
import { waitUntil } from '../../support/wait-until.ts';

const KILLS = 50;
const FIRST_JOBS = 1_800;
const MORE_JOBS = 200;
const LEASE = 1_000; // ms

function startFile(t: TestContext) {
  const { db, path } = migratedDatabase(t);
  return { db, path, queue: createWorkerQueue(db, Date.now), effects: jobEffects(db) };
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
  await waitUntil('all are ready', () => processes.every(({ stdout }) => stdout().startsWith('ready')));
  for (const { child } of processes) child.stdin?.write('go\n');
  await Promise.all(processes.map(({ ended }) => ended));

  const ids = processes.flatMap(({ stdout }) => stdout().trim().split('\n').slice(1));
  assert.deepEqual(processes.map(({ stderr }) => stderr()), ['', '', '', '']);
  assert.equal(ids.length, 400);
  assert.equal(new Set(ids).size, 400);
});

test('two processes never work in one lane at the same time', async (t) => {
  const { db, path, queue, effects } = startFile(t);
  enqueueMany(db, queue, 200, 'lane', (n) => `lane ${n % 3}`);
  const processes = [1, 2].map(() => startProgram(t, 'worker-process.ts', path, '60000'));
  const isOpen = () => storedJobs({ db }, 'lane').some(({ state }) => state === 'queued' || state === 'running');
  await waitUntil('all jobs have been tried', () => !isOpen());
  await Promise.all(processes.map(({ end }) => end('SIGTERM')));

  assert.deepEqual(processes.map(({ stderr }) => stderr()), ['', '']);
  assert.ok(storedJobs({ db }, 'lane').every(({ state, attempts }) => state === 'done' && attempts === 1));
  assert.equal(new Set(effects.ids()).size, 200);
});

test('fifty kills of workers under load lose no job and double no effect', async (t) => {
  const { db, path, queue, effects } = startFile(t);
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
    await waitUntil('the worker is at work', () => victim.stdout().split('\n').length > 12);
    await victim.end('SIGKILL');
    workers.push(start());
    if (queue.list({ state: 'queued', limit: MORE_JOBS }).length < MORE_JOBS) addJobs(MORE_JOBS);
  }
  addJobs(MORE_JOBS);
  const counters = createCounters(db);
  await waitUntil('all jobs are done', () => counters.value('jobs', 'plain,done') === jobs);
  await Promise.all([web, ...workers].map(({ end }) => end('SIGTERM')));

  assert.equal(new Set(effects.ids()).size, jobs, 'no job is lost');
  assert.equal(effects.ids().length, jobs, 'no effect is doubled');
  const repeated = storedJobs({ db }, 'plain').reduce((sum, { attempts }) => sum + attempts - 1, 0);
  t.diagnostic(`${repeated} attempts were cut short by ${KILLS} kills among ${jobs} jobs`);
  assert.ok(repeated >= KILLS, 'the kills hit jobs at work');
  assert.equal(db.pragma('integrity_check'), 'ok');
  assertCountsAreTrue(db);
  const { writes, errors } = JSON.parse(web.stdout());
  assert.ok(writes > 500, `another process wrote meanwhile (${writes})`);
  assert.deepEqual(errors, []);
  assert.doesNotMatch(all.map((program) => program.stderr()).join(''), /locked|SQLITE|trouble/);
});
