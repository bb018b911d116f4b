// Protects jobs when workers die, outlive their lease, shut down, or meet a full disk or a lock.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInFlightJobs } from '../../../src/platform/jobs/in-flight-jobs.ts';
import type { Job } from '../../../src/platform/jobs/claim-jobs.ts';
import { createWorkerQueue, LEASE } from '../../../src/platform/jobs/worker-queue.ts';
import { noteWaits } from '../../support/noted-waits.ts';
import { stopWatch } from '../../support/stopped-watch.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { gate, startWorker } from '../../support/worker.ts';

test('a job that was dead-lettered because its worker died is told to its handler in the same transaction', async (t) => {
  const fates: string[] = [];
  const hub = startWorker(t, {
    k: {
      failed: (job, _error, fate) => {
        assert.ok(hub.db.inTransaction);
        fates.push(fate);
        hub.effect(job)();
      },
    },
  });
  hub.queue.enqueue({ kind: 'k', payload: {}, maxAttempts: 1 });
  hub.queue.claim('k', 1);
  hub.passTime(LEASE);
  assert.equal(await hub.worker.runDue(), 0);
  assert.deepEqual([hub.states(), hub.effects(), fates], [['failed'], [1], ['failed']]);
  assert.deepEqual(hub.events(), ['job failed for good']);
});

test('a failure that cannot be told leaves the job to its lease, and then it is tried again', async (t) => {
  let broken = true;
  const hub = startWorker(t, {
    k: {
      run: () => Promise.reject(new Error('boom')),
      failed: () => {
        if (broken) throw new Error('alert broken');
      },
    },
  });
  hub.queue.enqueue({ kind: 'k', payload: {} });
  await hub.worker.runDue();
  assert.deepEqual(hub.states(), ['running']);
  assert.deepEqual(hub.errors, [new Error('alert broken')]);

  broken = false;
  hub.passTime(LEASE);
  await hub.worker.runDue();
  assert.deepEqual(hub.states(), ['retrying']);
});

test('a worker that outlived its lease does nothing more to the job', async (t) => {
  const { run, started, open } = gate();
  const hub = startWorker(t, { k: { run: async (job, signal) => (await run(job, signal), hub.effect(job)) } });
  hub.queue.enqueue({ kind: 'k', payload: {} });
  hub.worker.start();
  await waitUntil('the job has started', () => started.length === 1);
  hub.passTime(LEASE);
  const other = createWorkerQueue(hub.connect(), hub.clock);
  const [taken] = other.claim('k', 1);
  assert.ok(taken);

  open[0]?.();
  await waitUntil('the loss is noted', () => hub.events().includes('job lost to another worker'));
  assert.deepEqual(hub.effects(), []);
  assert.equal(other.complete(taken), true);
});

test('a handler is told to stop, and then given up, before its lease ends', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { queue, clock, log, passTime } = startWorker(t, {});
  let stoppedAt: number | undefined;
  let endedAt: number | undefined;
  const run = (_job: Job, signal: AbortSignal): Promise<void> => {
    signal.addEventListener('abort', () => (stoppedAt = clock()));
    return new Promise(() => {});
  };
  const inFlight = createInFlightJobs({
    queue, log, handlers: { k: { concurrency: 1, run } },
    onError: (error) => assert.fail(String(error)), onEnd: () => (endedAt = clock()),
  });
  queue.enqueue({ kind: 'k', payload: {} });

  inFlight.claim();
  const end = clock() + LEASE;
  for (const step = 7_000; clock() + step < end; t.mock.timers.tick(step)) passTime(step);

  assert.ok(stoppedAt !== undefined && stoppedAt > end - LEASE / 2, `told to stop at ${stoppedAt}`);
  assert.ok(endedAt !== undefined && endedAt > stoppedAt && endedAt < end, `given up at ${endedAt}, of ${end}`);
  inFlight.settle();
  const { state, lastError } = queue.find(1) ?? {};
  assert.deepEqual([state, lastError], ['retrying', 'the job did not end before its deadline']);
});

