import { HOUR, MINUTE, SECOND } from '../../platform/clock.ts';
import { byteSize, measuredTime } from '../../platform/in-words.ts';

/** How a plot writes its values, and where its axis ends. */
export type Unit = {
  /** "13.5 ms", "1,234". */
  say(value: number): string;
  /** The end of the axis: a round number that is at least `most`. */
  top(most: number): number;
  /** A value on the axis: with its unit, without needless digits. */
  mark(value: number): string;
};

const ROUND = [1, 2, 4, 6, 8, 10];

/** Rounds up to 1, 2, 4, 6, 8, 10, 20, … */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return (ROUND.find((digit) => digit * power >= value * 0.999_999) ?? 10) * power;
}

const NUMBERS = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });

/** Counts. */
export const COUNT: Unit = {
  say: (value) => NUMBERS.format(value),
  top: (most) => Math.max(2, roundUp(Math.max(1, most))),
  mark: (value) => SHORT.format(value),
};

/** Percent of one processor. */
export const PERCENT: Unit = {
  say: (value) => `${NUMBERS.format(value)} %`,
  top: (most) => roundUp(Math.max(10, most)),
  mark: (value) => `${NUMBERS.format(value)} %`,
};

export const BYTES: Unit = {
  say: (value) => byteSize(value),
  top(most) {
    const bytes = Math.max(1024, most);
    const unit = 1024 ** Math.floor(Math.log2(bytes) / 10);
    return roundUp(bytes / unit) * unit;
  },
  mark: (value) => (value === 0 ? '0' : byteSize(value).replace('.0 ', ' ')),
};

/** Milliseconds, written in the largest unit that fits. */
export const TIME: Unit = {
  say: measuredTime,
  top(most) {
    const size = [HOUR, MINUTE, SECOND].find((unit) => most >= unit) ?? 1;
    return roundUp(Math.max(most, size === 1 ? 10 : size) / size) * size;
  },
  mark: (value) => (value === 0 ? '0' : measuredTime(value)),
};
