// Protects others from whoever has much to do: owners take turns, and what hangs leaves places free.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RANKS } from '../../../src/platform/jobs/job-queue.ts';
import { add, claimOne, startQueue } from '../../support/queue.ts';

const ADA = 1;
const BOB = 2;
const CLEO = 3;

const { asked, usual, doubtful } = RANKS;

type Queue = ReturnType<typeof startQueue>['queue'];

function addMany(queue: Queue, owner: number, many: number, job: Partial<Parameters<typeof add>[1]> = {}): void {
  for (let n = 0; n < many; n++) add(queue, { owner, payload: owner, ...job });
}

const payloads = (queue: Queue, limit: number) => queue.claim('k', limit).map(({ payload }) => payload);

test('owners take turns, however many jobs an owner has and however early these jobs came', (t) => {
  const { queue } = startQueue(t);
  addMany(queue, ADA, 100);
  addMany(queue, BOB, 2);
  addMany(queue, CLEO, 1);

  assert.deepEqual(payloads(queue, 5).sort(), [ADA, ADA, BOB, BOB, CLEO]);
});

test('whoever holds fewest places is next', (t) => {
  const { queue } = startQueue(t);
  addMany(queue, ADA, 10);
  assert.deepEqual(payloads(queue, 4), [ADA, ADA, ADA, ADA]);
  addMany(queue, BOB, 10);

  for (let n = 0; n < 4; n++) assert.equal(claimOne(queue).payload, BOB, `place ${n}`);
  const turns = [claimOne(queue).payload, claimOne(queue).payload, claimOne(queue).payload, claimOne(queue).payload];
  assert.deepEqual(turns.sort(), [ADA, ADA, BOB, BOB], 'those with as many places go on in turn');
});

test('places that are taken in one claim count for the next of it', (t) => {
  const { queue } = startQueue(t);
  addMany(queue, ADA, 10);
  assert.deepEqual(payloads(queue, 2), [ADA, ADA]);
  addMany(queue, BOB, 10);

  const [first, second, ...others] = payloads(queue, 6);
  assert.deepEqual([first, second], [BOB, BOB]);
  assert.deepEqual(others.sort(), [ADA, ADA, BOB, BOB]);
});

test('what was asked for comes before what is usual, and that before what is doubtful', (t) => {
  const { queue } = startQueue(t);
  addMany(queue, ADA, 1, { rank: doubtful, payload: 'doubtful' });
  addMany(queue, ADA, 1, { rank: usual, payload: 'usual' });
  addMany(queue, BOB, 1, { rank: asked, payload: 'asked' });

  assert.deepEqual([1, 2, 3].map(() => claimOne(queue).payload), ['asked', 'usual', 'doubtful']);
});

test('what is doubtful gets every fourth place, so that it is never without hope', (t) => {
  const { queue } = startQueue(t);
  addMany(queue, ADA, 100, { payload: 'usual' });
  addMany(queue, BOB, 2, { rank: doubtful, payload: 'doubtful' });

  const order = Array.from({ length: 8 }, () => claimOne(queue)).map((job) => (queue.complete(job), job.payload));
  assert.deepEqual(order, ['usual', 'usual', 'usual', 'doubtful', 'usual', 'usual', 'usual', 'doubtful']);
});

test('what is doubtful leaves a quarter of the places free, and a job that failed is doubtful', (t) => {
  const { queue, passTime } = startQueue(t);
  addMany(queue, ADA, 8);
  for (const job of queue.claim('k', 8)) queue.fail(job, new Error('it hangs'));
  passTime(60_000);

  assert.equal(queue.claim('k', 8).length, 6);
  assert.deepEqual(queue.claim('k', 2), []);
  addMany(queue, BOB, 1);
  assert.deepEqual(payloads(queue, 2), [BOB]);
});

test('a kind with a single place does what is doubtful too', (t) => {
  const { queue } = startQueue(t);
  addMany(queue, ADA, 1, { rank: doubtful });
  assert.equal(queue.claim('k', 1).length, 1);
});

test('a waiting job that is hurried is one that was asked for', (t) => {
  const { queue } = startQueue(t);
  addMany(queue, ADA, 3);
  add(queue, { owner: ADA, dedupeKey: 'd', rank: doubtful, payload: 'hurried' });
  queue.hurry('k', 'd');
  assert.equal(claimOne(queue).payload, 'hurried');
});
