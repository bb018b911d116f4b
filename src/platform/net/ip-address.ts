/** An IP address as a number. An IPv4-mapped one (::ffff:a.b.c.d) is the IPv4 address it carries. */
export type IpAddress = { bits: 32 | 128; value: bigint };

const MAPPED_PREFIX = 0xffffn;
const LOW_32_BITS = 0xffff_ffffn;

/** Strict: dotted decimal without leading zeros, or RFC 4291 section 2.2 without a zone; otherwise undefined. */
export function parseIpAddress(text: string): IpAddress | undefined {
  const four = parseIpv4(text);
  if (four !== undefined) return { bits: 32, value: four };
  const six = parseIpv6(text);
  if (six === undefined) return undefined;
  return six >> 32n === MAPPED_PREFIX ? embeddedIpv4(six) : { bits: 128, value: six };
}

/** The IPv4 address in the last 32 bits of an IPv6 address. */
export function embeddedIpv4(value: bigint): IpAddress {
  return { bits: 32, value: value & LOW_32_BITS };
}

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every(isOctet)) return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function isOctet(text: string): boolean {
  return /^(0|[1-9]\d{0,2})$/.test(text) && Number(text) <= 255;
}

function parseIpv6(text: string): bigint | undefined {
  const [head = '', tail, ...rest] = withHexTail(text).split('::');
  if (rest.length > 0) return undefined;
  const left = groupsOf(head);
  if (tail === undefined) return left.length === 8 ? joinGroups(left) : undefined;
  const right = groupsOf(tail);
  const missing = 8 - left.length - right.length;
  if (missing < 1) return undefined;
  return joinGroups([...left, ...Array<string>(missing).fill('0'), ...right]);
}

/** Writes a dotted IPv4 ending, which only the last group may have, as the two groups it stands for. */
function withHexTail(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  const dotted = start > 0 ? parseIpv4(text.slice(start)) : undefined;
  if (dotted === undefined) return text;
  return `${text.slice(0, start)}${(dotted >> 16n).toString(16)}:${(dotted & 0xffffn).toString(16)}`;
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':');
}

function joinGroups(groups: string[]): bigint | undefined {
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}
