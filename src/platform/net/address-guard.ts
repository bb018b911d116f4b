import { isIPv4, isIPv6 } from 'node:net';

/** An IP address as a number. An IPv4-mapped address (::ffff:a.b.c.d) counts as its IPv4 address. */
export type IpAddress = { bits: 32 | 128; value: bigint };

/** A block of addresses. An IPv4-mapped block (::ffff:10.0.0.0/104) is stored as its IPv4 block (10.0.0.0/8). */
export type Cidr = { bits: 32 | 128; base: bigint; prefix: number };

const MAPPED_PREFIX = 0xffffn;
const LOW_32_BITS = 0xffff_ffffn;

/** Parses IPv4 without leading zeros, or IPv6 (RFC 4291 section 2.2) without a zone; undefined for any other text. */
export function parseIpAddress(text: string): IpAddress | undefined {
  const four = parseIpv4(text);
  if (four !== undefined) return { bits: 32, value: four };
  const six = parseIpv6(text);
  if (six === undefined) return undefined;
  return six >> 32n === MAPPED_PREFIX ? embeddedIpv4(six) : { bits: 128, value: six };
}

/** Parses comma-separated CIDRs; a bare address is a block of one address. Throws an Error on the first wrong CIDR. */
export function parseCidrs(text: string): Cidr[] {
  if (text.trim() === '') return [];
  return text.split(',').map((entry) => parseCidr(entry.trim()));
}

/** Whether an IP address lies in one of the CIDR blocks. Returns false for text that is not an IP address. */
export function cidrContains(cidrs: readonly Cidr[], address: string): boolean {
  const parsed = parseIpAddress(address);
  return parsed !== undefined && holds(cidrs, parsed);
}

/**
 * Whether the hub may connect to this address on behalf of a user: it is unicast outside special-purpose blocks (IANA
 * registries, RFC 6890, and a few more), or the operator allowed it. Returns false for text that is not an address.
 */
export function isPublicAddress(address: string, allow: readonly Cidr[]): boolean {
  const parsed = parseIpAddress(address);
  return parsed !== undefined && (holds(allow, parsed) || isGloballyReachable(parsed));
}

/** One IPv4 address; for IPv6 the /64 of a host, then the /56 and the /48 that a provider may give to a customer. */
export function networksOf(address: string): [string, ...string[]] {
  const parsed = parseIpAddress(address.split('%', 1)[0] ?? '');
  return parsed?.bits === 128 ? [network(parsed, 64n), network(parsed, 56n), network(parsed, 48n)] : [address];
}

function network({ value }: IpAddress, length: bigint): string {
  const start = (value >> (128n - length)) << (64n - length);
  return `${[48n, 32n, 16n, 0n].map((shift) => ((start >> shift) & 0xffffn).toString(16)).join(':')}::/${length}`;
}

/** The blocks of addresses by which public ones are told; read when first needed, as most programs fetch nothing. */
let blocks: ReturnType<typeof readBlocks> | undefined;

function readBlocks() {
  return {
    refusedIpv4: parseCidrs(`
      0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 168.63.129.16/32, 169.254.0.0/16, 172.16.0.0/12,
      192.0.0.0/24, 192.0.2.0/24, 192.31.196.0/24, 192.52.193.0/24, 192.88.99.0/24, 192.168.0.0/16, 192.175.48.0/24,
      198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, 224.0.0.0/4, 240.0.0.0/4
    `),
    // IPv6 addresses outside 2000::/3 are refused, except `wellKnownNat64`: no public host needs loopback, ULA,
    // link-local, multicast, discard-only, SRv6, IPv4-compatible (::a.b.c.d), IPv4-translated (::ffff:0:a.b.c.d) ones.
    globalUnicast: parseCidrs('2000::/3'),
    // Refused blocks inside 2000::/3: IETF protocol assignments with Teredo, documentation, 6to4 (embeds IPv4), AS112.
    refusedIpv6: parseCidrs('2001::/23, 2001:db8::/32, 2002::/16, 2620:4f:8000::/48, 3fff::/20'),
    // On IPv6-only networks DNS64 answers with NAT64 addresses: the guard checks the IPv4 address inside (RFC 6052).
    // The local-use NAT64 block 64:ff9b:1::/48 stays refused, because its mapping is unknown outside its network.
    wellKnownNat64: parseCidrs('64:ff9b::/96'),
  };
}

function isGloballyReachable(address: IpAddress): boolean {
  const { refusedIpv4, globalUnicast, refusedIpv6, wellKnownNat64 } = (blocks ??= readBlocks());
  if (address.bits === 32) return !holds(refusedIpv4, address);
  if (holds(wellKnownNat64, address)) return isGloballyReachable(embeddedIpv4(address.value));
  return holds(globalUnicast, address) && !holds(refusedIpv6, address);
}

function holds(cidrs: readonly Cidr[], { bits, value }: IpAddress): boolean {
  return cidrs.some((cidr) => cidr.bits === bits && (value ^ cidr.base) >> BigInt(bits - cidr.prefix) === 0n);
}

function parseCidr(entry: string): Cidr {
  const [text = '', length, ...rest] = entry.split('/');
  const address = parseIpAddress(text);
  if (!address || rest.length > 0) throw new Error(`"${entry}" is not a CIDR such as 10.0.0.0/8 or fd00::/8`);
  const widest = text.includes(':') ? 128 : 32;
  const prefix = prefixLength(entry, length, widest) - (widest - address.bits);
  const hostBits = BigInt(address.bits - prefix);
  if (prefix < 0 || (address.value >> hostBits) << hostBits !== address.value) {
    throw new Error(`"${entry}" has address bits set beyond its prefix length`);
  }
  return { bits: address.bits, base: address.value, prefix };
}

function prefixLength(entry: string, text: string | undefined, widest: number): number {
  if (text === undefined) return widest;
  const length = /^(0|[1-9]\d{0,2})$/.test(text) ? Number(text) : Infinity;
  if (length > widest) throw new Error(`"${entry}" needs a prefix length from 0 to ${widest}`);
  return length;
}

function embeddedIpv4(value: bigint): IpAddress {
  return { bits: 32, value: value & LOW_32_BITS };
}

function parseIpv4(text: string): bigint | undefined {
  return isIPv4(text) ? text.split('.').reduce((value, octet) => (value << 8n) | BigInt(octet), 0n) : undefined;
}

function parseIpv6(text: string): bigint | undefined {
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const [left = [], right] = withHexTail(text).split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = right ? Array<string>(8 - left.length - right.length).fill('0') : [];
  return [...left, ...zeros, ...right ?? []].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}

function withHexTail(text: string): string {
  const start = text.lastIndexOf(':') + 1;
  const dotted = parseIpv4(text.slice(start));
  if (dotted === undefined) return text;
  return `${text.slice(0, start)}${(dotted >> 16n).toString(16)}:${(dotted & 0xffffn).toString(16)}`;
}
