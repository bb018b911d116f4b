import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay, type ELDHistogram } from 'node:perf_hooks';

export type ProcessMetrics = { read(): ProcessReading; close(): void };

/** Delays in nanoseconds. */
export type Delays = Record<'min' | 'max' | 'mean' | 'stddev' | 'p50' | 'p90' | 'p99', number>;

export type ProcessReading = {
  startedAtSeconds: number;
  cpu: NodeJS.CpuUsage;
  memory: NodeJS.MemoryUsage;
  status: string; // of /proc, empty where that cannot be read
  limits: string;
  descriptors: number | undefined;
  lagMs: number;
  delays: Delays | undefined; // undefined where nothing was recorded since the last reading
};

export const LAG_RESOLUTION_MS = 10;

/** Starts to watch the event loop. `close` ends that. */
export function createProcessMetrics({ startedAtSeconds }: { startedAtSeconds: number }): ProcessMetrics {
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delay.enable();
  const readLag = createLagProbe();
  return {
    read: () => ({
      startedAtSeconds,
      cpu: process.cpuUsage(),
      memory: process.memoryUsage(),
      status: readProc('/proc/self/status'),
      limits: readProc('/proc/self/limits'),
      descriptors: countDescriptors(),
      lagMs: readLag(),
      delays: takeDelays(delay),
    }),
    close: () => void delay.disable(),
  };
}

/** Numbers of /proc are left out where it cannot be read: under Node's permission model, on other systems. */
function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function countDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length - 1; // one of them is the listing's own
  } catch {
    return undefined;
  }
}

/** Each reading starts the measurement that the next one reports, since it cannot wait for its own. */
function createLagProbe(): () => number {
  let lag = 0; // milliseconds
  return () => {
    const asked = performance.now();
    setImmediate(() => { lag = performance.now() - asked; }).unref();
    return lag;
  };
}

function takeDelays(delay: ELDHistogram): Delays | undefined {
  if (delay.count === 0) return undefined;
  const { min, max, mean, stddev } = delay;
  const [p50, p90, p99] = [delay.percentile(50), delay.percentile(90), delay.percentile(99)];
  delay.reset();
  return { min, max, mean, stddev, p50, p90, p99 };
}
