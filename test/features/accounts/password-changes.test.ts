// Protects sign-ins and password changes that meet each other: an old password never comes back.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { accounts as accountsOf } from '../../../src/features/accounts/account-store.ts';
import { changeAccount } from '../../../src/features/accounts/change-account.ts';
import { passwords } from '../../../src/features/accounts/passwords.ts';
import { signIn as signInTo } from '../../../src/features/accounts/authenticate.ts';
import { DEFAULT_PREFERENCES } from '../../../src/features/hub/preferences.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { storedHash } from '../../support/stored-accounts.ts';
import { countRows } from '../../support/stored-rows.ts';

const NEW_PASSWORD = 'another password';
const ADA: Viewer = { id: 1, username: 'ada', displayName: 'ada', role: 'admin', via: 'session', credentialId: 1,
  preferences: DEFAULT_PREFERENCES };
const BY_ADA = { viewer: ADA, address: '192.0.2.1', recheck() {} };

/** The same hub, in which `meanwhile` happens once, between checking a password and using the result. */
function interrupted(hub: Hub, meanwhile: () => Promise<unknown>) {
  const handle = { ...hub.handle };
  const own = passwords(handle);
  const { verify } = own;
  own.verify = async (password, stored) => {
    const verified = await verify(password, stored);
    own.verify = verify;
    await meanwhile();
    return verified;
  };
  return {
    signIn: (values: Record<string, unknown>, address: string) => signInTo(handle, values, address),
    changeAccount: (values: Record<string, unknown>) => changeAccount(handle, values, BY_ADA),
  };
}

async function hubOfAda(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada']);
  const accounts = accountsOf(hub.handle);
  const changePassword = async () => {
    const values = { currentPassword: hub.password, newPassword: NEW_PASSWORD };
    assert.equal((await ada.patch('/api/account', values)).status, 200);
  };
  const signsIn = async (password: string) =>
    (await hub.anybody.post('/api/session', { username: 'ada', password })).status;
  const sessions = () => countRows(hub, 'sessions');
  return { hub, ada, accounts, changePassword, signsIn, sessions };
}

test('a password that is changed while it is checked opens no session', async (t) => {
  const { hub, changePassword, sessions } = await hubOfAda(t);
  const { signIn } = interrupted(hub, changePassword);

  await assert.rejects(signIn({ username: 'ada', password: hub.password }, '192.0.2.1'), { status: 401 });
  assert.equal(sessions(), 1, 'the one that changed it');
  assert.equal((await signIn({ username: 'ada', password: NEW_PASSWORD }, '192.0.2.1')).account.username, 'ada');
});

test('renewing an outdated hash never brings an old password back', async (t) => {
  const { hub, accounts, changePassword, signsIn } = await hubOfAda(t);
  accounts.setPasswordHash(1, storedHash(hub.password));
  const { signIn } = interrupted(hub, changePassword);

  await assert.rejects(signIn({ username: 'ada', password: hub.password }, '192.0.2.1'), { status: 401 });
  assert.equal(await signsIn(hub.password), 401);
  assert.equal(await signsIn(NEW_PASSWORD), 200);
});

test('two who sign in at once with an outdated hash both come in', async (t) => {
  const { hub, accounts, signsIn, sessions } = await hubOfAda(t);
  accounts.setPasswordHash(1, storedHash(hub.password));
  const { signIn } = interrupted(hub, async () => assert.equal(await signsIn(hub.password), 200));

  await signIn({ username: 'ada', password: hub.password }, '192.0.2.1');
  assert.equal(sessions(), 3);
  assert.match(accounts.find(1)?.passwordHash ?? '', /m=19456,t=2/);
});

test('of two password changes at once the second is refused, since it did not know the current one', async (t) => {
  const { hub, changePassword, signsIn } = await hubOfAda(t);
  const { changeAccount } = interrupted(hub, changePassword);

  const values = { currentPassword: hub.password, newPassword: 'a third password' };
  await assert.rejects(changeAccount(values), { status: 403 });
  assert.equal(await signsIn('a third password'), 401);
  assert.equal(await signsIn(NEW_PASSWORD), 200);
});

test('an API token outlives a password change, and may not make one', async (t) => {
  const { hub, ada, changePassword, signsIn } = await hubOfAda(t);
  const { token } = (await ada.post('/api/tokens', { name: 'script', currentPassword: hub.password })).json<{ token: string }>();
  const byToken = (method: string, value?: object) => hub.anybody.send(method, '/api/account', {
    headers: { 'authorization': `Bearer ${token}`, 'content-type': 'application/json' },
    ...(value ? { body: JSON.stringify(value) } : {}),
  });

  const values = { currentPassword: hub.password, newPassword: NEW_PASSWORD, displayName: 'Eve' };
  assert.equal((await byToken('PATCH', values)).status, 403);
  assert.equal(await signsIn(hub.password), 200);
  assert.equal((await byToken('GET')).json()['displayName'], 'ada');
  assert.equal((await byToken('PATCH', { displayName: 'Ada' })).status, 200);
  await changePassword();
  assert.equal((await byToken('GET')).json()['displayName'], 'Ada');
});
