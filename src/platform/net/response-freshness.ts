import type { IncomingHttpHeaders } from 'node:http';
import { SECOND } from '../clock.ts';
import { parseDeltaSeconds, parseHttpDate } from './http-dates.ts';

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
  // Against the server's own clock, so that one set wrongly does not matter.
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
