import { monitorEventLoopDelay } from 'node:perf_hooks';
import { once, type Hub } from '../hub/hub.ts';

/** Since the last sample: memory in bytes, event loop delay in ms, percent of one processor. */
export type Sample = { memory: number; memoryMax: number; delayP99: number; delayMax: number; busy: number };

/** Fine enough to see delays that a person notices, and cheap. */
const RESOLUTION = 50; // ms

const MS = 1e6; // nanoseconds

/** Measures this process from the first call on. It has its own histogram, because each scrape resets the metrics'. */
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
    /** Measures the memory; the sample has the maximum. */
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

/** Percent of one processor, with one decimal. */
function busySince({ at, cpu }: { at: number; cpu: NodeJS.CpuUsage }): number {
  const { user, system } = process.cpuUsage(cpu); // microseconds
  const passed = Math.max(1, performance.now() - at); // ms
  return Math.round((user + system) / passed) / 10;
}
