// Protects the address that limits count by: behind proxies, too, no client can choose it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressGroup, clientAddress, clientScheme, groupsOf } from '../../../src/platform/http/call-handler.ts';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { startHub } from '../../support/hub.ts';

const PROXIES = parseCidrs('127.0.0.1, 10.0.0.0/8, fd00::/8');

function seenBehind(peer: string, forwarded: string | undefined): string {
  return clientAddress(peer, forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }, PROXIES);
}

test('a client that no trusted proxy speaks for is whoever is connected, whatever it says of itself', () => {
  assert.equal(clientAddress('203.0.113.7', { 'x-forwarded-for': '198.51.100.1' }, []), '203.0.113.7');
  assert.equal(clientAddress('127.0.0.1', { 'x-forwarded-for': '198.51.100.1' }, []), '127.0.0.1');
  assert.equal(clientAddress('::ffff:203.0.113.7', {}, []), '203.0.113.7');
  assert.equal(seenBehind('203.0.113.7', '198.51.100.1'), '203.0.113.7');
  assert.equal(seenBehind('203.0.113.7', '10.0.0.1'), '203.0.113.7');
});

test('behind trusted proxies the client is the last address that none of them wrote about another of them', () => {
  const cases: [forwarded: string | undefined, client: string][] = [
    ['198.51.100.1', '198.51.100.1'],
    ['1.2.3.4, 198.51.100.1', '198.51.100.1'],
    ['1.2.3.4, 198.51.100.1, 10.1.1.1, 10.2.2.2', '198.51.100.1'],
    ['10.9.9.9, 198.51.100.1, 10.1.1.1', '198.51.100.1'],
    [' 198.51.100.1 ,10.1.1.1 ', '198.51.100.1'],
    ['2001:db8::7, fd00::1', '2001:db8::7'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['::FFFF:198.51.100.1', '198.51.100.1'],
    ['::ffff:c633:6401', '198.51.100.1'],
    ['198.51.100.1, ::ffff:10.1.1.1', '198.51.100.1'],
    ['10.1.1.1', '10.1.1.1'],
    [undefined, '10.0.0.1'],
  ];
  for (const [forwarded, client] of cases) assert.equal(seenBehind('10.0.0.1', forwarded), client, String(forwarded));
  assert.equal(seenBehind('::ffff:10.0.0.1', '198.51.100.1'), '198.51.100.1');
});

test('what is no address ends the chain at the last proxy that is known', () => {
  for (const garbage of [
    '', ',', 'unknown', '_hidden', '198.51.100.1:4711', '[2001:db8::1]', '1.2.3', '<script>', '256.1.1.1',
  ]) {
    assert.equal(seenBehind('10.0.0.1', garbage), '10.0.0.1', garbage);
    assert.equal(seenBehind('10.0.0.1', `198.51.100.1, ${garbage}, 10.2.2.2`), '10.2.2.2', garbage);
  }
});

test('the scheme is what a trusted proxy says, and http otherwise', () => {
  const https = { 'x-forwarded-proto': 'https' };
  assert.equal(clientScheme('10.0.0.1', https, PROXIES), 'https');
  assert.equal(clientScheme('::ffff:10.0.0.1', https, PROXIES), 'https');
  assert.equal(clientScheme('203.0.113.7', https, PROXIES), 'http');
  assert.equal(clientScheme('10.0.0.1', https, []), 'http');
  assert.equal(clientScheme(undefined, https, PROXIES), 'http');
  assert.equal(clientScheme('10.0.0.1', { 'x-forwarded-proto': 'gopher' }, PROXIES), 'http');
  assert.equal(clientScheme('10.0.0.1', {}, PROXIES), 'http');
});

test('addresses that one host commands are counted as one', () => {
  assert.equal(addressGroup('203.0.113.7'), '203.0.113.7');
  assert.equal(addressGroup('2001:db8:1:2:3:4:5:6'), addressGroup('2001:0DB8:0001:00ff::ffff'));
  assert.notEqual(addressGroup('2001:db8:1:2::1'), addressGroup('2001:db8:1:102::1'));
  assert.deepEqual(groupsOf('203.0.113.7'), ['network', '203.0.113.7']);
  assert.deepEqual(groupsOf('2001:db8:1:102::1'), ['network', '2001:db8:1:0::/48', '2001:db8:1:100::/56']);
  assert.equal(addressGroup('::1'), addressGroup('::2'));
  assert.equal(addressGroup('fe80::1%eth0'), addressGroup('fe80::2'));
});

test('failed sign-ins are counted by the client behind the proxy, which cannot choose its address', async (t) => {
  const { anybody } = await startHub(t, { TRUSTED_PROXIES: '127.0.0.1' });
  const attempt = async (forwarded: string) => {
    const body = JSON.stringify({ username: 'nobody', password: 'wrong' });
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': forwarded };
    return (await anybody.send('POST', '/api/session', { body, headers })).status;
  };

  const first = [];
  for (let n = 0; n < 10; n++) first.push(await attempt(`192.0.2.${n}, 198.51.100.1`));
  assert.deepEqual(new Set(first), new Set([401]));
  assert.equal(await attempt('203.0.113.99, 198.51.100.1'), 429);
  assert.equal(await attempt('198.51.100.2'), 401);
});
