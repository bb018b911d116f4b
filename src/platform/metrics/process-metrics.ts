import type { Metric } from './exposition.ts';
import { LAG_RESOLUTION_MS, type Delays, type ProcessReading } from './measure-process.ts';

type Reading = { process: ProcessReading };

const MICROSECONDS = 1e6; // per second
const NANOSECONDS = 1e9; // per second

const [major = '', minor = '', patch = ''] = process.version.slice(1).split('.');

/** Under the names that the Prometheus client libraries give them. */
export const PROCESS_METRICS: readonly Metric<Reading>[] = [
  cpu('user_', 'User CPU', ({ user }) => user),
  cpu('system_', 'System CPU', ({ system }) => system),
  cpu('', 'User and system CPU', ({ user, system }) => user + system),
  gauge('process_start_time_seconds', 'When the process started.', ({ startedAtSeconds }) => startedAtSeconds),
  gauge('process_resident_memory_bytes', 'Resident memory size.', ({ memory }) => memory.rss),
  gauge('process_virtual_memory_bytes', 'Virtual memory size.', ({ status }) => kibibytes(status, 'VmSize')),
  gauge('process_heap_bytes', 'Size of the data segment of the process.', ({ status }) => kibibytes(status, 'VmData')),
  gauge('nodejs_heap_size_total_bytes', 'Heap that V8 has reserved.', ({ memory }) => memory.heapTotal),
  gauge('nodejs_heap_size_used_bytes', 'Heap that V8 uses.', ({ memory }) => memory.heapUsed),
  gauge('nodejs_external_memory_bytes', 'Memory outside of the heap that belongs to objects of V8.',
    ({ memory }) => memory.external),
  gauge('process_open_fds', 'Open file descriptors.', ({ descriptors }) => descriptors),
  gauge('process_max_fds', 'Most file descriptors that may be open at once.',
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

function gauge(name: string, help: string, value: (reading: ProcessReading) => number | undefined): Metric<Reading> {
  return { type: 'gauge', name, help, value: (reading) => value(reading.process) };
}

function cpu(kind: '' | 'user_' | 'system_', what: string, time: (usage: NodeJS.CpuUsage) => number): Metric<Reading> {
  const value = ({ process: { cpu: usage } }: Reading): number => time(usage) / MICROSECONDS;
  return { type: 'counter', name: `process_cpu_${kind}seconds_total`, help: `${what} time spent.`, value };
}

function delay(name: keyof Delays, what: string): Metric<Reading> {
  const help = `${what} of the time between turns of a ${LAG_RESOLUTION_MS} ms timer since the previous scrape.`;
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
