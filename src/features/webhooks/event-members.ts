import { SECOND } from '../../platform/clock.ts';
import type { FieldError } from '../../platform/http/problem.ts';
import { webAddress } from '../../platform/markup/safe-url.ts';

export type JsonObject = Record<string, unknown>;

export type Members = ReturnType<typeof readMembers>;

const MAX_URL = 4_096; // characters

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const MIN_YEAR = 1900;

/**
 * Reads members of a JSON object. What is wrong is added to `errors` with its JSON Pointer, which begins with
 * `pointer`, and reads as null, like what is missing; a member that is null counts as missing.
 */
export function readMembers(object: JsonObject, pointer: string, errors: FieldError[]) {
  function refuse(name: string, detail: string): null {
    errors.push({ pointer: `${pointer}/${name}`, detail: `“${name}” ${detail}` });
    return null;
  }

  const valueOf = (name: string): unknown => object[name] ?? null;

  /** At most `max` characters (UTF-16 units). */
  function text(name: string, max: number): string | null {
    const value = valueOf(name);
    if (value === null) return null;
    if (typeof value !== 'string') return refuse(name, 'must be text.');
    return value.length <= max ? value.toWellFormed() : refuse(name, `may have at most ${max} characters.`);
  }

  /** A whole number of zero or more; fractions are rounded. */
  function amount(name: string): number | null {
    const value = valueOf(name);
    if (value === null) return null;
    const isAmount = typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
    return isAmount ? Math.round(value) : refuse(name, 'must be a number, and not negative.');
  }

  /** Unix ms. */
  function instant(name: string): number | null {
    const written = text(name, 64);
    if (written === null) return null;
    return readInstant(written) ?? refuse(name, 'must be a time as in RFC 3339, such as 2026-01-31T12:00:00Z.');
  }

  /** Absolute http or https, without credentials and tracking parameters. Empty text counts as missing. */
  function address(name: string): string | null {
    const written = text(name, MAX_URL)?.trim() ?? '';
    if (written === '') return null;
    return webAddress(written, '') ?? refuse(name, 'must be an absolute http or https address.');
  }

  function memberObject(name: string): JsonObject | null {
    const value = valueOf(name);
    return value === null || isObject(value) ? value : refuse(name, 'must be an object.');
  }

  /** Readers for each object of a list; of none where the list is longer than `max`. */
  function list(name: string, max: number): Members[] {
    const value = valueOf(name) ?? [];
    if (!Array.isArray(value) || !value.every(isObject)) refuse(name, 'must be a list of objects.');
    else if (value.length > max) refuse(name, `may have at most ${max} entries.`);
    else return value.map((entry, index) => inside(`${name}/${index}`, entry));
    return [];
  }

  /** A reader for an object within this one, found at `path` below it. */
  function inside(path: string, inner: JsonObject): Members {
    return readMembers(inner, `${pointer}/${path}`, errors);
  }

  /** The value that was read of a member that may not be missing. */
  function required<Value>(name: string, value: Value | null): Value | null {
    return valueOf(name) === null ? refuse(name, 'is required.') : value;
  }

  return { refuse, valueOf, text, amount, instant, address, object: memberObject, inside, list, required };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Unix ms of an RFC 3339 date-time, from 1900 on; null for anything else, also for a day that no calendar has. */
function readInstant(text: string): number | null {
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
