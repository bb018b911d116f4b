// Protects what administrators do to accounts: roles, disabling and links for new passwords, here and by hubctl.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { passwordLinks } from '../../../src/features/accounts/credential-store.ts';
import { setState } from '../../../src/features/accounts/govern-account.ts';
import { passwords } from '../../../src/features/accounts/passwords.ts';
import { COMMAND_LINE } from '../../../src/features/audit/audit.ts';
import { HOUR } from '../../../src/platform/clock.ts';
import { hubctl } from '../../support/hubctl.ts';
import { addNotes, addPost, browserOf, itemsAt, leave, tokenOf } from '../../support/accounts.ts';
import { createClient, type Client } from '../../support/client.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { storedActs } from '../../support/stored-accounts.ts';
import { countLimited, countRows } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

const NEW = 'another long password';

async function hubOfTwo(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const change = (id: number, values: object, by: Client = ada) =>
    by.patch(`/api/admin/accounts/${id}`, { currentPassword: hub.password, ...values });
  const link = async (id: number, by: Client = ada): Promise<string> => {
    const made = await by.post(`/api/admin/accounts/${id}/reset-password`, { currentPassword: hub.password });
    assert.equal(made.status, 201, made.text);
    return made.json<{ url: string }>().url.replace(hub.config.baseUrl, '');
  };
  const acts = () => storedActs(hub).map(({ act, targetId, detail }) => ({ act, target: targetId, detail }));
  return { hub, ada, bob, change, link, acts };
}

function signIn(hub: Hub, username: string, password = hub.password) {
  return createClient(hub.address).post('/api/session', { username, password });
}

test('an administrator gives another role, with their own password', async (t) => {
  const { ada, bob, change, acts } = await hubOfTwo(t);
  assert.equal((await change(2, { role: 'admin', currentPassword: 'not the password' })).status, 403);
  assert.equal((await change(2, {})).status, 422, 'nothing to change');
  assert.equal((await change(1, { role: 'member' }, bob)).status, 403);

  const changed = await change(2, { role: 'admin' });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(changed.json(), {
    id: 2, username: 'bob', displayName: 'bob', role: 'admin', createdAt: '2030-01-15T12:00:00.000Z',
    disabled: false, sources: 0, contentBytes: 0,
  });
  assert.deepEqual((await ada.get('/api/admin/accounts/2')).json(), changed.json());
  assert.equal((await bob.get('/api/admin/accounts')).status, 200);
  assert.deepEqual(acts(), [{ act: 'account.changed', target: 2, detail: '{"role":"admin","disabled":false}' }]);
});

test('who is no administrator any more leaves no invitations behind', async (t) => {
  const { hub, ada, bob, change } = await hubOfTwo(t);
  await change(2, { role: 'admin' });
  await bob.post('/api/invitations', { role: 'admin', currentPassword: hub.password });
  await ada.post('/api/invitations', { currentPassword: hub.password });
  assert.equal((await change(2, { role: 'member' })).status, 200);
  assert.equal(countRows(hub, 'invitations'), 1);
});

test('no link for a password outlives its maker’s role, or a new password', async (t) => {
  const { hub, ada, bob, change, link } = await hubOfTwo(t);
  for (const lost of [{ role: 'member' }, { disabled: true }]) {
    await change(2, { role: 'admin', disabled: false });
    const path = await link(1, await browserOf(hub, 'bob'));
    assert.equal((await hub.anybody.page(path)).status, 200);
    assert.equal((await change(2, lost)).status, 200);
    assert.equal((await hub.anybody.form(path, { password: NEW })).status, 410, 'not even for another administrator');
  }
  await change(2, { disabled: false, role: 'admin' });
  await bob.post('/api/session', { username: 'bob', password: hub.password });
  const left = await link(1, bob);
  assert.equal((await leave(hub, bob)).status, 204);
  assert.equal((await hub.anybody.form(left, { password: NEW })).status, 410);

  const own = await link(1);
  assert.equal((await ada.patch('/api/account', { newPassword: NEW, currentPassword: hub.password })).status, 200);
  assert.equal((await hub.anybody.form(own, { password: 'yet another password' })).status, 410);
});

