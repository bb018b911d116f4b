import { fstatSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay, type ELDHistogram } from 'node:perf_hooks';
import { codeOf } from '../error-code.ts';

type ProcessMetrics = { read(): ProcessReading; close(): void };

/** Delays in nanoseconds. */
export type Delays = Record<'min' | 'max' | 'mean' | 'stddev' | 'p50' | 'p90' | 'p99', number>;

export type ProcessReading = {
  startedAtSeconds: number;
  cpu: NodeJS.CpuUsage;
  memory: NodeJS.MemoryUsage;
  status: string; // /proc/self/status; empty if it cannot be read
  limits: string;
  descriptors: number | undefined;
  lagMs: number;
  delays: Delays | undefined; // undefined: nothing recorded since the last reading
};

export const LAG_RESOLUTION_MS = 10;

/** Starts to measure event loop delays. `close` stops it. */
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

/** Leaves out numbers of /proc if it cannot be read: under Node's permission model, or on another system. */
function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/**
 * Counts open descriptors by asking the kernel about each, up to the table's size (FDSize); undefined if that cannot be
 * read. Listing /proc/self/fd would need a grant that leads to the whole disk. Takes 2 µs per entry of the table, which
 * has 256 at first and grows to at most twice the descriptors ever open at once.
 */
function countDescriptors(): number | undefined {
  const places = /^FDSize:\s+(\d+)$/m.exec(readProc('/proc/self/status'))?.[1];
  if (places === undefined) return undefined;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // building a stack for each closed descriptor would double the time
  try {
    return Array.from({ length: Number(places) }, (_, descriptor) => descriptor).filter(isOpen).length;
  } catch {
    return undefined;
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function isOpen(descriptor: number): boolean {
  try {
    fstatSync(descriptor);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EBADF') return false;
    throw error;
  }
}

/** Each reading starts the lag measurement that the next one reports. */
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
