// Protects the end of a job: its effects happen with it or not at all, also in batches and on a full disk.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { backoff } from '../../../src/platform/jobs/finish-jobs.ts';
import { LEASE } from '../../../src/platform/jobs/worker-queue.ts';
import { addBallast, failWrites } from '../../support/stored-rows.ts';
import { add, assertCountsAreTrue, claimOne, START, startQueue, state } from '../../support/queue.ts';
import { stopWatch } from '../../support/stopped-watch.ts';

test('a released job is due at once with the attempt not counted, and keeps its place', (t) => {
  const { queue, passTime } = startQueue(t);
  add(queue, { payload: 'old' });
  passTime(1);
  add(queue, { payload: 'new' });
  const job = claimOne(queue);
  passTime(SECOND);

  assert.equal(queue.release(job), true);
  assert.equal(state(queue, job), 'queued');
  const again = claimOne(queue);
  assert.deepEqual([again.payload, again.attempts], ['old', 1]);
  queue.fail(again, new Error('x'));
  passTime(HOUR);
  assert.equal(claimOne(queue).payload, 'new');
  const second = claimOne(queue);
  assert.equal(second.attempts, 2);
  queue.release(second);
  assert.equal(state(queue, second), 'retrying');
});

test('a failed job comes back after its backoff, or at a later time that was asked for', (t) => {
  const { db, queue, passTime } = startQueue(t);
  add(queue);
  assert.equal(queue.fail(claimOne(queue), new Error('first')), 'retrying');
  assert.deepEqual([queue.find(1)?.runAt, queue.find(1)?.lastError], [START + 30 * SECOND, 'first']);
  passTime(30 * SECOND - 1);
  assert.deepEqual(queue.claim('k', 1), []);
  passTime(1);

  const now = START + 30 * SECOND;
  assert.equal(queue.fail(claimOne(queue), new Error('second'), { retryAt: now + 1 }), 'retrying');
  assert.equal(queue.find(1)?.runAt, now + 2 * MINUTE, 'an earlier time does not shorten the backoff');
  passTime(2 * MINUTE);
  assert.equal(queue.fail(claimOne(queue), new Error('third'), { retryAt: now + 5 * HOUR + 0.5 }), 'retrying');
  assert.equal(queue.find(1)?.runAt, now + 5 * HOUR + 1);
  assertCountsAreTrue(db);
});

test('after the last attempt a job is kept as failed and not run', (t) => {
  const { queue, passTime, effects, effect } = startQueue(t);
  add(queue, { maxAttempts: 1, payload: { n: 1 } });
  const fates: string[] = [];
  const job = claimOne(queue);
  const note = (fate: string) => void (fates.push(fate), effect(job)());
  assert.equal(queue.fail(job, new Error('x'.repeat(5_000)), { effects: note }), 'failed');

  passTime(24 * HOUR);
  assert.deepEqual(queue.claim('k', 5), []);
  assert.deepEqual(fates, ['failed']);
  assert.deepEqual(effects(), [1]);
  assert.deepEqual(queue.find(1)?.payload, { n: 1 });
  assert.equal(queue.find(1)?.lastError?.length, 2_000);
});

test('a job’s completion and its effects are stored together or not at all', (t) => {
  const { db, queue, effect, effects } = startQueue(t);
  add(queue);
  const job = claimOne(queue);
  const halfway = () => {
    effect(job)();
    throw new Error('half-way');
  };
  assert.throws(() => queue.complete(job, halfway), /half-way/);
  assert.deepEqual([state(queue, job), effects()], ['running', []]);

  const repairEffects = failWrites({ db }, 'INSERT', 'effects');
  assert.throws(() => queue.complete(job, effect(job)), /made to fail/);
  assert.deepEqual([state(queue, job), effects()], ['running', []]);

  repairEffects();
  const repairJobs = failWrites({ db }, 'UPDATE', 'jobs');
  assert.throws(() => queue.complete(job, effect(job)), /made to fail/);
  assert.deepEqual([state(queue, job), effects()], ['running', []]);

  repairJobs();
  assert.equal(queue.complete(job, effect(job)), true);
  assert.deepEqual([state(queue, job), effects()], ['done', [job.id]]);
  assertCountsAreTrue(db);
});

test('in a batch of completions each stands or falls by itself', (t) => {
  stopWatch(t);
  const { db, queue, passTime, effect, effects } = startQueue(t);
  add(queue);
  const late = claimOne(queue);
  passTime(LEASE);
  for (let n = 0; n < 3; n++) add(queue);
  const [taken, one, bad, two] = queue.claim('k', 4);
  assert.ok(taken && one && bad && two);
  const badEffects = () => {
    effect(bad)();
    throw new Error('bad');
  };

  const results = queue.completeMany([
    { job: one, effects: effect(one) },
    { job: bad, effects: badEffects },
    { job: late, effects: effect(late) },
    { job: two, effects: effect(two) },
    { job: taken },
  ]);
  assert.deepEqual(results, [true, new Error('bad'), 'lost', true, true]);
  assert.deepEqual(effects(), [one.id, two.id]);
  assert.equal(state(queue, bad), 'running');
  assert.equal(queue.fail(bad, new Error('bad')), 'retrying');
  assertCountsAreTrue(db);
});

test('a full disk loses nothing: what does not fit is not done, and work goes on when there is space', (t) => {
  stopWatch(t);
  const { db, queue, effect, effects } = startQueue(t);
  for (let n = 0; n < 3; n++) add(queue);
  const [one, two, three] = queue.claim('k', 3);
  assert.ok(one && two && three);
  const large = () => void addBallast({ db }, 1_000_000);
  db.pragma(`max_page_count = ${Number(db.pragma('page_count'))}`);

  assert.throws(() => queue.complete(two, large), { code: 'SQLITE_FULL' });
  const batch = [{ job: one, effects: effect(one) }, { job: two, effects: large }];
  assert.throws(() => queue.completeMany(batch), { code: 'SQLITE_FULL' });
  assert.deepEqual(effects(), [], 'the whole batch waits');
  assert.throws(() => queue.fail(three, new Error('x'), { effects: large }), { code: 'SQLITE_FULL' });
  assert.throws(() => add(queue, { payload: 'x'.repeat(1_000_000) }), { code: 'SQLITE_FULL' });
  assert.equal(db.pragma('integrity_check'), 'ok');
  assertCountsAreTrue(db);

  db.pragma('max_page_count = 1000000');
  assert.deepEqual(queue.completeMany(batch), [true, true]);
  assert.deepEqual(effects(), [one.id]);
  assert.equal(queue.fail(three, new Error('x'), { effects: large }), 'retrying');
  assert.equal(db.pragma('integrity_check'), 'ok');
  assertCountsAreTrue(db);
});

test('backoff grows fourfold from 30 s to an hour, within a quarter of it', () => {
  const seconds = (attempts: number, random: number) => backoff(attempts, () => random) / SECOND;

  assert.deepEqual([1, 2, 3, 4, 5, 100].map((attempts) => seconds(attempts, 0.5)), [30, 120, 480, 1_920, 3_600, 3_600]);
  assert.equal(seconds(1, 0), 22.5);
  assert.ok(seconds(1, 1 - Number.EPSILON) <= 37.5);
  for (let attempts = 1; attempts < 5; attempts++) {
    assert.ok(seconds(attempts, 1) < seconds(attempts + 1, 0), 'the spread does not undo the growth');
  }
});
