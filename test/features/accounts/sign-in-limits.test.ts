// Protects people from strangers who guess: nobody's wrong passwords keep somebody else out.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { signInNetworks } from '../../../src/features/accounts/credential-store.ts';
import { passwords } from '../../../src/features/accounts/passwords.ts';
import { MINUTE } from '../../../src/platform/clock.ts';
import { sendJson } from '../../support/accounts.ts';
import { createClient } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { countRows } from '../../support/stored-rows.ts';

const PROXY = { TRUSTED_PROXIES: '127.0.0.1' };

/** A hub behind a proxy, in which checking a password costs nothing: what is counted here are tries. */
async function hubBehindProxy(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob'], PROXY);
  const own = passwords(hub.handle);
  own.verify = async (password, stored) => ({ ok: password === hub.password && stored !== undefined, outdated: false });
  const signIn = async (username: string, password: string, address: string) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address };
    const body = JSON.stringify({ username, password });
    return (await createClient(hub.address).send('POST', '/api/session', { body, headers })).status;
  };
  const guess = (username: string, address: string) => signIn(username, 'a wrong password', address);
  return { hub, ada, bob, signIn, guess };
}

test('100 wrong passwords from ten addresses neither end the owner’s session nor keep the owner from signing in at the usual place', async (t) => {
  const { hub, ada, signIn, guess } = await hubBehindProxy(t);
  assert.equal(await signIn('ada', hub.password, '198.51.100.7'), 200);
  const statuses = new Set<number>();
  for (let n = 0; n < 110; n++) statuses.add(await guess('ada', `203.0.113.${n % 11}`));
  assert.deepEqual([...statuses].sort(), [401, 429]);

  assert.equal(await signIn('ada', hub.password, '198.51.100.8'), 429, 'a place that is new');
  assert.equal(await signIn('ADA', hub.password, '198.51.100.7'), 200, 'the usual place');
  const change = { displayName: 'Ada', newPassword: 'another long password', currentPassword: hub.password };
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.1' };
  const changed = await ada.send('PATCH', '/api/account', { body: JSON.stringify(change), headers });
  assert.equal(changed.status, 200, 'the session, even from where others guess');
});

test('an address where one has signed in opens nothing at others’ accounts, and is limited itself', async (t) => {
  const { hub, signIn, guess } = await hubBehindProxy(t);
  const address = '203.0.113.7';
  assert.equal(await signIn('bob', hub.password, address), 200);
  for (let n = 0; n < 10; n++) assert.equal(await guess('ada', address), 401);
  assert.equal(await guess('ada', address), 429);
  await hub.person('carol');
  assert.equal(await guess('carol', address), 429, 'strangers share what an address may guess');
  assert.equal(await signIn('bob', hub.password, address), 200);
  assert.equal(await guess('ada', address), 429, 'signing in as oneself gives nothing back');

  for (let n = 0; n < 10; n++) assert.equal(await guess('bob', address), 429, 'no other answer than for a stranger’s name');
  assert.equal(await signIn('bob', hub.password, address), 429, 'a known address may guess ten more, and no more');
  hub.passTime(MINUTE);
  assert.equal(await signIn('bob', hub.password, address), 200);
});

test('what an address may guess is spent alike on names that are known there, known elsewhere and made up, and no answer tells them apart', async (t) => {
  const { hub, signIn, guess } = await hubBehindProxy(t);
  const names = ['bob', 'ada', 'nobody'];
  for (const [n, first] of [...names, ...names].entries()) {
    const address = n < 3 ? `203.0.113.${n}` : `2001:db8:${n}:1::1`;
    assert.equal(await signIn('bob', hub.password, address), 200);
    const answers: Record<string, number[]> = {};
    for (let turn = 0; turn < 10; turn++) (answers[first] ??= []).push(await guess(first, address));
    for (const name of names) for (let turn = 0; turn < 3; turn++) (answers[`${name}, later`] ??= []).push(await guess(name, address));
    assert.deepEqual(Object.values(answers).map((statuses) => [...new Set(statuses)]), [[401], [429], [429], [429]], `${first} at ${address}`);
    assert.equal(await signIn('bob', hub.password, address), 200, 'only the right one, where one has signed in');
    assert.equal(await signIn('ada', hub.password, address), 429);
    hub.passTime(20 * MINUTE);
  }
});

