// Protects the rhythm of an alert's attempts, and its end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_ATTEMPTS, planDelivery } from '../../../src/features/alerts/send-alert.ts';
import { HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';

const MIDDLE = () => 0.5;

function delayAfter(attempts: number, random = MIDDLE, retryAfterMs?: number): number {
  const result = { outcome: 'retry' as const, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const next = planDelivery(result, attempts, random);
  return next.state === 'pending' ? next.delayMs : assert.fail(next.state);
}

test('an alert is tried five times, with growing pauses', () => {
  assert.equal(MAX_ATTEMPTS, 5);
  const delays = [1, 2, 3, 4].map((attempts) => delayAfter(attempts));
  assert.deepEqual(delays, [30 * SECOND, 2 * MINUTE, 8 * MINUTE, 32 * MINUTE]);
  for (const attempts of [5, 6, 100]) {
    assert.deepEqual(planDelivery({ outcome: 'retry', retryAfterMs: 1 }, attempts, MIDDLE), { state: 'failed' });
  }
});

test('pauses differ by chance, and no pause is longer than that after the next attempt', () => {
  for (const attempts of [1, 2, 3, 4]) {
    const [shortest, longest] = [delayAfter(attempts, () => 0), delayAfter(attempts, () => 0.999_999)];
    assert.ok(shortest < longest && longest <= shortest * 2, `${shortest} to ${longest} ms`);
    if (attempts < 4) assert.ok(longest < delayAfter(attempts + 1, () => 0));
  }
});

test('what is delivered or final ends the delivery at whatever attempt', () => {
  for (const attempts of [1, 3, 5]) {
    assert.deepEqual(planDelivery({ outcome: 'delivered' }, attempts, MIDDLE), { state: 'delivered' });
    assert.deepEqual(planDelivery({ outcome: 'failed', retryAfterMs: 1 }, attempts, MIDDLE), { state: 'failed' });
  }
});

test('a Retry-After holds the next attempt back, never brings it forward, and counts for an hour at most', () => {
  for (const random of [() => 0, MIDDLE, () => 0.999_999]) {
    for (const asked of [5 * MINUTE, 45 * MINUTE, HOUR]) {
      const delay = delayAfter(1, random, asked);
      assert.ok(delay >= asked && delay <= asked * 1.1, `${delay} ms for ${asked}`);
    }
    for (const asked of [0, 1, 10 * SECOND]) assert.equal(delayAfter(2, random, asked), delayAfter(2, random));
    for (const asked of [HOUR + 1, 24 * HOUR, 2 ** 31 * SECOND, Infinity]) {
      assert.equal(delayAfter(1, random, asked), delayAfter(1, random, HOUR));
    }
  }
});
