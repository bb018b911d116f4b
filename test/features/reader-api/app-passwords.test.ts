// Protects signing in to the Google Reader API: an app password opens this API alone, and nothing else opens the API.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addNotes } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';
import { appOf, appPassword, appWith, itemId } from '../../support/reader-app.ts';
import { makeAppPassword } from '../../support/stored-accounts.ts';
import { addPosts } from '../../support/stored-posts.ts';

const INFO = '/reader/api/0/user-info';
const signIn = (username: string, password: string, more = {}) =>
  ({ Email: username, Passwd: password, client: 'x', ...more });

test('an app password made in the settings signs an app in, under every spelling of the address', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const made = await ada.form('/settings/apps', { name: 'Phone', currentPassword: hub.password });
  const password = /class="secret">([a-z2-9]{24})</.exec(made.text)?.[1] ?? '';
  assert.equal(made.headers.get('cache-control'), 'no-store');
  assert.doesNotMatch((await ada.page('/settings/apps')).text, new RegExp(password));

  for (const base of ['', '/', '/api/greader.php', '/api/greader.php/', '/api//greader.php//', '/api/greader.php/api/greader.php']) {
    const { status, text } = await hub.anybody.form(`${base}/accounts/ClientLogin`, signIn('ADA', password));
    assert.equal(status, 200, base);
    assert.equal(text, `SID=${password}\nLSID=null\nAuth=${password}\n`);
    const answer = await hub.anybody.get(`${base}${INFO}`, appWith(hub, password).headers);
    assert.equal(answer.json()['userName'], 'ada', base);
  }
  assert.equal((await hub.anybody.get(`/api/greader.phpreader/api/0/user-info`, appWith(hub, password).headers)).status, 200);
  assert.equal((await hub.anybody.get(INFO, { authorization: `GoogleLogin  auth=${password}` })).status, 200);
  for (const base of ['/api/greader.php', '/api/greader.php/']) assert.equal((await hub.anybody.get(base)).text, 'OK');
  assert.match((await hub.anybody.page('/')).text, /<html/);
});

test('sign-in takes multipart forms, values in the query and JSON answers, as apps want them', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const password = appPassword(hub, 'ada');
  const body = new FormData();
  for (const [name, value] of Object.entries(signIn('ada', password))) body.append(name, String(value));
  const sent = await fetch(`${hub.address}/accounts/ClientLogin`, { method: 'POST', body });
  assert.match(await sent.text(), /^Auth=/m);
  const query = new URLSearchParams(signIn('ada', password, { output: 'json' }));
  const answer = await hub.anybody.send('POST', `/accounts/ClientLogin?${query}`);
  assert.deepEqual(answer.json(), { SID: password, LSID: 'null', Auth: password });
});

test('the password of the account, another member’s app password and an API token sign no app in', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const wrong = [hub.password, appPassword(hub, 'bob'), 'x', ''];
  for (const password of wrong) {
    const { status, text, headers } = await hub.anybody.form('/accounts/ClientLogin', signIn('ada', password));
    assert.deepEqual([status, text, headers.get('content-type')],
      [401, 'Error=BadAuthentication\n', 'text/plain; charset=utf-8'], password);
  }
  const { token } = (await bob.post('/api/tokens', { name: 'x', currentPassword: hub.password })).json<{ token: string }>();
  assert.equal((await appWith(hub, token).get('user-info')).status, 401);
  assert.equal((await hub.anybody.get(INFO, { authorization: `Bearer ${token}` })).status, 401);
  const byCookie = await ada.page(INFO);
  assert.deepEqual([byCookie.status, byCookie.text], [401, 'Error=BadAuthentication\n'], 'a cookie does not sign in');
});

test('an app password opens nothing but the Google Reader API', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const app = appOf(hub, 'ada');
  for (const path of ['/api/account', '/api/tokens', '/settings', '/api/admin/jobs']) {
    for (const authorization of [app.headers.authorization, `Bearer ${app.password}`, `Bearer hub_${app.password}`]) {
      assert.equal((await hub.anybody.get(path, { authorization })).status, 401, `${path} ${authorization}`);
    }
  }
});

test('the hub’s API refuses an app password also if it looks like an API token', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const { id, token } = (await ada.post('/api/tokens', { name: 'x', scope: 'read', currentPassword: hub.password }))
    .json<{ id: number; token: string }>();
  const statusOf = async () => (await hub.anybody.get('/api/account', { authorization: `Bearer ${token}` })).status;
  assert.equal(await statusOf(), 200);
  makeAppPassword(hub.handle, id);
  assert.equal(await statusOf(), 401);
  assert.equal((await appWith(hub, token).get('user-info')).status, 200);
});

test('wrong app passwords have a limit of their own, and the right one needs no wait, however many were wrong', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const password = appPassword(hub, 'ada');
  const statusOf = async (typed: string) =>
    (await hub.anybody.form('/accounts/ClientLogin', signIn('ada', typed))).status;
  for (let n = 0; n < 15; n++) assert.equal(await statusOf(password), 200);
  for (let n = 0; n < 10; n++) assert.equal(await statusOf('wrong'), 401);
  assert.equal(await statusOf('wrong'), 429);
  assert.equal(await statusOf(password), 200);
  assert.equal(await statusOf('wrong'), 429);
  const onThePage = { username: 'ada', password: hub.password };
  assert.equal((await hub.anybody.post('/api/session', onThePage)).status, 200, 'the limit of the pages is another');
  hub.passTime(60_000);
  assert.equal(await statusOf(password), 200);
});

