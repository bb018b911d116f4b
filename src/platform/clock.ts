/** Returns the time in unix ms. It is passed on as a parameter, so that tests can move time. */
export type Clock = () => number;

/** Returns a random number in [0, 1). Tests pass another function in place of Math.random. */
export type Random = () => number;

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Whether `duration` ms have passed since a time; true if a clock that was ahead put `since` into the future. */
export function hasPassed(since: number, duration: number, now: number): boolean {
  return now - since >= duration || since > now;
}

/** Converts ms to whole seconds, never negative, because the clock may have been set back. */
export function wholeSeconds(ms: number): number {
  return Math.max(0, Math.floor(ms / SECOND));
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const MIN_YEAR = 1900;

/** Unix ms as RFC 3339 in UTC, as the API shows times. */
export function isoTime(at: number): string;
export function isoTime(at: number | null): string | null;
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Unix ms of an RFC 3339 date-time, from the year 1900 on; null for other texts, such as 31 February. */
export function parseIsoTime(text: string): number | null {
  const parts = RFC_3339.exec(text);
  if (parts === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const [fraction = '', sign, ...offset] = parts.slice(7);
  const [offsetHours = 0, offsetMinutes = 0] = offset.map((digits) => Number(digits ?? 0));
  const utc = new Date(Date.UTC(year, month - 1, day, hour, minute, Math.min(second, 59))); // 60: leap second
  const isDay = year >= MIN_YEAR && utc.getUTCMonth() === month - 1; // Date.UTC turns 31 February into a day of March
  const isTime = hour < 24 && minute < 60 && second <= 60 && offsetHours < 24 && offsetMinutes < 60;
  if (!isDay || !isTime) return null;
  const east = (offsetHours * 60 + offsetMinutes) * 60 * SECOND * (sign === '-' ? -1 : 1);
  return utc.getTime() - east + Math.floor(Number(`0.${fraction || 0}`) * SECOND);
}
