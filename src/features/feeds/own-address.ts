import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { cidrContains, parseCidrs, type Cidr } from '../../platform/net/address-guard.ts';
import { portOf } from '../../platform/net/outbound-target.ts';
import type { Config } from '../hub/read-config.ts';

const ANY_ADDRESS = parseCidrs('0.0.0.0, ::'); // where it is asked for, it is the same as loopback
const LOOPBACK = parseCidrs('127.0.0.0/8, ::1');

/** Whether the URL leads to this hub: by its public host and port, or by an address and port on which it listens. */
export function leadsHere(config: Config, url: URL, addresses: readonly string[]): boolean {
  const base = new URL(config.baseUrl);
  if (hostOf(url) === hostOf(base) && portOf(url) === portOf(base)) return true;
  return portOf(url) === config.port && addresses.some((address) => listensAt(config.host, address));
}

/** The same as far as the URL itself tells, before any name is looked up. */
export function saysItLeadsHere(config: Config, url: URL): boolean {
  const name = url.hostname.replace(/^\[|\]$/g, '');
  return leadsHere(config, url, name === 'localhost' ? ['127.0.0.1', '::1'] : isIP(name) === 0 ? [] : [name]);
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

/** A HOST that is a name, or 0.0.0.0 for all, may be any address of this machine. */
function listensAt(host: string, address: string): boolean {
  if (cidrContains(ANY_ADDRESS, address)) return true;
  if (isIP(host) !== 0 && !cidrContains(ANY_ADDRESS, host)) return cidrContains(parseCidrs(host), address);
  return cidrContains(LOOPBACK, address) || cidrContains(ownAddresses(), address);
}

function ownAddresses(): Cidr[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return parseCidrs(all.filter(({ scopeid }) => !scopeid).map(({ address }) => address).join());
}
