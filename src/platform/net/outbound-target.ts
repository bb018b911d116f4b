import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type Cidr, cidrContains, isPublicAddress } from './address-guard.ts';

type OutboundFailure =
  | 'bad-url' | 'blocked' | 'dns' | 'connect' | 'tls' | 'timeout' | 'idle'
  | 'too-large' | 'redirects' | 'bad-response' | 'aborted';

/**
 * Why an outbound fetch failed. The message is for users: it names hosts, but never a whole URL (the query may hold a
 * secret), and quotes no more of the remote server's text than a host or scheme to which it redirects.
 */
export class OutboundError extends Error {
  readonly reason: OutboundFailure;

  constructor(reason: OutboundFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OutboundError';
    this.reason = reason;
  }
}

/** A function like `dns.lookup` with the option `all`. */
export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type Guard = { allow: readonly Cidr[]; lookup: Lookup; dnsMs: number };

// The "bad ports" of the Fetch standard from 1024 up: servers of SIP, NFS, X11, IRC and others may obey HTTP requests.
// Browsers refuse them too, so no feed that opens in a browser uses one.
const REFUSED_PORTS = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** Parses a URL, or a Location relative to the redirecting URL. Drops the fragment. Throws `bad-url`. */
export function parseTarget(text: string, redirectedFrom?: URL): URL {
  const subject = redirectedFrom ? `${redirectedFrom.host} redirects to something that` : 'the address';
  const url = URL.parse(text, redirectedFrom?.href);
  if (!url) throw new OutboundError('bad-url', `${subject} is not a valid URL`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new OutboundError('bad-url', `${subject} starts with ${url.protocol} and not with http: or https:`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutboundError('bad-url', `${subject} contains a user name or password, which is not allowed`);
  }
  url.hash = '';
  return url;
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** Resolves the host once. Throws `dns`, `blocked` (the port, or even one address), or the signal's reason. */
export async function resolveTarget(
  url: URL, who: string, guard: Guard, signal: AbortSignal,
): Promise<LookupAddress[]> {
  const host = url.hostname.replace(/^\[|\]$/g, ''); // an IPv6 literal without its brackets
  const family = isIP(host);
  const addresses = family ? [{ address: host, family }] : await lookUp(host, who, guard, signal);
  if (!addresses.every(({ address }) => isPublicAddress(address, guard.allow))) {
    throw new OutboundError('blocked', `${who} does not have a public address; an operator can allow other ` +
      'addresses with OUTBOUND_ALLOW');
  }
  const allowed = addresses.every(({ address }) => cidrContains(guard.allow, address));
  if (!allowed && !isUsualPort(portOf(url))) {
    throw new OutboundError('blocked', `${who} uses port ${portOf(url)}, which the hub does not fetch from`);
  }
  return addresses;
}

/** Pins a connection to the checked addresses, against DNS rebinding. */
export function pinnedLookup(addresses: LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all || !first) process.nextTick(callback, null, addresses);
    else process.nextTick(callback, null, first.address, first.family);
  };
}

function isUsualPort(port: number): boolean {
  return port === 80 || port === 443 || (port >= 1024 && !REFUSED_PORTS.has(port));
}

/** The system's resolver cannot be cancelled: an answer that comes after the limit is ignored. */
async function lookUp(host: string, who: string, guard: Guard, signal: AbortSignal): Promise<LookupAddress[]> {
  const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
  const onAbort = () => reject(signal.reason);
  const timer = setTimeout(() => reject(dnsError(who, `no answer within ${guard.dnsMs / 1000} s`)), guard.dnsMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    guard.lookup(host, { all: true }, (error, addresses) => {
      if (error) reject(dnsError(who, error.code ?? 'lookup failed', error));
      else if (addresses.length === 0) reject(dnsError(who, 'the host name has no IP addresses'));
      else resolve(addresses);
    });
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

function dnsError(who: string, problem: string, cause?: Error): OutboundError {
  return new OutboundError('dns', `could not look up ${who} (${problem})`, { cause });
}
