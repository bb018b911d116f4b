import { monitorEventLoopDelay } from 'node:perf_hooks';
import { once, type Hub } from '../hub/hub.ts';

/** Since the sample before: bytes of memory, by how many ms the event loop was late, per cent of a processor. */
export type Sample = { memory: number; memoryMax: number; delayP99: number; delayMax: number; busy: number };

/** Often enough to see what anybody would feel, seldom enough to cost nothing. */
const RESOLUTION = 50; // ms

const MS = 1e6; // nanoseconds

/** Watches this process from its first call on. A histogram of its own: each scrape empties that of the metrics. */
export const processSample = once((_hub: Hub) => {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  delay.enable();
  let memoryMax = 0;
  let since = { at: performance.now(), cpu: process.cpuUsage() };

  function look(): number {
    const memory = process.memoryUsage.rss();
    memoryMax = Math.max(memoryMax, memory);
    return memory;
  }

  return {
    /** Looks at the memory, of which the sample has the greatest. */
    look: (): void => void look(),

    take(): Sample {
      const memory = look();
      const late = (turn: number): number => Math.max(0, Math.round((turn / MS - RESOLUTION) * 10) / 10);
      const [delayP99, delayMax] = delay.count === 0 ? [0, 0] : [late(delay.percentile(99)), late(delay.max)];
      const sample = { memory, memoryMax, delayP99, delayMax, busy: busySince(since) };
      since = { at: performance.now(), cpu: process.cpuUsage() };
      delay.reset();
      memoryMax = 0;
      return sample;
    },
  };
});

/** One decimal. */
function busySince({ at, cpu }: { at: number; cpu: NodeJS.CpuUsage }): number {
  const { user, system } = process.cpuUsage(cpu); // microseconds
  const passed = Math.max(1, performance.now() - at); // ms
  return Math.round((user + system) / passed) / 10;
}
