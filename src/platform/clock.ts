/** Unix milliseconds. Passed in wherever time matters, so that tests can move it. */
export type Clock = () => number;

/** A number in [0, 1). Passed in wherever chance matters. */
export type Random = () => number;

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Unix ms as RFC 3339 in UTC, as the API shows times; null for what has not happened. */
export function isoTime(at: number): string;
export function isoTime(at: number | null): string | null;
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
