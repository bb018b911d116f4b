import type { TestContext } from 'node:test';

/**
 * Stops the hub's watch (`performance.now`) until the test ends, so that no batch is divided because the machine is
 * busy. The function that it returns moves the watch on by so many ms.
 */
export function stopWatch(t: TestContext): (milliseconds: number) => void {
  let now = Math.ceil(performance.now()); // a whole number, so that sums of whole milliseconds are exact
  t.mock.method(performance, 'now', () => now);
  return (milliseconds) => void (now += milliseconds);
}
