// Protects sessions and API tokens: how long they last, what each may do, and who ends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { browserOf, itemsAt, sendJson, tokenOf } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { rowsOf } from '../../support/stored-rows.ts';
import { sessions } from '../../../src/features/accounts/credential-store.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';

type ListedSession = { id: number; createdAt: string; lastUsedAt: string; address: string; current: boolean };

/** A function that asks by a new token of that person. */
async function programOf(hub: Hub, client: Client, values: object = {}) {
  const { id, token } = await tokenOf(hub, client, values);
  const ask = async (method: string, path: string, value?: object): Promise<number> => {
    const headers = { 'authorization': `Bearer ${token}`, 'content-type': 'application/json' };
    const body = value && JSON.stringify(value);
    return (await hub.anybody.send(method, path, { headers, ...(body ? { body } : {}) })).status;
  };
  return { id, ask };
}

test('a session goes on while it is used, thirty days at a time and for half a year at most', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  for (let day = 0; day < 174; day += 29) {
    hub.passTime(29 * DAY);
    assert.equal((await bob.get('/api/account')).status, 200, `day ${day + 29}`);
  }
  hub.passTime(6 * DAY - 1);
  assert.equal((await bob.get('/api/account')).status, 200);
  hub.passTime(1);
  assert.equal((await bob.get('/api/account')).status, 401, 'after 180 days');
});

test('a use is noted once in ten minutes, and a disk that cannot be written keeps nobody out', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  const seen = () => sessions(hub.handle).listOf(2)[0]?.seenAt ?? NaN;
  const before = seen();
  hub.passTime(10 * MINUTE - 1);
  await bob.get('/api/account');
  assert.equal(seen(), before);
  hub.passTime(1);
  await bob.get('/api/account');
  assert.equal(seen(), before + 10 * MINUTE);

  hub.passTime(HOUR);
  hub.db.pragma('query_only = ON');
  assert.equal((await bob.get('/api/account')).status, 200);
  hub.db.pragma('query_only = OFF');
});

test('sessions are listed, and ended one by one with the password', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  hub.passTime(HOUR);
  const other = await browserOf(hub, 'bob');
  const listed = await itemsAt<ListedSession>(bob, '/api/sessions');
  assert.deepEqual(listed.map(({ current, address, createdAt }) => [current, address, createdAt]), [
    [true, '127.0.0.1', '2030-01-15T12:00:00.000Z'], [false, '127.0.0.1', '2030-01-15T13:00:00.000Z'],
  ]);
  const [mine, others] = listed.map(({ id }) => `/api/sessions/${id}`) as [string, string];
  assert.equal((await bob.get(others)).json<ListedSession>().current, false);
  const end = (client: Client, path: string, currentPassword?: string) =>
    sendJson(client, 'DELETE', path, { currentPassword });

  assert.equal((await end(bob, others)).status, 422);
  assert.equal((await end(bob, others, 'not the password')).status, 403);
  assert.equal((await end(ada, others, hub.password)).status, 404, 'another’s');
  assert.equal((await ada.get(others)).status, 404);
  assert.equal((await other.get('/api/account')).status, 200);
  assert.equal((await end(bob, others, hub.password)).status, 204);
  assert.equal((await other.get('/api/account')).status, 401);
  const [third, fourth] = [await browserOf(hub, 'bob'), await browserOf(hub, 'bob')];
  const [, id = ''] = /aria-label="End session (\d+)"/.exec((await bob.page('/settings')).text) ?? [];
  const ended = await bob.form('/settings/sessions', { session: id, currentPassword: hub.password });
  assert.equal(ended.headers.get('location'), '/settings?said=sessions-ended#sessions');
  const left = [third, fourth].map(async (client) => (await client.get('/api/account')).status);
  assert.deepEqual((await Promise.all(left)).sort(), [200, 401], 'one by the page');
  assert.equal((await end(bob, '/api/sessions', hub.password)).status, 204);
  for (const client of [third, fourth]) assert.equal((await client.get('/api/account')).status, 401);
  assert.equal((await end(bob, mine, hub.password)).status, 204);
  assert.equal(bob.cookies.size, 0);
});

test('whose session has ended is told so, and led back to where they were', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  hub.passTime(31 * DAY);

  const page = await bob.page('/write');
  assert.equal(page.headers.get('location'), '/sign-in?next=%2Fwrite');
  assert.match((await bob.page('/sign-in?next=/settings')).text, /<h1>Your session has ended<\/h1>/);
  const headers = { accept: 'text/html', referer: `${hub.address}/settings?x=1` };
  const form = await bob.send('POST', '/settings/name', { body: new URLSearchParams({ displayName: 'B' }), headers });
  assert.equal(form.status, 401);
  assert.match(form.text, /<h1>Your session has ended<\/h1>/);
  assert.match(form.text, /name="next" value="\/settings\?x=1"/);
  assert.doesNotMatch(form.text, /Unauthorized/);
  assert.match((await bob.get('/api/account')).json<{ detail: string }>().detail, /session has ended/);
  assert.match((await hub.anybody.get('/api/account')).json<{ detail: string }>().detail, /^Sign in first/);
  assert.match((await hub.anybody.page('/sign-in')).text, /<h1>Sign in<\/h1>/);
});

