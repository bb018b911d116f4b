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
