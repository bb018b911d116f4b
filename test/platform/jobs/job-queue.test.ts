// Protects the lease: one worker at a time has a job, and a worker that outlived its lease changes nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { LEASE } from '../../../src/platform/jobs/worker-queue.ts';
import { add, assertCountsAreTrue, claimOne, START, startQueue, state } from '../../support/queue.ts';

test('a job is claimed once while its lease lasts, and again with the next attempt when it has ended', (t) => {
  const { queue, passTime } = startQueue(t);
  add(queue, { payload: { url: 'https://example.org/ü' }, dedupeKey: 'd', lane: 'l' });

  const job = claimOne(queue);
  assert.deepEqual({ ...job, leaseToken: '' }, {
    id: 1, kind: 'k', payload: { url: 'https://example.org/ü' }, dedupeKey: 'd', lane: 'l',
    attempts: 1, maxAttempts: 5, leaseToken: '',
  });
  passTime(LEASE - 1);
  assert.deepEqual(queue.claim('k', 10), []);
  passTime(1);
  const again = claimOne(queue);
  assert.equal(again.attempts, 2);
  assert.notEqual(again.leaseToken, job.leaseToken);
});

test('jobs are claimed in the order in which they fall due, of the asked kind only, and not before', (t) => {
  const { queue, passTime } = startQueue(t);
  add(queue, { payload: 'third', runAt: START + 20 });
  add(queue, { payload: 'first' });
  add(queue, { payload: 'second', runAt: START + 10.5 });
  add(queue, { kind: 'other', payload: 'other' });

  assert.deepEqual(queue.claim('k', 10).map(({ payload }) => payload), ['first']);
  assert.equal(queue.nextDueAt(['k'], START), START + 11);
  passTime(20);
  assert.deepEqual(queue.claim('k', 1).map(({ payload }) => payload), ['second']);
  assert.deepEqual(queue.claim('k', 10).map(({ payload }) => payload), ['third']);
  assert.deepEqual(queue.claim('k', 0), []);
});

test('a worker that outlived its lease can neither complete nor fail nor release the job', (t) => {
  const { queue, passTime, effect, effects } = startQueue(t);
  add(queue);
  const late = claimOne(queue);
  passTime(LEASE);
  const current = claimOne(queue);

  assert.equal(queue.complete(late, effect(late)), false);
  assert.deepEqual(queue.completeMany([{ job: late, effects: effect(late) }]), ['lost']);
  assert.equal(queue.fail(late, new Error('late'), { effects: effect(late) }), 'lost');
  assert.equal(queue.release(late), false);
  assert.equal(queue.leaseEnd(late), null);
  assert.deepEqual(effects(), []);
  assert.equal(queue.complete(current, effect(current)), true);
  assert.equal(queue.complete(current, effect(current)), false, 'a second time it is no longer held');
  assert.deepEqual(effects(), [current.id]);
});

test('a job that kills its worker in every attempt is dead-lettered after its last attempt, and a living worker is told', (t) => {
  const { db, queue, passTime } = startQueue(t);
  add(queue, { maxAttempts: 2 });
  for (const attempt of [1, 2]) {
    assert.equal(claimOne(queue).attempts, attempt);
    passTime(LEASE);
  }
  const told: string[] = [];

  assert.deepEqual(queue.claim('k', 1, (job, error) => told.push(`${job.id}: ${error.message}`)), []);
  assert.deepEqual(told, ['1: worker died or lost the job in attempt 2 of 2']);
  assert.equal(queue.find(1)?.state, 'failed');
  assert.equal(queue.find(1)?.lastError, 'worker died or lost the job in attempt 2 of 2');
  assert.equal(queue.failedCount('k'), 1);
  assertCountsAreTrue(db);
});

test('a dead-lettering that cannot be told is put off by a lease, holds up no other job, and is not forgotten', (t) => {
  const { queue, passTime, effect, effects } = startQueue(t);
  add(queue, { maxAttempts: 1 });
  const dead = claimOne(queue);
  passTime(LEASE);
  add(queue);

  assert.throws(() => queue.claim('k', 1, (job) => {
    effect(job)();
    throw new Error('alert broken');
  }), /alert broken/);
  assert.equal(state(queue, dead), 'running');
  assert.deepEqual(effects(), []);
  assert.equal(claimOne(queue).id, 2);
  passTime(LEASE);
  queue.claim('k', 1, (job) => effect(job)());
  assert.equal(state(queue, dead), 'failed');
  assert.deepEqual(effects(), [dead.id]);
});

