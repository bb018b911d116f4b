// Protects the doors of the hub: invitations, sign-ins, sessions and API tokens, and no secret is kept readable.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeInvitation, makeSetUpLink } from '../../../src/features/accounts/join-hub.ts';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { sessions } from '../../../src/features/accounts/credential-store.ts';
import { DAY, HOUR } from '../../../src/platform/clock.ts';
import { COMMAND_LINE } from '../../../src/features/audit/audit.ts';
import { itemsAt, pointersOf } from '../../support/accounts.ts';
import { createClient, type Client } from '../../support/client.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { countRows } from '../../support/stored-rows.ts';

type Made = { id: number; url: string; role: string; expiresAt: string };

function invite(hub: Hub, role: 'admin' | 'member' = 'member', lifetime = HOUR): string {
  return makeInvitation(hub.handle, role, lifetime, COMMAND_LINE).token;
}

function joinAs(hub: Hub, invitation: string, username: string, client: Client = createClient(hub.address)) {
  return client.post('/api/accounts', { invitation, username, password: hub.password });
}

/** Everything that the database's files hold, as bytes. */
function databaseBytes(hub: Hub): Buffer {
  const files = readdirSync(hub.dataDir).filter((name) => name.startsWith('hub.db') && !name.endsWith('-shm'));
  assert.ok(files.includes('hub.db-wal'));
  return Buffer.concat(files.map((name) => readFileSync(join(hub.dataDir, name))));
}

test('the first account is the administrator\'s, whatever the invitation said', async (t) => {
  const hub = await startHub(t);

  const first = await joinAs(hub, `${hub.address}/join/${invite(hub, 'member')}`, 'ada'); // the whole link fits too
  assert.equal(first.status, 201);
  assert.deepEqual(
    first.json(), { id: 1, username: 'ada', displayName: 'ada', role: 'admin', createdAt: '2030-01-15T12:00:00.000Z' },
  );
  assert.equal((await joinAs(hub, invite(hub, 'member'), 'bob')).json()['role'], 'member');
  assert.equal((await joinAs(hub, invite(hub, 'admin'), 'eve')).json()['role'], 'admin');
});

test('set-up links work only while nobody has joined; a second start of the hub leaves the first one’s link good', async (t) => {
  const hub = await startHub(t);
  const [old, link] = [makeSetUpLink(hub.handle), makeSetUpLink(hub.handle)];

  assert.equal((await hub.anybody.page(`/join/${old}`)).status, 200);
  const page = await hub.anybody.page(`/join/${link}`);
  assert.equal(page.status, 200);
  assert.match(page.text, /Set up your hub/);
  await joinAs(hub, invite(hub), 'ada');
  assert.equal((await hub.anybody.page(`/join/${link}`)).status, 410);
  assert.equal((await hub.anybody.page(`/join/${old}`)).status, 410);
  assert.equal((await joinAs(hub, link ?? '', 'eve')).status, 410);
  assert.equal(makeSetUpLink(hub.handle), null, 'there is none to be had any more');
});

test('of two who use one set-up link at once, one becomes administrator and the other nobody', async (t) => {
  const hub = await startHub(t);
  const link = makeSetUpLink(hub.handle) ?? '';

  const answers = await Promise.all([joinAs(hub, link, 'ada'), joinAs(hub, link, 'eve')]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 410]);
  assert.equal(countRows(hub, 'accounts'), 1);
});

test('an invitation lets one person in, also when several use it at once', async (t) => {
  const hub = await startHub(t);
  await hub.newcomer('ada');
  const invitation = invite(hub);

  const names = ['bob', 'eve', 'joe', 'kim'];
  const answers = await Promise.all(names.map((name) => joinAs(hub, invitation, name)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 410, 410, 410]);
  assert.equal((await joinAs(hub, invitation, 'zoe')).status, 410);
  assert.equal(countRows(hub, 'invitations'), 0, 'used means removed');
});

test('of two who want one name at once, one gets it and the other keeps the invitation', async (t) => {
  const hub = await startHub(t);
  await hub.newcomer('ada');
  const [one, other] = [invite(hub), invite(hub)];

  const answers = await Promise.all([joinAs(hub, one, 'bob'), joinAs(hub, other, 'BOB')]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409]);
  const loser = answers[0]?.status === 409 ? one : other;
  assert.equal((await joinAs(hub, loser, 'bobby')).status, 201);
});

