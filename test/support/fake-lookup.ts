import { isIP } from 'node:net';
import type { Lookup } from '../../src/platform/net/outbound-target.ts';

/** Names for tests instead of the system's resolver; `asked` lists what was looked up. Unknown names are ENOTFOUND. */
export function fakeLookup(names: Record<string, string[]>): { lookup: Lookup; asked: string[] } {
  const asked: string[] = [];
  const lookup: Lookup = (hostname, _options, callback) => {
    asked.push(hostname);
    const addresses = names[hostname]?.map((address) => ({ address, family: isIP(address) }));
    if (addresses) setImmediate(callback, null, addresses);
    else setImmediate(callback, Object.assign(new Error('not found'), { code: 'ENOTFOUND' }), []);
  };
  return { lookup, asked };
}
