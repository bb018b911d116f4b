// Protects the rhythm of an alert's attempts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pauseAfter } from '../../../src/features/alerts/send-alert.ts';
import { HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';

const MIDDLE = () => 0.5;

test('the pauses between the attempts of an alert grow, differ by chance, and none is longer than the next', () => {
  assert.deepEqual([1, 2, 3, 4].map((n) => pauseAfter(n, MIDDLE)), [30 * SECOND, 2 * MINUTE, 8 * MINUTE, 32 * MINUTE]);
  for (const attempts of [1, 2, 3, 4]) {
    const [shortest, longest] = [pauseAfter(attempts, () => 0), pauseAfter(attempts, () => 0.999_999)];
    assert.ok(shortest < longest && longest <= shortest * 2, `${shortest} to ${longest} ms`);
    if (attempts < 4) assert.ok(longest < pauseAfter(attempts + 1, () => 0));
  }
});

test('a Retry-After holds the next attempt back, never brings it forward, and counts for an hour at most', () => {
  for (const random of [() => 0, MIDDLE, () => 0.999_999]) {
    for (const asked of [5 * MINUTE, 45 * MINUTE, HOUR]) {
      const delay = pauseAfter(1, random, asked);
      assert.ok(delay >= asked && delay <= asked * 1.1, `${delay} ms for ${asked}`);
    }
    for (const asked of [0, 1, 10 * SECOND]) assert.equal(pauseAfter(2, random, asked), pauseAfter(2, random));
    for (const asked of [HOUR + 1, 24 * HOUR, 2 ** 31 * SECOND, Infinity]) {
      assert.equal(pauseAfter(1, random, asked), pauseAfter(1, random, HOUR));
    }
  }
});