test('an invitation that has expired, or never was one, is gone: for the API, the page, the list and soon the database', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.newcomer('ada');
  const { url } = (await ada.post('/api/invitations', { hours: 2, currentPassword: hub.password })).json<Made>();
  const token = url.slice(url.lastIndexOf('/') + 1);
  hub.passTime(2 * HOUR - 1);
  assert.equal((await hub.anybody.page(`/join/${token}`)).status, 200);

  hub.passTime(1);
  assert.equal((await hub.anybody.page(`/join/${token}`)).status, 410);
  for (const gone of [token, 'made-up']) assert.equal((await joinAs(hub, gone, 'bob')).status, 410);
  assert.match((await hub.anybody.page('/join/made-up')).text, /no longer valid/);
  assert.deepEqual((await ada.get('/api/invitations')).json()['items'], []);
  await hub.work();
  assert.equal(countRows(hub, 'invitations'), 0);
});

test('administrators make, list and withdraw invitations; the link is in the first answer only', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.newcomer('ada');

  const answer = await ada.post('/api/invitations', { role: 'admin', hours: 24, currentPassword: hub.password });
  assert.equal(answer.status, 201);
  const made = answer.json<Made>();
  assert.deepEqual(Object.keys(made).sort(), ['expiresAt', 'id', 'role', 'url']);
  assert.equal(made.expiresAt, '2030-01-16T12:00:00.000Z');
  assert.ok(made.url.startsWith(`${hub.config.baseUrl}/join/`));
  const standard = (await ada.post('/api/invitations', { currentPassword: hub.password })).json<Made>();
  assert.deepEqual([standard.role, standard.expiresAt], ['member', '2030-01-18T12:00:00.000Z']);
  const list = await ada.get('/api/invitations');
  assert.deepEqual(
    list.json<{ items: Made[] }>().items.map(({ id, role }) => [id, role]),
    [[made.id, 'admin'], [standard.id, 'member']],
  );
  assert.doesNotMatch(list.text, /join/);
  assert.equal((await ada.delete(`/api/invitations/${made.id}`)).status, 204);
  assert.equal((await ada.delete(`/api/invitations/${made.id}`)).status, 404);
  assert.equal((await joinAs(hub, made.url, 'eve')).status, 410);
});

test('what is wrong with a new account is said by pointer, and nothing of it is kept', async (t) => {
  const hub = await startHub(t);
  const invitation = invite(hub);
  const good = { invitation, username: 'ada', password: 'long enough' };
  const cases: [change: object, wrong: string[]][] = [
    [{ username: undefined, password: undefined }, ['/username', '/password']],
    [{ username: 'a b' }, ['/username']],
    [{ username: '-ada' }, ['/username']],
    [{ username: 'ada.' }, ['/username']],
    [{ username: 'аda' }, ['/username']],
    [{ username: 'a'.repeat(33) }, ['/username']],
    [{ username: '<b>' }, ['/username']],
    [{ password: 'x'.repeat(9) }, ['/password']],
    [{ password: 'x'.repeat(1025) }, ['/password']],
    [{ password: 'é'.repeat(513) }, ['/password']],
  ];
  for (const [index, [change, wrong]] of cases.entries()) {
    if (index === 8) hub.passTime(HOUR / 2);
    const answer = await hub.anybody.post('/api/accounts', { ...good, ...change });
    assert.equal(answer.status, 422, JSON.stringify(change));
    assert.deepEqual(pointersOf(answer), wrong, JSON.stringify(change));
  }
  assert.equal(accounts(hub.handle).exists(), false);
  assert.equal((await hub.anybody.post('/api/accounts', { username: 'ada' })).status, 422, 'no invitation at all');
  assert.equal((await hub.anybody.post('/api/accounts', good)).status, 201, 'the invitation still works');
});

test('names are taken whatever their case, and keep the case in which they were given', async (t) => {
  const hub = await startHub(t);
  await hub.newcomer('Ada');

  const answer = await joinAs(hub, invite(hub), 'aDA');
  assert.equal(answer.status, 409);
  assert.deepEqual(pointersOf(answer), ['/username']);
  const signedIn = await hub.anybody.post('/api/session', { username: 'ADA', password: hub.password });
  assert.equal(signedIn.json()['username'], 'Ada');
});

test('a join form that is refused keeps what was typed but the password', async (t) => {
  const hub = await startHub(t);
  const typed = { username: 'bad name', displayName: 'Ada "L" <b>', password: 'shortpw' };
  const { text } = await hub.anybody.form(`/join/${invite(hub)}`, typed);
  assert.match(text, /value="bad name"[^]*value="Ada &quot;L&quot; &lt;b&gt;"/);
  assert.doesNotMatch(text, /shortpw/);
});

