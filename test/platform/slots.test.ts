// Protects limits on concurrency: so many at once, the others in order, and none beyond the queue.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSlots } from '../../src/platform/limit-concurrency.ts';

test('so many works run at once, so many wait in order, and one more is refused', async () => {
  const slots = createSlots(2, 2, () => new Error('busy'));
  const begun: number[] = [];
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const works = gates.map((gate, index) => slots(() => {
    begun.push(index);
    return gate.promise;
  }));

  assert.deepEqual(begun, [0, 1]);
  await assert.rejects(slots(async () => {}), /busy/);
  gates[1]?.resolve();
  await works[1];
  assert.deepEqual(begun, [0, 1, 2]);
  gates.forEach((gate) => gate.resolve());
  await Promise.all(works);
  assert.deepEqual(begun, [0, 1, 2, 3]);
});

test('half of those who wait may be one and the same', async () => {
  const slots = createSlots(1, 4, () => new Error('busy'));
  const gate = Promise.withResolvers<void>();
  const works = [1, 1, 1].map((who) => slots(() => gate.promise, who));
  const third = assert.rejects(slots(() => gate.promise, 1), /busy/);
  works.push(slots(() => gate.promise, 2), slots(() => gate.promise, 3));
  const last = assert.rejects(slots(() => gate.promise, 4), /busy/);
  gate.resolve();
  await Promise.all([third, last, ...works]);
});

test('a work that fails gives its place to the next', async () => {
  const slots = createSlots(1, 1, () => new Error('busy'));
  const failing = slots(() => Promise.reject(new Error('broken')));
  const next = slots(async () => 'done');

  await assert.rejects(failing, /broken/);
  assert.equal(await next, 'done');
});

test('who comes just when a work ends waits behind those who wait already, and no place is given twice', async () => {
  const slots = createSlots(1, 9, () => new Error('busy'));
  let [running, most] = [0, 0];
  const order: string[] = [];
  const work = (name: string) => slots(async () => {
    most = Math.max(most, ++running);
    order.push(name);
    await Promise.resolve();
    running--;
  });
  const gate = Promise.withResolvers<void>();
  const first = slots(() => gate.promise);
  const waiting = work('waited');

  // Each comes one turn later than the other, so that one of them meets the moment between end and beginning.
  const late = first.then(() => work('late'));
  gate.resolve();
  const later = [0, 1, 2, 3, 4].map(async (turns) => {
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    await work(`after ${turns}`);
  });
  await Promise.all([first, waiting, late, ...later]);

  assert.equal(most, 1);
  assert.equal(order[0], 'waited');
  assert.equal(order.length, 7);
});
