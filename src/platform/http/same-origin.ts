import type { IncomingHttpHeaders } from 'node:http';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Whether an unsafe request may use its cookie: browsers say where it comes from (Sec-Fetch-Site, on http to
 * a LAN address only Origin). `own` lists the hub's origins. A cookie with neither header is refused.
 */
export function isSameOrigin(method: string, headers: IncomingHttpHeaders, own: string[], hasCookie: boolean): boolean {
  if (SAFE.has(method)) return true;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const origin = headers.origin;
  if (origin !== undefined) return own.includes(origin);
  return !hasCookie;
}
