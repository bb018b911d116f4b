import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { counter, type Family, gauge } from './exposition.ts';

export type ProcessMetrics = { families(): Family[]; close(): void };

type DelayHistogram = ReturnType<typeof monitorEventLoopDelay>;

const MICROSECONDS = 1e6; // per second
const NANOSECONDS = 1e9; // per second
const LAG_RESOLUTION_MS = 10;

/**
 * What the Prometheus client libraries say of a process, under their names. Numbers from /proc are left out where it
 * is not readable (Node's permission model without it, other systems), as a missing value is better than a wrong one.
 */
export function createProcessMetrics({ startedAtSeconds }: { startedAtSeconds: number }): ProcessMetrics {
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delay.enable();
  const start = gauge('process_start_time_seconds', 'When the process started.', startedAtSeconds);
  const version = versionFamily(process.version);
  const lag = createLagProbe();
  return {
    families: () => [
      ...cpuFamilies(), start, ...memoryFamilies(), ...descriptorFamilies(), lag(), ...delayFamilies(delay), version,
    ],
    close: () => void delay.disable(),
  };
}

function cpuFamilies(): Family[] {
  const { user, system } = process.cpuUsage();
  return [
    counter('process_cpu_user_seconds_total', 'User CPU time spent.', user / MICROSECONDS),
    counter('process_cpu_system_seconds_total', 'System CPU time spent.', system / MICROSECONDS),
    counter('process_cpu_seconds_total', 'User and system CPU time spent.', (user + system) / MICROSECONDS),
  ];
}

function memoryFamilies(): Family[] {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const status = readProc('/proc/self/status');
  return [
    gauge('process_resident_memory_bytes', 'Resident memory size.', rss),
    ...optional('process_virtual_memory_bytes', 'Virtual memory size.', kibibytes(status, 'VmSize')),
    ...optional('process_heap_bytes', 'Size of the data segment of the process.', kibibytes(status, 'VmData')),
    gauge('nodejs_heap_size_total_bytes', 'Heap that V8 has reserved.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Heap that V8 uses.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Memory outside of the heap that belongs to objects of V8.', external),
  ];
}

function descriptorFamilies(): Family[] {
  const limit = /^Max open files\s+(\d+)/m.exec(readProc('/proc/self/limits'))?.[1];
  return [
    ...optional('process_open_fds', 'Open file descriptors.', countDescriptors()),
    ...optional('process_max_fds', 'Most file descriptors that may be open at once.', limit),
  ];
}

function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function kibibytes(status: string, field: string): number | undefined {
  const value = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  return value === undefined ? undefined : Number(value) * 1024;
}

function countDescriptors(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length - 1; // one of them is the listing's own
  } catch {
    return undefined;
  }
}

function optional(name: string, help: string, value: number | string | undefined): Family[] {
  return value === undefined ? [] : [gauge(name, help, Number(value))];
}

/** Each collection starts the measurement that the next one reports, since it cannot wait for its own. */
function createLagProbe(): () => Family {
  let lag = 0; // milliseconds
  return () => {
    const asked = performance.now();
    setImmediate(() => { lag = performance.now() - asked; }).unref();
    return gauge('nodejs_eventloop_lag_seconds', 'Lag of the event loop at the previous scrape.', lag / 1000);
  };
}

/** Of the time since the previous collection; left out when nothing was recorded in it. */
function delayFamilies(delay: DelayHistogram): Family[] {
  if (delay.count === 0) return [];
  const part = (name: string, what: string, nanoseconds: number): Family => {
    const help = `${what} of the time between turns of a ${LAG_RESOLUTION_MS} ms timer since the previous scrape.`;
    return gauge(`nodejs_eventloop_lag_${name}_seconds`, help, nanoseconds / NANOSECONDS);
  };
  const families = [
    part('min', 'Least', delay.min),
    part('max', 'Greatest', delay.max),
    part('mean', 'Mean', delay.mean),
    part('stddev', 'Standard deviation', delay.stddev),
    part('p50', '50th percentile', delay.percentile(50)),
    part('p90', '90th percentile', delay.percentile(90)),
    part('p99', '99th percentile', delay.percentile(99)),
  ];
  delay.reset();
  return families;
}

function versionFamily(version: string): Family {
  const [major = '', minor = '', patch = ''] = version.slice(1).split('.');
  return {
    type: 'info',
    name: 'nodejs_version_info',
    help: 'Version of Node.js that runs the process.',
    samples: [{ labels: { version, major, minor, patch }, value: 1 }],
  };
}
