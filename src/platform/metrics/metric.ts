import type { Family, HistogramSample, Labels, Sample } from './exposition.ts';

type Named =
  | { type: 'gauge'; name: string }
  | { type: 'counter'; name: `${string}_total` }
  | { type: 'info'; name: `${string}_info` };

/** A number for each combination of label values that are all known beforehand. */
type Known<Reading> = Named & {
  /** Every value of each label. */
  labels?: Readonly<Record<string, readonly string[]>>;
  /** Undefined where it cannot be told: then the series is left out, as no value is better than a wrong one. */
  value(reading: Reading, ...labelValues: string[]): number | undefined;
};

type Histogram<Reading> = {
  type: 'histogram';
  name: string;
  bounds: readonly number[];
  samples(reading: Reading): readonly HistogramSample[];
};

/** Series whose label values come up while the hub runs. */
type Open<Reading> = (Histogram<Reading> | Named & { samples(reading: Reading): readonly Sample[] }) & {
  /** What the value of each label is, in words. */
  labels?: Readonly<Record<string, string>>;
};

/** All that is said of one metric, and where its value stands in what a scrape has read. */
export type Metric<Reading> = { help: string } & (Known<Reading> | Open<Reading>);

/**
 * The families of a scrape, made from a list of metrics. A series stands for each known label value, with 0 where
 * nothing was counted, so that an alert on it does not wait for its first appearance.
 */
export function familiesFrom<Reading>(metrics: readonly Metric<Reading>[]): (reading: Reading) => Family[] {
  const makers = metrics.map(familyMaker);
  return (reading) => makers.flatMap((make) => make(reading));
}

function familyMaker<Reading>(metric: Metric<Reading>): (reading: Reading) => Family[] {
  if ('samples' in metric) return (reading) => [{ ...metric, samples: metric.samples(reading) } as Family];
  const { labels = {}, value, ...named } = metric;
  const series = combinations(labels).map((one) => ({ labels: one, values: Object.values(one) }));
  return (reading) => {
    const samples = series.flatMap((one): Sample[] => {
      const number = value(reading, ...one.values);
      return number === undefined ? [] : [{ labels: one.labels, value: number }];
    });
    return samples.length > 0 ? [{ ...named, samples } as Family] : [];
  };
}

/** {a: [1, 2], b: [3]} → {a: 1, b: 3}, {a: 2, b: 3} */
function combinations(labels: Readonly<Record<string, readonly string[]>>): Labels[] {
  return Object.entries(labels).reduce<Labels[]>((all, [name, values]) =>
    all.flatMap((known) => values.map((value) => ({ ...known, [name]: value }))), [{}]);
}
