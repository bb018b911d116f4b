import { fstatSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay, type ELDHistogram } from 'node:perf_hooks';
import { codeOf } from '../error-code.ts';
import type { Metric } from './exposition.ts';

type ProcessMetrics = { read(): ProcessFigures; close(): void };

/** Event loop delays in nanoseconds. */
type Delays = Record<'min' | 'max' | 'mean' | 'stddev' | 'p50' | 'p90' | 'p99', number>;

export type ProcessFigures = {
  startedAtSeconds: number;
  cpu: NodeJS.CpuUsage;
  memory: NodeJS.MemoryUsage;
  status: string; // content of /proc/self/status; empty if the file is unreadable
  limits: string;
  descriptors: number | undefined;
  lagMs: number;
  delays: Delays | undefined; // undefined if no delay of the event loop was measured since the last `read`
};

const LAG_RESOLUTION_MS = 10;

/** Measures delays of the event loop from now until `close`. */
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

/** Reads a file in /proc; empty if unreadable, as on another operating system. */
function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Makes an fstat per entry of the descriptor table: listing /proc/self/fd would need rights to the whole disk. */
function countDescriptors(): number | undefined {
  const places = /^FDSize:\s+(\d+)$/m.exec(readProc('/proc/self/status'))?.[1];
  if (places === undefined) return undefined;
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // most places are free, and a stack for each took two thirds of a scrape
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

/** Measures how late setImmediate callbacks run: each call returns the lag that the previous call began to measure. */
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

type Scrape = { process: ProcessFigures };

const MICROSECONDS = 1e6; // per second
const NANOSECONDS = 1e9; // per second

const [major = '', minor = '', patch = ''] = process.version.slice(1).split('.');

/** Metrics of the process, named as in the Prometheus client libraries. */
export const PROCESS_METRICS: readonly Metric<Scrape>[] = [
  cpu('user_', 'User CPU', ({ user }) => user),
  cpu('system_', 'System CPU', ({ system }) => system),
  cpu('', 'User and system CPU', ({ user, system }) => user + system),
  gauge('process_start_time_seconds', 'Unix time of the process start.', ({ startedAtSeconds }) => startedAtSeconds),
  gauge('process_resident_memory_bytes', 'Resident memory size.', ({ memory }) => memory.rss),
  gauge('process_virtual_memory_bytes', 'Virtual memory size.', ({ status }) => kibibytes(status, 'VmSize')),
  gauge('process_heap_bytes', 'Size of the data segment of the process.', ({ status }) => kibibytes(status, 'VmData')),
  gauge('nodejs_heap_size_total_bytes', 'Heap that V8 has reserved.', ({ memory }) => memory.heapTotal),
  gauge('nodejs_heap_size_used_bytes', 'Heap that V8 uses.', ({ memory }) => memory.heapUsed),
  gauge('nodejs_external_memory_bytes', 'Memory outside of the heap that belongs to objects of V8.',
    ({ memory }) => memory.external),
  gauge('process_open_fds', 'Open file descriptors.', ({ descriptors }) => descriptors),
  gauge('process_max_fds', 'Maximum number of open file descriptors.',
    ({ limits }) => numberIn(limits, /^Max open files\s+(\d+)/m)),
  gauge('nodejs_eventloop_lag_seconds', 'Lag of the event loop at the previous scrape.', ({ lagMs }) => lagMs / 1_000),
  delay('min', 'Least'),
  delay('max', 'Greatest'),
  delay('mean', 'Mean'),
  delay('stddev', 'Standard deviation'),
  delay('p50', '50th percentile'),
  delay('p90', '90th percentile'),
  delay('p99', '99th percentile'),
  {
    type: 'info',
    name: 'nodejs_version_info',
    help: 'Version of Node.js that runs the process.',
    labels: { version: 'such as v24.7.0', major: 'first part', minor: 'second part', patch: 'third part' },
    samples: () => [{ labels: { version: process.version, major, minor, patch }, value: 1 }],
  },
];

function gauge(name: string, help: string, value: (figures: ProcessFigures) => number | undefined): Metric<Scrape> {
  return { type: 'gauge', name, help, value: ({ process }) => value(process) };
}

function cpu(kind: '' | 'user_' | 'system_', what: string, time: (usage: NodeJS.CpuUsage) => number): Metric<Scrape> {
  const value = ({ process: { cpu: usage } }: Scrape): number => time(usage) / MICROSECONDS;
  return { type: 'counter', name: `process_cpu_${kind}seconds_total`, help: `${what} time spent.`, value };
}

function delay(name: keyof Delays, what: string): Metric<Scrape> {
  const help = `${what} of the time between ticks of a ${LAG_RESOLUTION_MS} ms timer since the previous scrape.`;
  return gauge(`nodejs_eventloop_lag_${name}_seconds`, help, ({ delays }) => delays && delays[name] / NANOSECONDS);
}

function numberIn(text: string, pattern: RegExp): number | undefined {
  const value = pattern.exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

function kibibytes(status: string, field: string): number | undefined {
  const value = numberIn(status, new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm'));
  return value === undefined ? undefined : value * 1024;
}