test('a second live job with the same kind and key is refused while the first waits, retries or runs', (t) => {
  const { queue, passTime } = startQueue(t);
  const again = () => add(queue, { dedupeKey: '7' });
  assert.equal(again(), true);
  assert.equal(again(), false, 'queued');
  assert.equal(add(queue, { kind: 'other', dedupeKey: '7' }), true, 'another kind');
  const job = claimOne(queue);
  assert.equal(again(), false, 'running');
  queue.fail(job, new Error('x'));
  assert.equal(again(), false, 'retrying');
  passTime(MINUTE);
  queue.complete(claimOne(queue));
  assert.equal(again(), true, 'done');
  queue.fail({ ...claimOne(queue), maxAttempts: 1 }, new Error('x'));
  assert.equal(again(), true, 'failed');
  assert.equal(queue.discard(queue.list({ state: 'queued' }).find(({ kind }) => kind === 'k')?.id ?? 0), true);
  assert.equal(again(), true, 'discarded');
  assert.equal(add(queue), add(queue), 'without a key there is no limit');
});

test('a job of a caller whose transaction is rolled back never existed', (t) => {
  const { db, queue } = startQueue(t);
  const work = db.transaction('work', () => {
    add(queue, { dedupeKey: '1' });
    throw new Error('rolled back');
  });

  assert.throws(work, /rolled back/);
  assert.deepEqual(queue.list(), []);
  assert.equal(add(queue, { dedupeKey: '1' }), true);
  assertCountsAreTrue(db);
});

test('a bad job is refused with an error instead of being taken for a duplicate', (t) => {
  const { queue } = startQueue(t);

  assert.throws(() => add(queue, { maxAttempts: 0 }), /CHECK/);
  assert.throws(() => add(queue, { runAt: NaN }), /NOT NULL/);
});

test('one claim never takes two jobs of one lane, and none of a lane that is at work', (t) => {
  const { queue, passTime } = startQueue(t);
  for (const lane of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) add(queue, { lane, payload: lane });
  add(queue, { payload: 'free' });
  add(queue, { kind: 'other', lane: 'a' });

  const first = queue.claim('k', 4);
  assert.deepEqual(first.map(({ payload }) => payload), ['a', 'b', 'c', 'free']);
  assert.deepEqual(queue.claim('k', 10), []);
  assert.deepEqual(queue.claim('other', 10), [], 'a lane is shared by all kinds');
  assert.ok(first[0] && first[1]);
  queue.complete(first[0]);
  queue.fail(first[1], new Error('x'));
  assert.deepEqual(queue.claim('k', 10).map(({ id, payload }) => [id, payload]), [[2, 'a'], [6, 'b']]);
  passTime(LEASE);
  assert.deepEqual(
    queue.claim('k', 10).map(({ payload, attempts }) => [payload, attempts]),
    [['a', 2], ['b', 2], ['c', 2], ['free', 2]],
    'jobs of a dead worker keep their lanes',
  );
});

test('a claim takes no more than was asked for, also when it must look past a busy lane', (t) => {
  const { queue } = startQueue(t);
  for (const lane of ['a', 'a', 'b', 'c', 'd']) add(queue, { lane, payload: lane });

  assert.deepEqual(queue.claim('k', 2).map(({ payload }) => payload), ['a', 'b']);
  assert.deepEqual(queue.claim('k', 1).map(({ payload }) => payload), ['c']);
});

test('a clock set back an hour holds up a dead worker’s job for one lease, and what was due for the hour', (t) => {
  const { queue, passTime } = startQueue(t);
  add(queue);
  const dead = claimOne(queue);
  add(queue, { payload: 'due before' });
  passTime(-HOUR);
  add(queue, { payload: 'due after' });

  assert.deepEqual(queue.claim('k', 10).map(({ payload }) => payload), ['due after']);
  assert.equal(queue.find(dead.id)?.leaseExpiresAt, START - HOUR + LEASE, 'cut to a lease from now');
  passTime(LEASE);
  assert.deepEqual(queue.claim('k', 10).map(({ id, attempts }) => [id, attempts]), [[dead.id, 2], [3, 2]]);
  passTime(HOUR);
  assert.ok(queue.claim('k', 10).some(({ payload }) => payload === 'due before'));
});
