import { isIPv6 } from 'node:net';

const WILDCARDS: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** `http://HOST:PORT`, an IPv6 address in brackets. */
export function httpAddress(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Where this machine itself reaches a server that listens on `host`: for "every address" that is loopback. */
export function localAddress(host: string, port: number): string {
  return httpAddress(WILDCARDS[host] ?? host, port);
}
