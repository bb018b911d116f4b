import type { ClientKind } from '../turns.ts';
import type { HistogramSample, Labels, Metric } from './exposition.ts';

export type HttpMetrics = ReturnType<typeof createHttpMetrics>;

type Series = { labels: Labels; counts: number[]; sum: number };

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const OTHER_METHOD = '_OTHER'; // OpenTelemetry's name for an unknown method
const NO_ROUTE = 'unmatched';

/** Bounds of response times and waits for turns, in seconds: 1 ms suits most responses, 10 s suits slow uploads. */
export const ANSWER_BOUNDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

const LABELS = {
  method: `HTTP method, \`${OTHER_METHOD}\` for an unknown method`,
  route: `route template, \`${NO_ROUTE}\` if no route matched`,
  code: 'HTTP status',
};

type HttpSamples = { http: readonly HistogramSample[]; waits: readonly HistogramSample[] };

export const HTTP_METRICS: readonly Metric<HttpSamples>[] = [
  {
    type: 'counter',
    name: 'service_http_requests_total',
    help: 'HTTP requests answered by the web process.',
    labels: LABELS,
    samples: ({ http }) => http.map(({ labels, counts }) =>
      ({ labels, value: counts.reduce((total, count) => total + count, 0) })),
  },
  {
    type: 'histogram',
    name: 'service_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response.',
    labels: LABELS,
    bounds: ANSWER_BOUNDS,
    samples: ({ http }) => http,
  },
  {
    type: 'histogram',
    name: 'service_web_turn_wait_seconds',
    help: 'Time that requests waited for the main thread, by kind of client (signed in or not).',
    labels: { client: '`member`, `network`' },
    bounds: ANSWER_BOUNDS,
    samples: ({ waits }) => waits,
  },
];

/** Counts this process's HTTP responses and their durations, in memory. */
export function createHttpMetrics() {
  const all = new Map<string, Series>();

  return {
    /** `route` is the route's template, never the path: clients must not be able to create series. */
    observe(method: string, route = NO_ROUTE, code: number, seconds: number): void {
      const name = METHODS.has(method) ? method : OTHER_METHOD;
      const key = `${name} ${code} ${route}`;
      const series = all.get(key) ?? emptySeries({ method: name, route, code: String(code) });
      all.set(key, series);
      count(series, seconds);
    },
    read: (): readonly HistogramSample[] => [...all.values()],
  };
}

/** Records in memory how long requests have waited for their first turn on the main thread. */
export function createTurnWaits() {
  const series = { member: emptySeries({ client: 'member' }), network: emptySeries({ client: 'network' }) };
  return {
    observe: (client: ClientKind, seconds: number): void => count(series[client], seconds),
    read: (): readonly HistogramSample[] => Object.values(series),
  };
}

function emptySeries(labels: Labels): Series {
  return { labels, counts: new Array<number>(ANSWER_BOUNDS.length + 1).fill(0), sum: 0 };
}

function count(series: Series, seconds: number): void {
  const bucket = ANSWER_BOUNDS.findIndex((bound) => seconds <= bound);
  const index = bucket < 0 ? ANSWER_BOUNDS.length : bucket;
  series.counts[index] = (series.counts[index] ?? 0) + 1;
  series.sum += seconds;
}