test('beyond what an address may guess, made-up names leave no row', async (t) => {
  const { hub, guess } = await hubBehindProxy(t);
  for (let n = 0; n < 10; n++) await guess(`name${n}`, '203.0.113.7');
  const before = countRows(hub, 'rate_limits');
  for (let n = 10; n < 60; n++) assert.equal(await guess(`name${n}`, '203.0.113.7'), 429);
  assert.equal(countRows(hub, 'rate_limits'), before);
});

test('guesses in one session do not count against another of the same account', async (t) => {
  const { hub, ada } = await hubBehindProxy(t);
  const other = createClient(hub.address);
  await other.post('/api/session', { username: 'ada', password: hub.password });
  const change = (client: typeof ada, currentPassword: string) =>
    sendJson(client, 'PATCH', '/api/account', { newPassword: 'another long password', currentPassword });

  for (let n = 0; n < 10; n++) assert.equal((await change(other, 'a wrong password')).status, 403);
  assert.equal((await change(other, hub.password)).status, 429);
  assert.equal((await change(ada, hub.password)).status, 200);
});

test('a network of IPv6 is no crowd of strangers: 20 guesses from a /56, 40 from a /48', async (t) => {
  const { guess } = await hubBehindProxy(t);
  const admitted = async (address: (n: number) => string) => {
    let count = 0;
    for (let n = 0; n < 60; n++) if (await guess(`name${n}`, address(n)) === 401) count++;
    return count;
  };

  assert.equal(await admitted((n) => `2001:db8:1:2::${n + 1}`), 10, 'one /64');
  assert.equal(await admitted((n) => `2001:db8:2:${n.toString(16)}::1`), 20, '60 of the 256 /64 of a /56');
  assert.equal(await admitted((n) => `2001:db8:3:${(n * 256).toString(16)}::1`), 40, '60 of the 256 /56 of a /48');
});

test('whom a larger network’s guesses keep waiting has not guessed', async (t) => {
  const { hub, guess } = await hubBehindProxy(t);
  for (let n = 0; n < 20; n++) assert.equal(await guess(`name${n}`, `2001:db8:1:${n % 2}::1`), 401);
  for (let n = 0; n < 15; n++) assert.equal(await guess(`name${n}`, '2001:db8:1:2::1'), 429, 'the /56 has had its 20');
  hub.passTime(MINUTE);
  for (let n = 0; n < 2; n++) assert.equal(await guess(`name${n}`, '2001:db8:1:2::1'), 401, 'its next two');
});

test('the hub remembers the 20 addresses of an account where it signed in last', async (t) => {
  const { hub, signIn } = await hubBehindProxy(t);
  for (let n = 0; n < 25; n++) {
    assert.equal(await signIn('bob', hub.password, `203.0.113.${n}`), 200);
    hub.passTime(1000);
  }
  const bob = accounts(hub.handle).findByName('bob');
  const networks = signInNetworks(hub.handle).listOf(bob?.id ?? 0).map(({ network }) => network);
  assert.deepEqual(networks, Array.from({ length: 20 }, (_, n) => `203.0.113.${n + 5}`));
  assert.equal(countRows(hub, 'sign_in_networks'), 20);
});

test('one account that has its password checked all the time keeps nobody out, and whoever is told to wait has not guessed', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const signIn = () => createClient(hub.address).post('/api/session', { username: 'ada', password: hub.password });
  const check = (who?: number) => Promise.allSettled(Array.from({ length: 40 }, () =>
    passwords(hub.handle).verify('a wrong password', undefined, who)));

  const ofOne = check(2);
  assert.equal((await signIn()).status, 200);
  const looked = (await ofOne).filter(({ status }) => status === 'fulfilled').length;
  assert.equal(looked, 17, 'two at once, and half of the thirty who may wait');
  const ofMany = check();
  const other = { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' };
  const body = JSON.stringify({ username: 'ada', password: hub.password });
  const all = await Promise.all(Array.from({ length: 40 }, () => hub.anybody.send('POST', '/api/session', { body, headers: other })));
  assert.ok(all.some(({ status }) => status === 503));
  assert.ok(all.every(({ status }) => status !== 429));
  await ofMany;
  assert.equal((await signIn()).status, 200);
});
