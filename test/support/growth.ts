const SMALL = 60_000;
const LARGE = 480_000;
const RUNS = 3;
/** Milliseconds below which the noise is greater than what is measured. */
const FLOOR = 4;

/**
 * How many times as long per character reading takes when the text is eight times as long: about 1 for a reader whose
 * time grows with the length, 8 for one whose time grows with its square. Throws what `read` throws.
 */
export function growthOf(read: (text: string) => unknown, textOf: (length: number) => string): number {
  const large = fastest(read, textOf(LARGE)); // first, so that both are read by compiled code
  const small = fastest(read, textOf(SMALL));
  return large / Math.max(small, FLOOR) / (LARGE / SMALL);
}

/** A piece over and over, up to about that length. */
export function repeated(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length));
}

/** Pieces that differ, up to about that length. */
export function numbered(piece: (index: number) => string, length: number): string {
  const count = Math.ceil(length / piece(0).length);
  return Array.from({ length: count }, (_, index) => piece(index)).join('');
}

/** Milliseconds of processor time of the fastest of a few runs: other processes do not count. */
function fastest(read: (text: string) => unknown, text: string): number {
  const runs = Array.from({ length: RUNS }, () => {
    const start = process.cpuUsage();
    read(text);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1_000;
  });
  return Math.min(...runs);
}
