// Protects the worker: lanes, batches, retries and dead letters, and no write while it is idle.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import type { Job } from '../../../src/platform/jobs/claim-jobs.ts';
import { createWorkerQueue } from '../../../src/platform/jobs/worker-queue.ts';
import { NotNowError, RetryLaterError } from '../../../src/platform/jobs/run-job.ts';
import { noteWaits } from '../../support/noted-waits.ts';
import { stopWatch } from '../../support/stopped-watch.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { START, startWorker } from '../../support/worker.ts';

const sum = (all: number[]): number => all.reduce((total, one) => total + one, 0);

test('due jobs are done, each with its effects, also those that only become due by others', async (t) => {
  const hub = startWorker(t, {
    first: { run: async (job) => () => (hub.effect(job)(), void hub.queue.enqueue({ kind: 'second', payload: {} })) },
    second: { run: async (job) => hub.effect(job) },
  });
  hub.queue.enqueue({ kind: 'first', payload: {} });
  hub.queue.enqueue({ kind: 'second', payload: {}, runAt: START + HOUR });
  hub.queue.enqueue({ kind: 'unknown', payload: {} });

  assert.equal(await hub.worker.runDue(), 2);
  assert.deepEqual(hub.effects(), [1, 4]);
  assert.deepEqual(hub.states(), ['done', 'queued', 'queued', 'done']);
  assert.equal(await hub.worker.runDue(), 0);
});

test('each kind has its own number of hands, and a lane is never at work twice', async (t) => {
  const atWork: Record<string, number> = {};
  const most: Record<string, number> = {};
  const run = async ({ kind, lane }: Job) => {
    for (const name of [kind, lane ?? 'no lane']) {
      atWork[name] = (atWork[name] ?? 0) + 1;
      most[name] = Math.max(most[name] ?? 0, atWork[name]);
    }
    await new Promise((resolve) => setImmediate(resolve));
    for (const name of [kind, lane ?? 'no lane']) atWork[name] = (atWork[name] ?? 0) - 1;
  };
  const { worker, queue } = startWorker(t, { a: { concurrency: 3, run }, b: { concurrency: 1, run } });
  for (let n = 0; n < 9; n++) queue.enqueue({ kind: 'a', payload: {}, lane: `lane ${n % 4}` });
  for (let n = 0; n < 4; n++) queue.enqueue({ kind: 'b', payload: {} });

  assert.equal(await worker.runDue(), 13);
  assert.deepEqual(most, { a: 3, b: 1, 'lane 0': 1, 'lane 1': 1, 'lane 2': 1, 'lane 3': 1, 'no lane': 1 });
});

test('jobs that end in the same turn share a transaction, and a failing effect fails its own job alone', async (t) => {
  stopWatch(t);
  const hub = startWorker(t, {
    k: {
      concurrency: 8,
      run: async (job) => {
        for (let n = 0; n < job.id * 5; n++) await undefined;
        if (job.id === 6) throw new Error('bad job');
        return () => {
          hub.effect(job)();
          if (job.id === 3) throw new Error('bad effect');
        };
      },
    },
  });
  for (let n = 0; n < 8; n++) hub.queue.enqueue({ kind: 'k', payload: {} });
  await hub.worker.runDue();

  assert.deepEqual(hub.transactions.filter((name) => /^(?:complete|fail) jobs$/.test(name)), ['complete jobs', 'fail jobs']);
  assert.deepEqual(hub.states(), ['done', 'done', 'retrying', 'done', 'done', 'retrying', 'done', 'done']);
  assert.deepEqual(hub.effects(), [1, 2, 4, 5, 7, 8]);
});

test('however much many jobs write when they end, others can write after each short transaction', async (t) => {
  const pass = stopWatch(t);
  const waits = noteWaits(t, pass);
  const hub = startWorker(t, { k: { concurrency: 5, run: async () => write } }, { realTime: true });
  const other = hub.connect();
  const pauses: number[][] = [];
  function write(): void {
    pauses.push(waits.splice(0));
    pass(20);
    if (pauses.length < 5) setImmediate(() => other.pragma(`user_version = ${pauses.length}`));
  }
  for (let n = 0; n < 5; n++) hub.queue.enqueue({ kind: 'k', payload: {} });
  hub.worker.start();
  await waitUntil('all are done', () => hub.states().every((state) => state === 'done'));

  assert.equal(hub.transactions.filter((name) => name === 'complete jobs').length, 5);
  assert.deepEqual(pauses.slice(1).map((waits) => waits.at(-1)), [20, 20, 20, 20], 'a pause is as long as the transaction was');
});

test('a failure is retried, in the end kept, and told both times; the log has job, error and next time', async (t) => {
  const fates: string[] = [];
  const hub = startWorker(t, {
    k: {
      run: async () => {
        throw new Error('unreachable', { cause: new Error('ECONNREFUSED') });
      },
      failed: (job, error, fate) => {
        assert.ok(hub.db.inTransaction);
        fates.push(`${job.attempts} ${error.message} ${fate}`);
      },
    },
  });
  hub.queue.enqueue({ kind: 'k', payload: {}, maxAttempts: 2 });
  await hub.worker.runDue();
  hub.passTime(30 * SECOND);
  await hub.worker.runDue();

  assert.deepEqual(fates, ['1 unreachable retrying', '2 unreachable failed']);
  assert.deepEqual(hub.states(), ['failed']);
  const [retry, failed] = hub.lines();
  assert.equal(retry?.event, 'job will be retried');
  assert.deepEqual(
    [retry?.level, retry?.jobId, retry?.kind, retry?.attempt, retry?.error, retry?.cause, retry?.nextAt],
    ['warn', 1, 'k', 1, 'unreachable', 'ECONNREFUSED', '2025-01-01T00:00:30.000Z'],
  );
  assert.deepEqual([failed?.event, failed?.level, failed?.jobId], ['job failed for good', 'error', 1]);
  assert.deepEqual(hub.errors, [], 'what a handler throws is the job’s failure, not the hub’s');
});

