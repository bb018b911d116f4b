import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay, type ELDHistogram } from 'node:perf_hooks';
import type { HistogramSample, Labels, Metric } from './exposition.ts';

export type ProcessMetrics = { read(): ProcessReading; close(): void };

/** Delays in nanoseconds. */
type Delays = Record<'min' | 'max' | 'mean' | 'stddev' | 'p50' | 'p90' | 'p99', number>;

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

type Reading = { process: ProcessReading };

const MICROSECONDS = 1e6; // per second
const NANOSECONDS = 1e9; // per second
const LAG_RESOLUTION_MS = 10;

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

/** Numbers of /proc are left out where it cannot be read: under Node's permission model, on other systems. */
function readProc(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function numberIn(text: string, pattern: RegExp): number | undefined {
  const value = pattern.exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

function kibibytes(status: string, field: string): number | undefined {
  const value = numberIn(status, new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm'));
  return value === undefined ? undefined : value * 1024;
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

export type HttpMetrics = {
  /** `route` is the template, never the path: the number of series must not depend on what clients ask for. */
  observe(method: string, route: string | undefined, code: number, seconds: number): void;
  read(): readonly HistogramSample[];
};

type Series = { labels: Labels; counts: number[]; sum: number };

type ByMethodAndCode = Map<string, Map<number, Series>>;

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const OTHER_METHOD = '_OTHER'; // the name OpenTelemetry gives to what a client made up
const NO_ROUTE = 'unmatched';

/** Seconds. Most answers of the hub take about one millisecond; an upload over a slow line takes many seconds. */
const BOUNDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

const LABELS = {
  method: `of the request, \`${OTHER_METHOD}\` for one that is not of HTTP`,
  route: `template of the path, \`${NO_ROUTE}\` for none`,
  code: 'status',
};

/** Of what `read` gives. */
export const HTTP_METRICS: readonly Metric<{ http: readonly HistogramSample[] }>[] = [
  {
    type: 'counter',
    name: 'service_http_requests_total',
    help: 'HTTP requests answered by the web process.',
    labels: LABELS,
    samples: ({ http }) => http.map((one) => ({ labels: one.labels, value: countOf(one) })),
  },
  {
    type: 'histogram',
    name: 'service_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer.',
    labels: LABELS,
    bounds: BOUNDS,
    samples: ({ http }) => http,
  },
];

/** Counts and durations of the answers of this process, in memory. `observe` makes no objects for a known series. */
export function createHttpMetrics(): HttpMetrics {
  const routes = new Map<string, ByMethodAndCode>();
  const all: Series[] = [];

  function addSeries(method: string, route: string, code: number): Series {
    const labels = { method, route, code: String(code) };
    const series = { labels, counts: new Array<number>(BOUNDS.length + 1).fill(0), sum: 0 };
    all.push(series);
    const methods = getOrAdd(routes, route, () => new Map());
    getOrAdd(methods, method, () => new Map()).set(code, series);
    return series;
  }

  function observe(method: string, route: string | undefined, code: number, seconds: number): void {
    const name = METHODS.has(method) ? method : OTHER_METHOD;
    const template = route ?? NO_ROUTE;
    const series = routes.get(template)?.get(name)?.get(code) ?? addSeries(name, template, code);
    const bucket = bucketOf(seconds);
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
  }

  return { observe, read: () => all };
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function bucketOf(seconds: number): number {
  let bucket = 0;
  while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] ?? Infinity)) bucket++;
  return bucket;
}

function countOf({ counts }: HistogramSample): number {
  return counts.reduce((total, count) => total + count, 0);
}
