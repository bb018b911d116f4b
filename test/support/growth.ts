import { stepsOf } from './steps.ts';

const SMALL = 12_000;
const LARGE = 96_000;

/**
 * How many times as many steps per character reading takes when the text is eight times as long: about 1 for a reader
 * whose steps grow with the length, 8 for one whose steps grow with its square. Throws what `read` throws.
 */
export function growthOf(read: (text: string) => unknown, textOf: (length: number) => string): number {
  read(textOf(SMALL)); // what is only made once does not count
  const [small, large] = [SMALL, LARGE].map((length) => stepsOf(() => read(textOf(length))) / length);
  return (large ?? NaN) / (small ?? NaN);
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