test('an app password ends singly, with a new account password, and when the account is disabled', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const isIn = async (app: ReturnType<typeof appOf>) => (await app.get('token')).status === 200;
  const [first, second, ofBob] = [appOf(hub, 'ada'), appOf(hub, 'ada'), appOf(hub, 'bob')];
  const id = /apps\/(\d+)\/end/.exec((await ada.page('/settings/apps')).text)?.[1];
  await ada.form(`/settings/apps/${id}/end`);
  assert.deepEqual([await isIn(first), await isIn(second)], [false, true]);
  const change = { currentPassword: hub.password, newPassword: 'another long password' };
  assert.equal((await ada.patch('/api/account', change)).status, 200);
  assert.equal(await isIn(second), false);

  const [account] = (await ada.get('/api/admin/accounts')).json<{ items: { id: number; username: string }[] }>()
    .items.filter(({ username }) => username === 'bob');
  const disabling = { disabled: true, currentPassword: change.newPassword };
  assert.equal((await ada.patch(`/api/admin/accounts/${account?.id}`, disabling)).status, 200);
  assert.equal(await isIn(ofBob), false);
  assert.equal((await bob.get('/api/account')).status, 401);
});

test('an answer with items stops in the middle when the app password ends', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const content = 'x'.repeat(100_000);
  const ids = addPosts(hub, await addNotes(ada, 'Diary', 'private'), 300, () => ({ content }));
  const app = appOf(hub, 'ada');
  const body = ids.map((id) => `i=${itemId(id)}`).join('&');
  const ask = () => fetch(`${hub.address}/reader/api/0/stream/items/contents`, { method: 'POST', body, headers: app.headers });
  assert.ok((await (await ask()).text()).length > 300 * content.length, 'more than is sent before somebody reads');

  const answer = await ask();
  const id = /apps\/(\d+)\/end/.exec((await ada.page('/settings/apps')).text)?.[1];
  await ada.form(`/settings/apps/${id}/end`);
  assert.equal(answer.status, 200);
  await assert.rejects(answer.text(), 'the rest is not sent');
});

test('the settings show an app password’s name, last use, address and expiry', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const app = appOf(hub, 'ada');
  assert.match((await ada.page('/settings/apps')).text, /an app[^]*never used/);
  assert.equal((await app.get('token')).headers.get('cache-control'), 'no-store', 'no cache keeps the password');
  assert.match((await ada.page('/settings/apps')).text, /an app[^]*last used[^]*from 127\.0\.0\.1/);
  assert.doesNotMatch((await ada.page('/settings')).text, /revoke/i, 'it is no API token of the list there');
  const { tokens } = (await ada.get('/api/account/export')).json<{ tokens: { scope: string; address: string }[] }>();
  assert.deepEqual(tokens.map(({ scope, address }) => [scope, address]), [['reader', '127.0.0.1']]);

  const body = { name: 'Short', scope: 'reader', currentPassword: hub.password, expiresAt: new Date(hub.now() + 60_000) };
  assert.equal((await ada.post('/api/tokens', body)).status, 201);
  assert.match((await ada.page('/settings/apps')).text, /Short[^]*<span>expires\s/);
  hub.passTime(120_000);
  assert.match((await ada.page('/settings/apps')).text, /Short[^]*<span>expired\s/);
});

test('a POST whose T is the app password is signed in without a header, and its body may have 64 KiB', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const { password, headers } = appOf(hub, 'ada');
  const send = async (body: string, more = {}) =>
    (await hub.anybody.send('POST', '/reader/api/0/unknown', { body, headers: more })).status;
  assert.equal(await send(`T=${password}\n`), 404, 'signed in, but no such call');
  assert.equal(await send(`T=${password}`, { cookie: 'JSESSIONID=' }), 404);
  assert.equal(await send('T=wrong'), 401);
  assert.equal(await send('T='), 401);
  assert.equal(await send(`T=${password}&x=${'x'.repeat(70_000)}`), 413);
  assert.equal(await send(`x=${'x'.repeat(70_000)}`, headers), 404, 'an app with a valid header may send 1 MiB');
  assert.equal(await send('T=anything', headers), 404, 'the header proves enough');
});

test('refusals are one line of plain text, never a page', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const { headers } = appOf(hub, 'ada');
  for (const path of ['/api/greader.php/reader/api/0/nonsense', '/api/greader.php/nonsense', '/accounts/ClientLogin?Email=ada']) {
    const answer = await hub.anybody.get(path, { ...headers, accept: 'text/html' });
    assert.equal(answer.status, 404, path);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
    assert.match(answer.text, /^[^<\n]+\n$/);
  }
  for (const path of ['/reader/api/0/token', '//reader/nothing', '/accounts/ClientLogin']) {
    const { text } = await hub.anybody.send('PUT', path, { headers: { ...headers, accept: 'text/html' } });
    assert.doesNotMatch(text, /</, path);
  }
});

test('the check page tells whether the Authorization header arrives', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const without = await ada.page('/settings/apps/check');
  assert.equal(without.status, 401);
  assert.match(without.headers.get('www-authenticate') ?? '', /^Basic/);
  assert.match(without.text, /No Authorization header arrived/);
  const { status, text } = await ada.get('/settings/apps/check', { authorization: 'Basic eDp5', accept: 'text/html' });
  assert.equal(status, 200);
  assert.match(text, /The Authorization header arrives/);
});
