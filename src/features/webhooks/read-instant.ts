import { SECOND } from '../../platform/clock.ts';

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const MIN_YEAR = 1900;

/** Unix ms of an RFC 3339 date-time, from 1900 on; null for anything else, also for a day that no calendar has. */
export function readInstant(text: string): number | null {
  const parts = RFC_3339.exec(text);
  if (parts === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const [fraction = '', sign, ...offset] = parts.slice(7);
  const [offsetHours = 0, offsetMinutes = 0] = offset.map((digits) => Number(digits ?? 0));
  const utc = new Date(Date.UTC(year, month - 1, day, hour, minute, Math.min(second, 59))); // 60 is a leap second
  const isDay = year >= MIN_YEAR && utc.getUTCMonth() === month - 1; // a day too many falls into the next month
  const isTime = hour < 24 && minute < 60 && second <= 60 && offsetHours < 24 && offsetMinutes < 60;
  if (!isDay || !isTime) return null;
  const east = (offsetHours * 60 + offsetMinutes) * 60 * SECOND * (sign === '-' ? -1 : 1);
  return utc.getTime() - east + Math.floor(Number(`0.${fraction || 0}`) * SECOND);
}
