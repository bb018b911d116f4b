import type { TestContext } from 'node:test';

/** For how long the timers that are set from now on were to wait (ms). Each runs at once; `pass` moves the watch on. */
export function noteWaits(t: TestContext, pass: (milliseconds: number) => void = () => {}): number[] {
  const { setTimeout: later } = globalThis;
  const waits: number[] = [];
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms = 0) => later(() => {
    waits.push(ms);
    pass(ms);
    run();
  }, 0));
  return waits;
}