test('at shutdown a job that heeds its signal is given back, the attempt not counted', async (t) => {
  const hub = startWorker(t, {
    k: {
      run: (_job, signal) => new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
    },
  });
  hub.queue.enqueue({ kind: 'k', payload: {} });
  hub.worker.start();
  await waitUntil('the job runs', () => hub.states()[0] === 'running');
  await hub.worker.stop(10_000);

  assert.deepEqual([hub.queue.find(1)?.state, hub.queue.find(1)?.attempts], ['queued', 0]);
  assert.deepEqual(hub.events(), ['job released']);
  assert.equal(hub.queue.claim('k', 1)[0]?.attempts, 1);
});

test('at shutdown a job may still end well, one that does not is given back, and nothing new is begun', async (t) => {
  const slow = gate();
  const hub = startWorker(t, {
    quick: {
      run: (job, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(hub.effect(job)))),
    },
    slow: { run: async (job, signal) => (await slow.run(job, signal), hub.effect(job)) },
  });
  for (const kind of ['quick', 'slow', 'quick']) hub.queue.enqueue({ kind, payload: {} });
  hub.worker.start();
  await waitUntil('two jobs run', () => hub.states().filter((state) => state === 'running').length === 2);
  await hub.worker.stop(50);

  assert.deepEqual(slow.reasons, ['the worker is stopping']);
  assert.deepEqual(hub.states(), ['done', 'queued', 'queued']);
  slow.open[0]?.();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(hub.effects(), [1], 'the late result is ignored');
});

test('a full disk stops neither the worker nor a job in hand: it goes on when there is space', async (t) => {
  const waits = noteWaits(t, stopWatch(t));
  const large = () => hub.largeEffect();
  const hub = startWorker(t, {
    large: { run: async () => large },
    small: { run: async (job) => hub.effect(job) },
    failing: { run: () => Promise.reject(new Error('boom')), failed: large },
  }, { realTime: true });
  for (const kind of ['large', 'small', 'failing']) hub.queue.enqueue({ kind, payload: {} });
  hub.db.pragma(`max_page_count = ${Number(hub.db.pragma('page_count'))}`);
  hub.worker.start();
  await waitUntil('the trouble is told', () => hub.errors.length >= 4);
  assert.match(String(hub.errors[0]), /database or disk is full/);
  assert.deepEqual(hub.states(), ['running', 'running', 'running']);
  const pauses = waits.filter((ms) => ms >= 100);
  assert.ok(pauses.length >= 3 && pauses.slice(0, 3).every((ms, n) => ms === 100 * 2 ** n), `it does not spin: ${waits}`);

  hub.db.pragma('max_page_count = 1000000');
  await waitUntil('all are written down', () => !hub.states().includes('running'));
  assert.deepEqual(hub.states(), ['done', 'done', 'retrying']);
  assert.equal(hub.effects().length, 3);
  assert.deepEqual(hub.queue.list().map(({ attempts }) => attempts), [1, 1, 1], 'finished work was kept, not repeated');
  assert.equal(hub.db.pragma('integrity_check'), 'ok');
});

test('a lock held too long by another process is told and waited out', async (t) => {
  const hub = startWorker(t, { k: { run: async (job) => hub.effect(job) } }, { realTime: true });
  hub.db.pragma('busy_timeout = 1');
  const other = hub.connect();
  hub.queue.enqueue({ kind: 'k', payload: {} });
  other.exec('BEGIN IMMEDIATE');
  hub.worker.start();
  await waitUntil('the lock is met', () => hub.errors.length >= 1);
  assert.match(String(hub.errors[0]), /database is locked/);

  other.exec('ROLLBACK');
  await waitUntil('the job is done', () => hub.effects().length === 1);
});