test('a token for reading asks and changes nothing; one for writing acts as a member, whoever its owner is', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada', 'bob']);
  const tokens = {
    read: await programOf(hub, ada, { scope: 'read' }),
    write: await programOf(hub, ada),
    admin: await programOf(hub, ada, { scope: 'admin' }),
  };
  const statuses = async (method: string, path: string, value?: object) =>
    Promise.all(Object.values(tokens).map(({ ask }) => ask(method, path, value)));

  assert.deepEqual(await statuses('GET', '/api/account'), [200, 200, 200]);
  assert.deepEqual(await statuses('HEAD', '/api/account'), [200, 200, 200]);
  assert.deepEqual(await statuses('PATCH', '/api/account', { displayName: 'A' }), [403, 200, 200]);
  assert.deepEqual(await statuses('POST', '/api/sources', { kind: 'native', title: 'N' }), [403, 201, 201]);
  assert.deepEqual(await statuses('POST', '/api/session', { username: 'ada', password: hub.password }), [403, 200, 200]);
  assert.deepEqual(await statuses('GET', '/api/admin/audit'), [403, 403, 200]);
  assert.deepEqual(await statuses('DELETE', '/api/admin/jobs/1'), [403, 403, 404]);
});

test('a token of a member administers nothing, and of bob’s source ada’s may change what her scope allows', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  assert.equal(await (await programOf(hub, bob, { scope: 'admin' })).ask('GET', '/api/admin/audit'), 403);
  const { id } = (await bob.post('/api/sources', { kind: 'native', title: 'Bob’s' })).json<{ id: number }>();
  const rename = async (scope: string) =>
    (await programOf(hub, ada, { scope })).ask('PATCH', `/api/sources/${id}`, { title: 'Ada’s' });
  assert.notEqual(await rename('write'), 200);
  assert.equal(await rename('admin'), 200);
});

test('no token makes tokens, invitations or password links, changes roles, ends sessions or removes the account', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada', 'bob']);
  const { ask } = await programOf(hub, ada, { scope: 'admin' });
  const [confirmed, session] = [{ currentPassword: hub.password }, (await itemsAt<{ id: number }>(ada, '/api/sessions'))[0]];
  const refused: [string, string, object][] = [
    ['POST', '/api/tokens', { name: 'another' }], ['POST', '/api/invitations', {}],
    ['POST', '/api/admin/accounts/2/reset-password', {}], ['PATCH', '/api/admin/accounts/2', { role: 'admin' }],
    ['PATCH', '/api/admin/accounts/2', { disabled: true }], ['DELETE', `/api/sessions/${session?.id}`, {}],
    ['DELETE', '/api/sessions', {}], ['PATCH', '/api/account', { newPassword: 'another long password' }],
    ['DELETE', '/api/account', { password: hub.password, confirmation: 'DELETE' }],
  ];
  await ask('GET', '/api/account'); // whose time is noted once in ten minutes
  const state = () => rowsOf(hub, 'accounts', 'sessions', 'api_tokens', 'invitations', 'password_links');
  const before = state();

  for (const [method, path, value] of refused) {
    assert.equal(await ask(method, path, { ...value, ...confirmed }), 403, `${method} ${path}`);
    if (path === '/api/account') continue;
    const bySession = await sendJson(ada, method, path, value);
    assert.equal(bySession.status, 422, `${method} ${path} by a session without its password: ${bySession.text}`);
  }
  assert.deepEqual(state(), before);
});

test('a token ends at its time, and shows when it was used last', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada', 'bob']);
  const { ask } = await programOf(hub, ada, { expiresAt: '2030-01-16T12:00:00Z' });
  const wrong = { name: 'late', expiresAt: '2030-01-15T12:00:00Z', currentPassword: hub.password };
  assert.equal((await ada.post('/api/tokens', wrong)).status, 422);
  hub.passTime(HOUR);
  assert.equal(await ask('GET', '/api/account'), 200);
  const [token] = await itemsAt<{ lastUsedAt: string; expiresAt: string }>(ada, '/api/tokens');
  assert.deepEqual([token?.lastUsedAt, token?.expiresAt], ['2030-01-15T13:00:00.000Z', '2030-01-16T12:00:00.000Z']);
  hub.passTime(23 * HOUR - 1);
  assert.equal(await ask('GET', '/api/account'), 200);
  hub.passTime(1);
  assert.equal(await ask('GET', '/api/account'), 401);
});
