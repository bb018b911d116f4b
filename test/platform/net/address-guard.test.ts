// Protects outbound requests from reaching this machine, its network or a cloud's metadata service, however written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidrContains, isPublicAddress, parseCidrs, parseIpAddress } from '../../../src/platform/net/address-guard.ts';

const isPublic = (address: string) => isPublicAddress(address, []);

// First and last address of each refused range, and the public neighbours just outside where there are any.
const IPV4_RANGES: [first: string, last: string, ...outside: string[]][] = [
  ['0.0.0.0', '0.255.255.255', '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.31.196.0', '192.31.196.255', '192.31.195.255', '192.31.197.0'],
  ['192.52.193.0', '192.52.193.255', '192.52.192.255', '192.52.194.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['192.175.48.0', '192.175.48.255', '192.175.47.255', '192.175.49.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '255.255.255.255', '223.255.255.255'],
];

const IPV6_RANGES: [first: string, last: string, ...outside: string[]][] = [
  ['::', '1fff:ffff:ffff:ffff:ffff:fffe:ffff:ffff', '2000::', '3ffe:ffff::'],
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['100::', '100::ffff:ffff:ffff:ffff'],
  ['100:0:0:1::', '100::1:ffff:ffff:ffff:ffff'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db7:ffff::1', '2001:db9::'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:ffff:ffff::1', '2003::'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', '2620:4f:7fff:ffff::1', '2620:4f:8001::'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe:ffff:ffff::1', '3fff:1000::'],
  ['4000::', '5eff:ffff::'],
  ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

test('each special-purpose range of IP addresses is refused from its first to its last address, the addresses beside it are not', () => {
  for (const [first, last, ...outside] of [...IPV4_RANGES, ...IPV6_RANGES]) {
    assert.equal(isPublic(first), false, first);
    assert.equal(isPublic(last), false, last);
    for (const address of outside) assert.equal(isPublic(address), true, address);
  }
});

test('the mapped form of an IPv4 address is judged as that address', () => {
  for (const [first, last, ...outside] of IPV4_RANGES) {
    assert.equal(isPublic(`::ffff:${first}`), false, first);
    assert.equal(isPublic(`0:0:0:0:0:FFFF:${last}`), false, last);
    for (const address of outside) assert.equal(isPublic(`::ffff:${address}`), true, address);
  }
  assert.equal(isPublic('::ffff:7f00:1'), false);
  assert.equal(isPublic('::ffff:808:808'), true);
});

test('no IPv6 notation hides a private IPv4 address', () => {
  const hidden = [
    '::127.0.0.1', '::7f00:1', '::ffff:0:127.0.0.1', '64:ff9b::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe',
    '64:ff9b::10.1.2.3', '64:ff9b:1::10.1.2.3', '2002:7f00:1::', '2002:a9fe:a9fe::1', '2002:c0a8:101::1',
    '2001:0:7f00:1::', '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  ];
  for (const address of hidden) assert.equal(isPublic(address), false, address);
});

test('ordinary public addresses are public, also as the NAT64 addresses that IPv6-only networks need', () => {
  const open = ['1.1.1.1', '8.8.8.8', '93.184.215.14', '2606:4700::1111', '2A00:1450:4001:81b::200e'];
  for (const address of [...open, '64:ff9b::8.8.8.8', '64:ff9b::808:808']) {
    assert.equal(isPublic(address), true, address);
  }
  assert.equal(isPublic('64:ff9b:0:0:0:1:808:808'), false);
});

test('the metadata services of clouds are not public', () => {
  for (const address of ['169.254.169.254', '169.254.170.2', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16']) {
    assert.equal(isPublic(address), false, address);
  }
});

test('text that is not exactly an address is neither public nor contained in anything', () => {
  const everything = parseCidrs('0.0.0.0/0, ::/0');
  const malformed = [
    '', ' ', '8.8.8', '8.8.8.8.', '8.8.8.8 ', '08.8.8.8', '8.8.8.256', '0x8.8.8.8', '134744072', '8.8.8.8/32',
    '1e1.8.8.8', 'example.com',
    '[2606::1]', '2606::1%eth0', '2606:::1', '2606::1::2', ':2606::1', '2606::1:', '2606:1', ':', ':::',
    '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7::8', '12345::', 'g::', '1.2.3.4::', '::1.2.3.4:5', '::1.2.3',
    '::ffff:08.8.8.8', '1:2:3:4:5:6:7:1.2.3.4', '８.8.8.8',
  ];
  for (const text of malformed) {
    assert.equal(isPublicAddress(text, everything), false, text);
    assert.equal(cidrContains(everything, text), false, text);
  }
});

test('every way to write an IPv6 address gives the same number', () => {
  const one = parseIpAddress('::1');
  for (const text of ['0:0:0:0:0:0:0:1', '0000:0000::0001', '0::0:1', '::0.0.0.1', '0::1']) {
    assert.deepEqual(parseIpAddress(text), one, text);
  }
  assert.deepEqual(one, { bits: 128, value: 1n });
  assert.deepEqual(parseIpAddress('1:2:3:4:5:6:1.2.3.4'), parseIpAddress('1:2:3:4:5:6:102:304'));
  assert.deepEqual(parseIpAddress('1:2:3:4:5:6:7::'), parseIpAddress('1:2:3:4:5:6:7:0'));
  assert.deepEqual(parseIpAddress('::ffff:1.2.3.4'), { bits: 32, value: 0x01020304n });
});

test('an allowed range opens itself and nothing beside it', () => {
  const allow = parseCidrs('192.168.7.0/24, fd12:3456::/32');

  for (const address of ['192.168.7.0', '192.168.7.255', '::ffff:192.168.7.1', 'fd12:3456::1', '1.1.1.1']) {
    assert.equal(isPublicAddress(address, allow), true, address);
  }
  const closed = [
    '192.168.6.255', '192.168.8.0', '10.0.0.1', '127.0.0.1', 'fd12:3457::', '::1',
    '64:ff9b::192.168.7.1', '2002:c0a8:701::', '::192.168.7.1',
  ];
  for (const address of closed) assert.equal(isPublicAddress(address, allow), false, address);
});

test('CIDRs match at every prefix length and in mapped form', () => {
  const contains = (cidrs: string, address: string) => cidrContains(parseCidrs(cidrs), address);

  assert.equal(contains('10.1.2.3', '10.1.2.3'), true);
  assert.equal(contains('10.1.2.3', '10.1.2.4'), false);
  assert.equal(contains('10.1.2.2/31', '::ffff:10.1.2.3'), true);
  assert.equal(contains('::ffff:10.0.0.0/104', '10.255.0.1'), true);
  assert.equal(contains('::ffff:10.0.0.0/104', '11.0.0.0'), false);
  assert.equal(contains('0.0.0.0/0', '255.255.255.255'), true);
  assert.equal(contains('0.0.0.0/0', '::1'), false);
  assert.equal(contains('::/0', 'ffff::'), true);
  assert.equal(contains('::/0', '::ffff:10.0.0.1'), false);
  assert.equal(contains('::1', '::1'), true);
  assert.equal(contains('fe80::/10', 'febf::1'), true);
  assert.equal(contains('fe80::/10', 'fec0::1'), false);
  assert.equal(contains(' 10.0.0.0/8 ,\n::1/128 ', '::1'), true);
  assert.deepEqual(parseCidrs('  '), []);
});

test('a wrong CIDR is named', () => {
  const wrong = [
    '10.0.0.1/8', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/08', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0', 'localhost',
    '::1/129', '::1/64', '::ffff:0:0/90', 'fe80::1%eth0', '/8', '*',
  ];
  for (const entry of wrong) {
    const namesEntry = (error: Error) => error.message.startsWith(`"${entry}" `);
    assert.throws(() => parseCidrs(`127.0.0.1, ${entry},::1`), namesEntry, entry);
  }
  assert.throws(() => parseCidrs('127.0.0.1,'), /^Error: "" is not/);
});