test('a retry can be asked for later than the backoff', async (t) => {
  const hub = startWorker(t, {
    busy: { run: () => Promise.reject(new RetryLaterError('429', START + 3 * HOUR)) },
    sync: {
      run: () => {
        throw 'not even an error';
      },
    },
  });
  for (const kind of ['busy', 'sync']) hub.queue.enqueue({ kind, payload: {} });
  await hub.worker.runDue();

  assert.deepEqual(hub.states(), ['retrying', 'retrying']);
  assert.equal(hub.queue.find(1)?.runAt, START + 3 * HOUR);
  assert.equal(hub.queue.find(2)?.lastError, 'not even an error');
});

test('every line logged while a job runs carries its id', async (t) => {
  const hub = startWorker(t, {
    k: {
      concurrency: 2,
      run: async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        hub.log.info('half-way');
      },
    },
  });
  for (let n = 0; n < 2; n++) hub.queue.enqueue({ kind: 'k', payload: {} });
  await hub.worker.runDue();

  const told = hub.lines().map(({ event, jobId }) => `${event} ${String(jobId)}`);
  assert.deepEqual(told.sort(), ['half-way 1', 'half-way 2', 'job done 1', 'job done 2']);
});

test('a running worker notices new jobs of its own process at once and those of another by looking', async (t) => {
  const hub = startWorker(t, { k: { run: async (job) => hub.effect(job) } }, { realTime: true });
  hub.worker.start();
  hub.queue.enqueue({ kind: 'k', payload: {} });
  await waitUntil('its own is done', () => hub.effects().length === 1);
  createWorkerQueue(hub.connect(), Date.now).enqueue({ kind: 'k', payload: {} });
  await waitUntil('the other’s is done', () => hub.effects().length === 2);
  hub.queue.enqueue({ kind: 'k', payload: {}, runAt: Date.now() + 50 });
  await waitUntil('the one that fell due is done', () => hub.effects().length === 3);
});

test('an idle worker writes nothing and asks for no lock, even while another process writes', async (t) => {
  const waits = noteWaits(t, stopWatch(t));
  const hub = startWorker(t, { k: {} }, { realTime: true });
  const other = hub.connect();
  const otherQueue = createWorkerQueue(other, Date.now);
  hub.worker.start();
  await hub.worker.runDue();
  const version = other.pragma('data_version');
  for (let n = 0; n < 3; n++) otherQueue.enqueue({ kind: 'of nobody here', payload: {} });
  otherQueue.enqueue({ kind: 'k', payload: {}, runAt: Date.now() + MINUTE });
  waits.length = 0;
  hub.pragmas.length = 0;
  await waitUntil('it has looked often', () => hub.pragmas.filter((source) => source === 'data_version').length >= 20);

  assert.deepEqual(hub.transactions, []);
  assert.ok(sum(waits) / hub.pragmas.length > 40, `it looks a few times a second: ${waits}`);
  assert.equal(other.pragma('data_version'), version);
});

test('a job that cannot be done now is given back until then; it has not failed, and its attempt is not counted', async (t) => {
  let isPossible = false;
  const failures: Error[] = [];
  const hub = startWorker(t, {
    k: {
      run: async (job) => () => {
        if (!isPossible) throw new NotNowError('the disk is full', START + MINUTE);
        hub.effect(job)();
      },
      failed: (_job, error) => void failures.push(error),
    },
  });
  hub.queue.enqueue({ kind: 'k', payload: {}, maxAttempts: 1 });

  for (let n = 0; n < 3; n++) await hub.worker.runDue();
  const job = hub.queue.find(1);
  assert.deepEqual([job?.state, job?.attempts, job?.runAt, failures], ['queued', 0, START + MINUTE, []]);
  isPossible = true;
  hub.passTime(MINUTE);
  assert.equal(await hub.worker.runDue(), 1);
  assert.deepEqual([hub.effects(), hub.states()], [[1], ['done']]);
});

test('jobs of a kind that must wait are not claimed, others are, and then they are done', async (t) => {
  let mustWait = true;
  const hub = startWorker(t, {
    held: { run: async (job) => hub.effect(job), mustWait: () => mustWait }, free: { run: async (job) => hub.effect(job) },
  });
  for (const kind of ['held', 'free', 'held']) hub.queue.enqueue({ kind, payload: {} });

  assert.equal(await hub.worker.runDue(), 1);
  assert.deepEqual([hub.effects(), hub.states()], [[2], ['queued', 'done', 'queued']]);
  assert.equal(hub.queue.find(1)?.attempts, 0);
  mustWait = false;
  assert.equal(await hub.worker.runDue(), 2);
  assert.deepEqual(hub.states(), ['done', 'done', 'done']);
});

test('a worker whose due jobs must wait is idle, as one without any', async (t) => {
  const waits = noteWaits(t, stopWatch(t));
  const hub = startWorker(t, { held: { mustWait: () => true } });
  hub.queue.enqueue({ kind: 'held', payload: {} });
  hub.worker.start();
  await waitUntil('it has looked often', () => hub.pragmas.length >= 20);
  assert.ok(sum(waits) / hub.pragmas.length > 40, `it looks a few times a second: ${waits}`);
  assert.deepEqual([hub.transactions, hub.states()], [[], ['queued']]);
});
