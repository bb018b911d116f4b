import { SECOND } from '../../platform/clock.ts';

/** The first and the last ms of a time: apps that send seconds mean the whole second. */
export type AppTime = { from: number; until: number };

/**
 * Parses a time from an app: nanoseconds (18 or 19 digits), microseconds (15 to 17), milliseconds (12 to 14) or
 * seconds, with or without a fraction. Undefined for 0 and for any other text.
 */
export function parseAppTime(text: string | null): AppTime | undefined {
  const digits = /^([1-9]\d{0,18})(?:\.\d+)?$/.exec(text?.trim() ?? '')?.[1];
  if (digits === undefined) return undefined;
  if (digits.length < 12) return { from: Number(digits) * SECOND, until: Number(digits) * SECOND + SECOND - 1 };
  const at = Math.floor(Number(digits) / (digits.length < 15 ? 1 : digits.length < 18 ? 1_000 : 1_000_000));
  return { from: at, until: at };
}
