/** One comparison of the benchmarks: ours beside a peer's, higher ratio is better; `want` is the bound on the ratio. */
export type BenchRow = {
  name: string;
  ours: number;
  peer: string;
  peerFigure: number;
  unit: string;
  ratio: number;
  want: string;
};

/** A figure that must not be more than a limit. */
export function limitRow(name: string, ours: number, limit: number, unit: string, want = '>= 1'): BenchRow {
  return lessRow({ name, ours, peer: 'the limit', peerFigure: limit, unit, want });
}

/** A row of figures of which less is better, such as times. */
export function lessRow(row: Omit<BenchRow, 'ratio'>): BenchRow {
  return { ...row, ratio: row.peerFigure / row.ours };
}

/** A row of figures of which more is better, such as answers per second. */
export function moreRow(row: Omit<BenchRow, 'ratio'>): BenchRow {
  return { ...row, ratio: row.ours / row.peerFigure };
}

/** Of an even number of values the upper of the two in the middle. */
export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

export function p99(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? Infinity;
}

/** The median figures of contenders that take turns; the first rounds warm up. */
export async function alternate(
  contenders: readonly (() => number | Promise<number>)[], rounds: number, warmUps = 1,
): Promise<number[]> {
  const figures = contenders.map((): number[] => []);
  for (let round = -warmUps; round < rounds; round++) {
    for (const [index, contender] of contenders.entries()) {
      const figure = await contender();
      if (round >= 0) figures[index]?.push(figure);
    }
  }
  return figures.map(median);
}

/** Milliseconds of a processor that this process has used since then. */
export function processorMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
