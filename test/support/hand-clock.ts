import type { TestContext } from 'node:test';

type Timer = { run: () => void; ms: number; at: number };

/** Timers that are set from now on run only as the test lets time pass, by so many ms, with the function returned. */
export function handClock(t: TestContext): (milliseconds: number) => void {
  const timers = new Set<Timer>();
  let now = 0;
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms = 0) => {
    const timer = { run, ms, at: now + ms, refresh: () => void (timer.at = now + ms), unref: () => timer };
    timers.add(timer);
    return timer;
  });
  t.mock.method(globalThis, 'clearTimeout', (timer: Timer) => void timers.delete(timer));
  return (milliseconds) => {
    now += milliseconds;
    for (const timer of [...timers].filter(({ at }) => at <= now)) {
      timers.delete(timer);
      timer.run();
    }
  };
}
