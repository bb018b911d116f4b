import type { IncomingHttpHeaders } from 'node:http';
import { SECOND } from '../clock.ts';

const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)';

// The date formats of RFC 9110 section 5.6.7 (all in UTC) are IMF-fixdate, RFC 850 and asctime.
const FORMS = [
  new RegExp(`^\\w{3}, (?<day>\\d{2}) \\w{3} \\d{4} ${TIME} GMT$`),
  new RegExp(`^\\w{6,9}, (?<day>\\d{2})-\\w{3}-(?<year>\\d{2}) ${TIME} GMT$`),
  new RegExp(`^\\w{3} \\w{3} (?<day>[ \\d]\\d) ${TIME} \\d{4}$`),
];

// A larger number of delta-seconds counts as 2^31 seconds (RFC 9111 section 1.2.2).
const MAX_DELTA_SECONDS = 2 ** 31;

/** The time in a Retry-After header (RFC 9110 section 10.2.3: seconds or a date), unix ms; else null. */
export function parseRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  const seconds = parseDeltaSeconds(value.trim());
  return seconds === null ? parseHttpDate(value, now) : now + seconds * SECOND;
}

/**
 * How long a response stays fresh, ms from now (RFC 9111 section 4.2), never negative. Returns null without max-age and
 * Expires, 0 for no-store, no-cache, and for an unreadable max-age or Expires.
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
  // Expires counts from the server's own Date, because the server's clock may be wrong.
  const sent = parseHttpDate(headers.date ?? '', now) ?? now;
  return expires === null ? 0 : expires - sent;
}

function cacheDirectives(text: string): Map<string, string> {
  const directives = new Map<string, string>();
  for (const [, name = '', quoted, token] of text.matchAll(/([^\s=,"]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,"]*)))?/g)) {
    const key = name.toLowerCase();
    if (!directives.has(key)) directives.set(key, quoted ?? token ?? '');
  }
  return directives;
}

/** Unix ms of an HTTP-date; null for any other text. `now` decides the century of a two-digit year. */
export function parseHttpDate(text: string, now: number): number | null {
  const written = text.trim();
  const { day, year } = FORMS.map((form) => form.exec(written)?.groups).find(Boolean) ?? {};
  if (day === undefined) return null;
  const withYear = written.replace(/-\d\d /, `-${fullYear(year ?? '', now)} `);
  const whole = withYear.replace(':60 ', ':59 '); // a leap second
  const date = new Date(`${whole.replace(/ GMT$/, '')} GMT`);
  return date.getUTCDate() === Number(day) ? date.getTime() : null;
}

function parseDeltaSeconds(text: string): number | null {
  return /^\d+$/.test(text) ? Math.min(Number(text), MAX_DELTA_SECONDS) : null;
}

/** RFC 9110: a two-digit year more than 50 years ahead means the past century. */
function fullYear(text: string, now: number): number {
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(text);
  return year > thisYear + 50 ? year - 100 : year;
}