test('a session begins with joining or signing in, and ends with signing out', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.newcomer('ada');
  assert.equal((await ada.get('/api/account')).json()['username'], 'ada');
  const stolen = [...ada.cookies].map(([name, value]) => `${name}=${value}`).join('; ');

  const out = await ada.delete('/api/session');
  assert.equal(out.status, 204);
  assert.equal(ada.cookies.size, 0);
  assert.equal((await ada.get('/api/account')).status, 401);
  assert.equal((await hub.anybody.get('/api/account', { cookie: stolen })).status, 401, 'not only the cookie is gone');
  const again = await ada.post('/api/session', { username: 'ada', password: hub.password });
  assert.equal(again.status, 200);
  assert.equal(again.json()['username'], 'ada');
  assert.equal((await ada.get('/api/account')).status, 200);
});

test('signing in fails in the same words for a wrong password and for a name that nobody has', async (t) => {
  const hub = await startHub(t);
  await hub.newcomer('ada');

  const wrong = await hub.anybody.post('/api/session', { username: 'ada', password: 'not the password' });
  const unknown = await hub.anybody.post('/api/session', { username: 'nobody', password: 'not the password' });
  assert.equal(wrong.status, 401);
  assert.equal(unknown.text, wrong.text);
  assert.equal(wrong.headers.get('set-cookie'), null);
});

test('the session cookie is closed to scripts, and on https bound to its host', async (t) => {
  const plain = await startHub(t);
  const secure = await startHub(t, { BASE_URL: 'https://hub.example' });
  const cookies = [];
  for (const hub of [plain, secure]) {
    const answer = await joinAs(hub, invite(hub), 'ada');
    cookies.push(...answer.headers.getSetCookie());
  }

  assert.equal(cookies.length, 2);
  assert.match(cookies[0] ?? '', /^hub_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=15552000$/);
  assert.match(cookies[1] ?? '', /^__Host-hub_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; .*Secure$/);
  const out = await (await plain.person('bob')).delete('/api/session');
  assert.match(out.headers.get('set-cookie') ?? '', /^hub_session=; .*Max-Age=0/);
  const [, value] = /session=([\w-]+)/.exec(cookies[1] ?? '') ?? [];
  assert.equal((await secure.anybody.get('/api/account', { cookie: `__Host-hub_session=${value}` })).status, 200);
  assert.equal((await secure.anybody.get('/api/account', { cookie: `hub_session=${value}` })).status, 401);
});

test('a session ends after thirty days and is then removed', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.newcomer('ada');
  const cookie = [...ada.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  hub.passTime(30 * DAY - 1);
  assert.equal(sessions(hub.handle).listOf(1).length, 1);

  hub.passTime(1);
  assert.equal((await hub.anybody.get('/api/account', { cookie })).status, 401);
  await hub.work();
  assert.equal(countRows(hub, 'sessions'), 0);
});

test('a new password needs the current one, ends all other sessions and is the only one that works', async (t) => {
  const hub = await startHub(t);
  const [here, there] = [await hub.newcomer('ada'), createClient(hub.address)];
  await there.post('/api/session', { username: 'ada', password: hub.password });
  const change = (values: object) => here.patch('/api/account', values);

  assert.equal((await change({ newPassword: 'another password', currentPassword: 'wrong password' })).status, 403);
  assert.equal((await there.get('/api/account')).status, 200, 'nothing has changed yet');
  assert.equal((await change({ newPassword: 'another password', currentPassword: hub.password })).status, 200);
  assert.equal((await here.get('/api/account')).status, 200);
  assert.equal((await there.get('/api/account')).status, 401);
  assert.equal((await there.post('/api/session', { username: 'ada', password: hub.password })).status, 401);
  assert.equal((await there.post('/api/session', { username: 'ada', password: 'another password' })).status, 200);
});

test('an API token is shown once, works like its owner, and not at all when it was revoked', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.newcomer('ada');

  const answer = await ada.post('/api/tokens', { name: 'script', currentPassword: hub.password });
  assert.equal(answer.status, 201);
  const { id, token, ...rest } = answer.json<{ id: number; token: string }>();
  assert.match(token, /^hub_[\w-]{43}$/);
  const times = { createdAt: '2030-01-15T12:00:00.000Z', expiresAt: null, lastUsedAt: null, address: null };
  assert.deepEqual(rest, { name: 'script', scope: 'write', ...times });
  const list = await ada.get('/api/tokens');
  assert.deepEqual(list.json(), { items: [{ id, ...rest }], next: null });
  assert.deepEqual(await itemsAt(await hub.person('bob'), '/api/tokens'), []);
  const bearer = { authorization: `Bearer ${token}` };
  assert.equal((await hub.anybody.get('/api/account', bearer)).json()['username'], 'ada');
  assert.equal((await hub.anybody.get('/api/account', { authorization: `bearer ${token}` })).status, 200);
  assert.equal((await hub.anybody.send('DELETE', '/api/session', { headers: bearer })).status, 403);
  assert.equal((await hub.anybody.send('POST', '/sign-out', { headers: bearer })).status, 403);
  assert.equal((await ada.delete(`/api/tokens/${id}`)).status, 204);
  const refused = await hub.anybody.get('/api/account', bearer);
  assert.equal(refused.status, 401);
  assert.match(refused.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
});

