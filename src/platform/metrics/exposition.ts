import { readWeights } from '../http/headers.ts';

export type Labels = Readonly<Record<string, string>>;

type Sample = { labels: Labels; value: number };

/** `counts` are not cumulative: the last count covers the values above every bound. */
export type HistogramSample = { labels: Labels; counts: readonly number[]; sum: number };

type HistogramFamily = {
  type: 'histogram';
  name: string;
  help: string;
  bounds: readonly number[]; // upper bounds of the buckets, ascending, without +Inf
  samples: readonly HistogramSample[];
};

/** `name` is that of the 0.0.4 format; `renderOpenMetrics` renames counters and infos. */
export type Family = (Named & { help: string; samples: readonly Sample[] }) | HistogramFamily;

type Named =
  | { type: 'gauge'; name: string }
  | { type: 'counter'; name: `${string}_total` }
  | { type: 'info'; name: `${string}_info` };

type Format = 'prometheus' | 'openmetrics';

export const CONTENT_TYPE: Record<Format, string> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Renders Prometheus text format 0.0.4. */
export function renderPrometheus(families: readonly Family[]): string {
  let text = '';
  for (const family of families) {
    const type = family.type === 'info' ? 'gauge' : family.type;
    text += `# HELP ${family.name} ${escapeHelp(family.help)}\n# TYPE ${family.name} ${type}\n${renderSamples(family)}`;
  }
  return text;
}

/** Renders OpenMetrics 1.0: no blank lines, quotes in HELP escaped, counter and info families without their suffix. */
export function renderOpenMetrics(families: readonly Family[]): string {
  let text = '';
  for (const family of families) {
    const name = openMetricsName(family);
    text += `# TYPE ${name} ${family.type}\n# HELP ${name} ${escapeQuoted(family.help)}\n${renderSamples(family)}`;
  }
  return `${text}# EOF\n`;
}

function openMetricsName({ type, name }: Family): string {
  if (type === 'counter') return name.slice(0, -'_total'.length);
  if (type === 'info') return name.slice(0, -'_info'.length);
  return name;
}

function renderSamples(family: Family): string {
  if (family.type === 'histogram') return renderHistogram(family);
  return family.samples.map(({ labels, value }) => {
    return `${family.name}${inBraces(renderLabels(labels))} ${formatValue(value)}\n`;
  }).join('');
}

function renderHistogram({ name, bounds, samples }: HistogramFamily): string {
  const upperBounds = [...bounds.map(formatBound), '+Inf'];
  return samples.map(({ labels, counts, sum }) => {
    const own = renderLabels(labels);
    const before = `${name}_bucket{${own}${own ? ',' : ''}le="`;
    let total = 0;
    const buckets = upperBounds.map((bound, index) => `${before}${bound}"} ${total += counts[index] ?? 0}\n`).join('');
    return `${buckets}${name}_sum${inBraces(own)} ${formatValue(sum)}\n${name}_count${inBraces(own)} ${total}\n`;
  }).join('');
}

function inBraces(labels: string): string {
  return labels && `{${labels}}`;
}

function renderLabels(labels: Labels): string {
  return Object.entries(labels).map(([name, value]) => `${name}="${escapeQuoted(value)}"`).join(',');
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeQuoted(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

function formatValue(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

/** Formats a bucket bound like Go's %g, with ".0" after whole numbers, as OpenMetrics and Prometheus 3 require. */
function formatBound(bound: number): string {
  const magnitude = Math.abs(bound);
  if (magnitude >= 1e6 || (magnitude < 1e-4 && magnitude > 0)) {
    return bound.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  }
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

/** Media ranges of an Accept header that match Prometheus's text format 0.0.4, the most specific range first. */
const PROMETHEUS_RANGES = ['text/plain;0.0.4', 'text/plain', 'text/*', '*/*'];

/**
 * Chooses the format for an `Accept` header (RFC 9110, 12.5.1): the most specific matching range gives a format's
 * quality. OpenMetrics must be named, and is then chosen unless the 0.0.4 format ranks higher.
 */
export function negotiateFormat(accept = '*/*'): Format {
  const weights = readWeights(accept);
  const openMetrics = weights.get('application/openmetrics-text;1.0.0') ?? weights.get('application/openmetrics-text');
  const prometheus = PROMETHEUS_RANGES.map((range) => weights.get(range)).find((weight) => weight !== undefined) ?? 0;
  return openMetrics && openMetrics >= prometheus ? 'openmetrics' : 'prometheus';
}

/** A metric with one series for each combination of label values, all known in advance. */
type Known<Snapshot> = Named & {
  labels?: Readonly<Record<string, readonly string[]>>;
  /** Returns undefined if the value is unknown: the series is then left out instead of showing a wrong value. */
  value(snapshot: Snapshot, ...labelValues: string[]): number | undefined;
};

type Histogram<Snapshot> = Omit<HistogramFamily, 'help' | 'samples'> & {
  samples(snapshot: Snapshot): readonly HistogramSample[];
};

/** A metric that lists its own series, because label values appear while the hub runs, or it is a histogram. */
type Open<Snapshot> = (Histogram<Snapshot> | Named & { samples(snapshot: Snapshot): readonly Sample[] }) & {
  /** What each label means, for the handbook. */
  labels?: Readonly<Record<string, string>>;
};

export type Metric<Snapshot> = { help: string } & (Known<Snapshot> | Open<Snapshot>);

/** Alerts can rely on series of known labels from the start, 0 if nothing was counted; unknown values have none. */
export function familiesFrom<Snapshot>(metrics: readonly Metric<Snapshot>[]): (snapshot: Snapshot) => Family[] {
  const made = metrics.map(familyMaker);
  return (snapshot) => made.flatMap((familyOf) => familyOf(snapshot));
}

function familyMaker<Snapshot>(metric: Metric<Snapshot>): (snapshot: Snapshot) => Family[] {
  if ('samples' in metric) return (snapshot) => [{ ...metric, samples: metric.samples(snapshot) } as Family];
  const { labels: known = {}, value, ...named } = metric;
  const sets = combinations(known).map((labels) => [labels, Object.values(labels)] as const);
  return (snapshot) => {
    const samples = sets.flatMap(([labels, values]): Sample[] => {
      const number = value(snapshot, ...values);
      return number === undefined ? [] : [{ labels, value: number }];
    });
    return samples.length > 0 ? [{ ...named, samples } as Family] : [];
  };
}

function combinations(labels: Readonly<Record<string, readonly string[]>>): Labels[] {
  return Object.entries(labels).reduce<Labels[]>((all, [name, values]) =>
    all.flatMap((known) => values.map((value) => ({ ...known, [name]: value }))), [{}]);
}
