// Protects the records of jobs: counts, lists, retries by hand and bounded pruning.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { LEASE, type WorkerQueue } from '../../../src/platform/jobs/worker-queue.ts';
import { add, assertCountsAreTrue, claimOne, START, startQueue } from '../../support/queue.ts';

test('counts and waiting times are read without counting', (t) => {
  const { queue, passTime } = startQueue(t);
  assert.deepEqual([queue.failedCount('k'), queue.oldestDueSeconds('k'), queue.nextDueAt(['k'])], [0, 0, null]);
  add(queue, { runAt: START + MINUTE });
  add(queue, { kind: 'other', runAt: START + SECOND });

  assert.equal(queue.oldestDueSeconds('k'), 0, 'not due yet');
  assert.equal(queue.nextDueAt(['k']), START + MINUTE);
  assert.equal(queue.nextDueAt(['k', 'other']), START + SECOND);
  passTime(90 * SECOND);
  assert.equal(queue.oldestDueSeconds('k'), 30);
  const job = claimOne(queue);
  assert.equal(queue.oldestDueSeconds('k'), 0);
  assert.equal(queue.nextDueAt(['k']), START + 90 * SECOND + LEASE, 'a lease that ends is a reason to look');
  assert.equal(queue.nextDueAt(['k'], START + 90 * SECOND + LEASE), null);
  queue.fail({ ...job, maxAttempts: 1 }, new Error('x'));
  assert.equal(queue.failedCount('k'), 1);
});

test('a failed job of a key is replaced by a later failure, and settled by a later success', (t) => {
  const { db, queue } = startQueue(t);
  for (const dedupeKey of ['7', '7', '8']) {
    add(queue, { dedupeKey });
    queue.fail({ ...claimOne(queue), maxAttempts: 1 }, new Error('x'));
  }

  assert.deepEqual(queue.list({ state: 'failed' }).map(({ id }) => id), [3, 2]);
  assert.equal(queue.settleFailed('k', '7'), 1);
  assert.equal(queue.settleFailed('k', '7'), 0);
  assert.equal(queue.failedCount('k'), 1);
  assertCountsAreTrue(db);
});

test('a person can retry a failed job, unless a live one has its key, and discard what does not run', (t) => {
  const { db, queue } = startQueue(t);
  add(queue, { dedupeKey: '7', maxAttempts: 1 });
  const job = claimOne(queue);
  assert.deepEqual([queue.retry(job.id), queue.discard(job.id)], [false, false], 'running');
  queue.fail(job, new Error('x'));
  add(queue, { dedupeKey: '7' });
  assert.equal(queue.retry(job.id), false, 'a live one has its key');
  assert.equal(queue.discard(2), true);

  assert.equal(queue.retry(job.id), true);
  assert.deepEqual([queue.find(job.id)?.state, queue.find(job.id)?.finishedAt], ['queued', null]);
  const again = claimOne(queue);
  assert.equal(again.attempts, 1);
  queue.fail(again, new Error('x'));
  assert.equal(queue.discard(job.id), true);
  assert.deepEqual([queue.discard(job.id), queue.retry(job.id), queue.retry(99)], [false, false, false]);
  assert.equal(queue.failedCount('k'), 0);
  assertCountsAreTrue(db);
});

test('lists show the newest first, page by id, and can be narrowed to a state', (t) => {
  const { queue } = startQueue(t);
  for (let n = 0; n < 12; n++) add(queue);
  const [done, failed, retrying, , released] = queue.claim('k', 5);
  assert.ok(done && failed && retrying && released);
  queue.complete(done);
  queue.fail({ ...failed, maxAttempts: 1 }, new Error('x'));
  queue.fail(retrying, new Error('x'));
  queue.release(released);
  queue.discard(12);

  const ids = (filter?: Parameters<WorkerQueue['list']>[0]) => queue.list(filter).map(({ id }) => id);
  assert.deepEqual(ids({ limit: 3 }), [12, 11, 10]);
  assert.deepEqual(ids({ limit: 3, before: 3 }), [2, 1]);
  assert.deepEqual(ids(), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  assert.deepEqual(ids({ state: 'done' }), [1]);
  assert.deepEqual(ids({ state: 'failed' }), [2]);
  assert.deepEqual(ids({ state: 'retrying' }), [3]);
  assert.deepEqual(ids({ state: 'running' }), [4]);
  assert.deepEqual(ids({ state: 'queued', limit: 2, before: 10 }), [9, 8]);
  assert.deepEqual(ids({ state: 'discarded' }), [12]);
  assert.equal(queue.find(99), undefined);
});

test('pruning removes old finished jobs in bounded batches, never a failed or a live one', (t) => {
  const { db, queue, passTime } = startQueue(t);
  for (let n = 0; n < 6; n++) add(queue);
  const [failed, ...done] = queue.claim('k', 5);
  assert.ok(failed);
  queue.fail({ ...failed, maxAttempts: 1 }, new Error('x'));
  for (const job of done) queue.complete(job);
  passTime(HOUR);
  queue.complete(claimOne(queue));
  add(queue);

  assert.equal(queue.prune(START + MINUTE, 3), 3);
  assert.equal(queue.prune(START + MINUTE, 3), 1);
  assert.equal(queue.prune(START + MINUTE, 3), 0);
  assert.deepEqual(queue.list().map((job) => job.state), ['queued', 'done', 'failed']);
  assertCountsAreTrue(db);
});

test('what a clock that was ahead put off is due once it is right; what may wait so long goes on waiting', (t) => {
  const { queue, passTime } = startQueue(t);
  passTime(300 * DAY);
  add(queue, { dedupeKey: 'strayed' });
  passTime(-300 * DAY);
  add(queue, { dedupeKey: 'tomorrow', runAt: START + DAY });
  queue.bringBackTimes();

  const due = queue.claim('k', 9);
  assert.deepEqual(due.map(({ dedupeKey }) => dedupeKey), ['strayed']);
  queue.completeMany(due.map((job) => ({ job })));
  passTime(DAY);
  assert.equal(claimOne(queue).dedupeKey, 'tomorrow');
});
