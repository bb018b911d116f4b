import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { cidrContains, parseIpAddress, type Cidr, type IpAddress } from '../net/address-guard.ts';

type Headers = IncomingHttpHeaders;

/**
 * The client's address: the socket's own, or behind trusted proxies the last entry of X-Forwarded-For
 * that no trusted proxy wrote. Entries further left are the client's word and are not believed.
 */
export function clientAddress(peer: string | undefined, headers: Headers, trusted: readonly Cidr[]): string {
  let address = plain(peer ?? '');
  if (trusted.length === 0) return address;
  const hops = String(headers['x-forwarded-for'] ?? '').split(',').map((hop) => hop.trim());
  while (cidrContains(trusted, address)) {
    const previous = hops.pop();
    if (previous === undefined || isIP(previous) === 0) break;
    address = plain(previous);
  }
  return address;
}

/** `https` when a trusted proxy says so, else what the hub itself speaks. */
export function clientScheme(peer: string | undefined, headers: Headers, trusted: readonly Cidr[]): 'http' | 'https' {
  const told = headers['x-forwarded-proto'];
  return told === 'https' && peer !== undefined && cidrContains(trusted, plain(peer)) ? 'https' : 'http';
}

/** What a rate limit counts: one IPv4 address, or an IPv6 /64, since a single host commands a whole one. */
export function addressGroup(address: string): string {
  const parsed = parseIpAddress(address.split('%', 1)[0] ?? '');
  return parsed?.bits === 128 ? `${network64(parsed)}::/64` : address;
}

function network64({ value }: IpAddress): string {
  return [112n, 96n, 80n, 64n].map((shift) => ((value >> shift) & 0xffffn).toString(16)).join(':');
}

/** An IPv4-mapped address (::ffff:192.0.2.1), however it is written, as the IPv4 address it is. */
function plain(address: string): string {
  const parsed = address.includes(':') ? parseIpAddress(address) : undefined;
  if (parsed?.bits !== 32) return address;
  return [24n, 16n, 8n, 0n].map((shift) => (parsed.value >> shift) & 0xffn).join('.');
}

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
