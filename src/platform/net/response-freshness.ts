import type { IncomingHttpHeaders } from 'node:http';
import { SECOND } from '../clock.ts';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const TIME = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})';

// The three forms of RFC 9110 section 5.6.7: IMF-fixdate, RFC 850, asctime. All are UTC.
const FORMS = [
  new RegExp(`^\\w{3}, (?<day>\\d{2}) (?<month>\\w{3}) (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^\\w{6,9}, (?<day>\\d{2})-(?<month>\\w{3})-(?<year>\\d{2}) ${TIME} GMT$`),
  new RegExp(`^\\w{3} (?<month>\\w{3}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

// A delay too large to hold is to be taken as this many seconds (RFC 9111 section 1.2.2).
const MAX_DELTA_SECONDS = 2 ** 31;

/** When a Retry-After (RFC 9110 section 10.2.3: seconds or a date) asks to come back, unix ms; null if unreadable. */
export function parseRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  const seconds = parseDeltaSeconds(value.trim());
  return seconds === null ? parseHttpDate(value, now) : now + seconds * SECOND;
}

/**
 * How long an answer stays fresh, ms from now (RFC 9111 section 4.2), never negative. Null when it does not say;
 * 0 for no-store, no-cache, and for a max-age or Expires that cannot be read.
 */
export function freshnessMs(headers: IncomingHttpHeaders, now: number): number | null {
  const directives = cacheDirectives(headers['cache-control'] ?? '');
  if (directives.has('no-store') || directives.has('no-cache')) return 0;
  const lifetime = lifetimeMs(directives.get('max-age'), headers, now);
  if (lifetime === null) return null;
  const ageSeconds = parseDeltaSeconds(headers.age ?? '') ?? 0;
  return Math.max(0, lifetime - ageSeconds * SECOND);
}

function lifetimeMs(maxAge: string | undefined, headers: IncomingHttpHeaders, now: number): number | null {
  if (maxAge !== undefined) return (parseDeltaSeconds(maxAge) ?? 0) * SECOND;
  if (headers.expires === undefined) return null;
  const expires = parseHttpDate(headers.expires, now);
  // Relative to the server's own Date, because its clock may be wrong.
  const sent = parseHttpDate(headers.date ?? '', now) ?? now;
  return expires === null ? 0 : expires - sent;
}

/** Directives by lower-case name; of repeated ones the first counts. Values may be tokens or quoted strings. */
function cacheDirectives(text: string): Map<string, string> {
  const directives = new Map<string, string>();
  for (const [, name = '', quoted, token] of text.matchAll(/([^\s=,"]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,"]*)))?/g)) {
    const key = name.toLowerCase();
    if (!directives.has(key)) directives.set(key, quoted ?? token ?? '');
  }
  return directives;
}

/** Unix milliseconds of an HTTP-date, null when it is none. `now` places a two-digit year. */
export function parseHttpDate(text: string, now: number): number | null {
  for (const form of FORMS) {
    const parts = form.exec(text.trim())?.groups;
    if (parts) return instantOf(parts, now);
  }
  return null;
}

/** Whole seconds, capped at 2^31; null when the text is not a plain non-negative number. */
function parseDeltaSeconds(text: string): number | null {
  return /^\d+$/.test(text) ? Math.min(Number(text), MAX_DELTA_SECONDS) : null;
}

function instantOf(parts: Record<string, string>, now: number): number | null {
  const [month, day] = [MONTHS.indexOf(parts['month'] ?? ''), Number(parts['day'])];
  const [hour, minute, second] = [Number(parts['hour']), Number(parts['minute']), Number(parts['second'])];
  const year = fullYear(parts['year'] ?? '', now);
  const date = new Date(Date.UTC(year, month, day, hour, minute, Math.min(second, 59))); // 60 is a leap second
  const exists = month >= 0 && date.getUTCDate() === day && date.getUTCHours() === hour && minute < 60 && second <= 60;
  return exists ? date.getTime() : null;
}

/** RFC 9110: a two-digit year more than 50 years ahead means the past century. */
function fullYear(text: string, now: number): number {
  if (text.length === 4) return Number(text);
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(text);
  return year > thisYear + 50 ? year - 100 : year;
}