test('who becomes the last administrator while their password is checked cannot leave', async (t) => {
  const { hub, bob } = await hubOfTwo(t);
  const busy = Array.from({ length: 6 }, () => passwords(hub.handle).hash('keeps the queue busy'));
  const leaving = leave(hub, bob);
  await waitUntil('the attempt is counted', () => countLimited(hub, 'sign-in-session') === 1);
  setState(hub.handle, 2, { role: 'admin' }, COMMAND_LINE);
  setState(hub.handle, 1, { role: 'member' }, COMMAND_LINE);
  assert.ok([403, 409].includes((await leaving).status));
  assert.equal(accounts(hub.handle).list(0, 9).filter(({ role }) => role === 'admin').length, 1);
  await Promise.all(busy);
});

test('the last administrator who can sign in is neither disabled nor made a member', async (t) => {
  const { change, ada } = await hubOfTwo(t);
  for (let n = 0; n < 12; n++) {
    assert.equal((await change(1, { disabled: true })).status, 409, 'the password was right, and so is never limited');
  }
  assert.equal((await change(1, { role: 'member' })).status, 409);
  await change(2, { role: 'admin' });
  await change(2, { disabled: true });
  assert.equal((await change(1, { role: 'member' })).status, 409, 'the other one cannot sign in');
  await change(2, { disabled: false });
  assert.equal((await change(1, { role: 'member' })).status, 200);
  assert.equal((await ada.get('/api/admin/accounts')).status, 403);
});

test('a disabled account can do nothing at once and cannot sign in; its sources go on', async (t) => {
  const { hub, ada, bob, change, link, acts } = await hubOfTwo(t);
  const { token } = await tokenOf(hub, bob);
  const sourceId = await addNotes(bob);
  const postId = await addPost(bob, sourceId);
  const path = await link(2);
  assert.equal((await change(2, { disabled: true })).status, 200);

  const bearer = { authorization: `Bearer ${token}` };
  assert.equal((await bob.get('/api/account')).status, 401);
  assert.equal((await hub.anybody.get('/api/account', bearer)).status, 401);
  const right = await signIn(hub, 'bob');
  assert.deepEqual([right.status, right.json()['detail']], [403, 'This account is disabled. Ask an administrator.']);
  assert.equal((await signIn(hub, 'bob', 'not the password')).status, 401, 'only who knows the password is told');
  assert.equal((await hub.anybody.page(path)).status, 410);
  const refused = await ada.post('/api/admin/accounts/2/reset-password', { currentPassword: hub.password });
  assert.equal(refused.status, 409);
  assert.equal((await hub.anybody.get(`/api/posts/${postId}`)).status, 200);

  assert.equal((await change(2, { disabled: false })).status, 200);
  assert.equal((await signIn(hub, 'bob')).status, 200);
  assert.equal((await bob.get('/api/account')).status, 401, 'what has ended stays so');
  assert.equal((await hub.anybody.get('/api/account', bearer)).status, 401);
  assert.deepEqual(acts().filter(({ act }) => act === 'account.changed').map(({ detail }) => JSON.parse(detail).disabled),
    [true, false]);
});

test('a link for a new password works once, for an hour, ends sessions and tokens, and its owner is told', async (t) => {
  const { hub, bob, link, acts } = await hubOfTwo(t);
  const { token } = await tokenOf(hub, bob);
  const [first, path] = [await link(2), await link(2)];
  assert.equal((await hub.anybody.page(first)).status, 410, 'the newer one stands in its place');
  const page = await hub.anybody.page(path);
  assert.equal(page.status, 200);
  assert.match(page.text, /Choose a new password/);
  assert.match((await itemsAt<{ title: string }>(bob, '/api/notifications'))[0]?.title ?? '', /An administrator made a link/);

  const browser = createClient(hub.address);
  assert.equal((await browser.form(path, { password: 'short' })).status, 422);
  const done = await browser.form(path, { password: NEW });
  assert.deepEqual([done.status, done.headers.get('location')], [303, '/']);
  assert.equal((await browser.get('/api/account')).json()['username'], 'bob', 'signed in');
  assert.equal((await bob.get('/api/account')).status, 401);
  assert.equal((await hub.anybody.get('/api/account', { authorization: `Bearer ${token}` })).status, 401);
  assert.equal((await signIn(hub, 'bob')).status, 401);
  assert.equal((await signIn(hub, 'bob', NEW)).status, 200);
  assert.match((await itemsAt<{ title: string }>(browser, '/api/notifications'))[0]?.title ?? '', /was changed through a link/);
  assert.equal((await browser.form(path, { password: NEW })).status, 410);
  assert.deepEqual(acts().map(({ act }) => act).filter((act) => act.startsWith('account.')),
    ['account.password-link-made', 'account.password-link-made', 'account.password-changed']);

  const late = await link(2);
  hub.passTime(HOUR);
  const gone = await hub.anybody.page(late);
  assert.equal(gone.status, 410);
  assert.match(gone.text, /no longer valid/);
  await hub.work();
  assert.equal(countRows(hub, 'password_links'), 0);
});

