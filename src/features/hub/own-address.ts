import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { cidrContains, parseCidrs, type Cidr } from '../../platform/net/address-guard.ts';
import { portOf } from '../../platform/net/outbound-target.ts';
import type { Config } from './read-config.ts';

const ANY_ADDRESS = parseCidrs('0.0.0.0, ::'); // connections to 0.0.0.0 and :: reach this machine
const LOOPBACK = parseCidrs('127.0.0.0/8, ::1');

/** Returns the option `refuse` of `hub.outbound`, which refuses addresses that lead to this hub itself. */
export function refusingOwn(config: Config, addition = ''): (url: URL, addresses: readonly string[]) => string | null {
  return (url, addresses) => leadsHere(config, url, addresses) ? `${url.host} is this hub itself${addition}` : null;
}

/** Whether a URL leads to this hub: by its public host and port, or by an address and port at which web listens. */
function leadsHere(config: Config, url: URL, addresses: readonly string[]): boolean {
  const base = new URL(config.baseUrl);
  if (hostOf(url) === hostOf(base) && portOf(url) === portOf(base)) return true;
  return portOf(url) === config.port && addresses.some((address) => listensAt(config.host, address));
}

/** Whether a URL leads to this hub, as `leadsHere` decides, but without a DNS lookup. */
export function saysItLeadsHere(config: Config, url: URL): boolean {
  const name = url.hostname.replace(/^\[|\]$/g, '');
  return leadsHere(config, url, name === 'localhost' ? ['127.0.0.1', '::1'] : isIP(name) === 0 ? [] : [name]);
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, '');
}

/** If HOST is a name, 0.0.0.0 or ::, the hub may listen on any address of this machine. */
function listensAt(host: string, address: string): boolean {
  if (cidrContains(ANY_ADDRESS, address)) return true;
  if (isIP(host) !== 0 && !cidrContains(ANY_ADDRESS, host)) return cidrContains(parseCidrs(host), address);
  return cidrContains(LOOPBACK, address) || cidrContains(ownAddresses(), address);
}

function ownAddresses(): Cidr[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return parseCidrs(all.filter(({ scopeid }) => !scopeid).map(({ address }) => address).join());
}