test('an unknown API token is refused even where nobody needs one', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.newcomer('ada');
  const cookie = [...ada.cookies].map(([name, value]) => `${name}=${value}`).join('; ');

  for (const path of ['/api/posts', '/api/account', '/', '/posts.atom']) {
    assert.equal((await hub.anybody.get(path, { authorization: 'Bearer hub_unknown' })).status, 401, path);
    assert.equal(
      (await hub.anybody.get(path, { authorization: 'Bearer hub_unknown', cookie })).status, 401,
      `${path} with a cookie`,
    );
  }
  assert.equal((await hub.anybody.get('/api/posts', { authorization: 'Bearer of something else' })).status, 200);
  const metrics = await hub.anybody.get('/api/metrics', { authorization: 'Bearer hub_unknown' });
  assert.equal(metrics.status, 200, 'which has a token of its own, or as here none');
});

test('no secret stands in the database, in its files or in the log', async (t) => {
  const hub = await startHub(t);
  const invitation = invite(hub);
  const link = makeSetUpLink(hub.handle) ?? '';
  const ada = createClient(hub.address);
  await joinAs(hub, invitation, 'ada', ada);
  const { token } = (await ada.post('/api/tokens', { name: 'findme-name', currentPassword: hub.password })).json<{ token: string }>();
  const { url } = (await ada.post('/api/invitations', { currentPassword: hub.password })).json<Made>();
  await ada.patch('/api/account', { currentPassword: hub.password, newPassword: 'another password' });
  const reset = await ada.post('/api/admin/accounts/1/reset-password', { currentPassword: 'another password' });
  const urls = [url, reset.json<Made>().url];
  for (const one of urls) await ada.page(new URL(one).pathname);
  const secrets = [
    invitation, link, token, ...urls.map((one) => one.slice(one.lastIndexOf('/') + 1)),
    ada.cookies.get('hub_session') ?? '', hub.password, 'another password',
  ];

  const bytes = databaseBytes(hub);
  assert.ok(bytes.includes('findme-name'), 'what is no secret is found there');
  const logged = JSON.stringify(hub.logged());
  for (const secret of secrets) {
    assert.ok(secret.length > 10);
    assert.equal(bytes.includes(secret), false, secret);
    assert.equal(bytes.includes(secret.replace(/^hub_/, '')), false, secret);
    assert.equal(logged.includes(secret), false, secret);
  }
});

test('after signing in people are led on to where they were going, and never off the hub', async (t) => {
  const hub = await startHub(t);
  await hub.newcomer('ada');
  const cases: [next: string, location: string][] = [
    ['/sources/3?x=1', '/sources/3?x=1'],
    ['/?q=%C3%A9 a', '/?q=%C3%A9%20a'],
    ['/漢字', '/%E6%BC%A2%E5%AD%97'],
    ['/\ud800', '/%EF%BF%BD'],
    ['', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example/', '/'],
    ['javascript:alert(1)', '/'],
    ['/\t/evil.example', '/'],
    ['/\r\nSet-Cookie: a=b', '/'],
    ['evil', '/'],
  ];
  for (const [next, location] of cases) {
    const answer = await hub.anybody.form('/sign-in', { username: 'ada', password: hub.password, next });
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, location], JSON.stringify(next));
    const already = await hub.anybody.page(`/sign-in?next=${encodeURIComponent(next.toWellFormed())}`);
    assert.equal(already.headers.get('location'), location);
    hub.anybody.cookies.clear();
  }
});

test('a page for members leads through signing in and back, forms only say so', async (t) => {
  const { anybody } = await startHub(t);

  for (const method of ['GET', 'HEAD']) {
    const answer = await anybody.send(method, '/sources/1/delete?x=1', { headers: { accept: 'text/html' } });
    assert.deepEqual(
      [answer.status, answer.headers.get('location')], [303, '/sign-in?next=%2Fsources%2F1%2Fdelete%3Fx%3D1'], method,
    );
  }
  assert.equal((await anybody.form('/sources', { url: 'x' })).status, 401);
});