test('of two who use one link at once, one chooses the password', async (t) => {
  const { hub, link } = await hubOfTwo(t);
  const path = await link(2);
  const answers = await Promise.all([NEW, 'a third long password'].map((password) => hub.anybody.form(path, { password })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 410]);
});

test('the page of an account does the same by its buttons', async (t) => {
  const { hub, ada } = await hubOfTwo(t);
  const press = (act: string) => ada.form('/admin/accounts/2', { act, currentPassword: hub.password });
  assert.match((await ada.page('/admin/accounts')).text, /href="\/admin\/accounts\/2"/);
  assert.match((await ada.page('/admin/accounts/2')).text, /Make an administrator/);

  assert.match((await press('make-admin')).text, /Make a member/);
  assert.match((await press('make-member')).text, /Make an administrator/);
  assert.match((await press('reset-password')).text, /<code class="secret">[^<]*\/new-password\/[\w-]{43}<\/code>/);
  assert.match((await press('disable')).text, /cannot sign in/);
  assert.match((await ada.page('/admin/accounts')).text, /disabled/);
  assert.match((await press('enable')).text, /sessions and tokens end at once/);
});

test('hubctl account lists, disables, enables, changes roles and prints a link', async (t) => {
  const { hub, ada } = await hubOfTwo(t);
  const env = { DATA_DIR: hub.dataDir, BASE_URL: 'https://hub.example' };
  const run = (...args: string[]) => hubctl(env, 'account', ...args);

  const list = await run('list', '--json');
  assert.deepEqual(JSON.parse(list.stdout).map(({ username, disabled }: { username: string; disabled: boolean }) =>
    [username, disabled]), [['ada', false], ['bob', false]]);
  assert.match((await run('list')).stdout, /^1\tada\tadmin\tactive\t/);
  assert.equal((await run('disable', 'ada')).status, 1, 'the last administrator');
  const said = (stdout: string) => ({ status: 0, stdout, stderr: '' });
  assert.deepEqual(await run('role', 'bob', 'admin'), said('The account bob is enabled and has the role admin.\n'));
  assert.deepEqual(await run('disable', 'ada'),
    said('The account ada is disabled: its sessions and tokens have ended, and it cannot sign in.\n'));
  assert.equal((await ada.get('/api/account')).status, 401);
  assert.equal((await run('reset-password', 'ada')).status, 1);
  assert.deepEqual(await run('role', 'ada', 'member'),
    said('The account ada is disabled: its sessions and tokens have ended, and it cannot sign in.\n'));
  assert.deepEqual(await run('enable', 'ADA'), said('The account ada is enabled and has the role member.\n'));
  assert.match((await run('reset-password', 'ada')).stdout, /^https:\/\/hub\.example\/new-password\/[\w-]{43}\n$/);
  const { url } = JSON.parse((await run('reset-password', 'ada', '--json')).stdout);
  assert.match(url, /new-password/);
  assert.equal(passwordLinks({ db: hub.db, clock: Date.now }).accountOf(url.slice(url.lastIndexOf('/') + 1)), 1);
  assert.equal(countRows(hub, 'password_links'), 1);
  assert.deepEqual((await run('disable', 'nobody')), { status: 1, stdout: '', stderr: 'there is no account nobody\n' });
  for (const wrong of [[], ['disable'], ['role', 'ada'], ['role', 'ada', 'owner'], ['disable', 'ada', 'x'], ['make', 'x']]) {
    assert.equal((await run(...wrong)).status, 2, wrong.join(' '));
  }
});
