// Protects the storage of passwords with argon2id, and that neither time nor memory tells or costs too much.
import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { createHook } from 'node:async_hooks';
import { test, type TestContext } from 'node:test';
import { accounts } from '../../../src/features/accounts/account-store.ts';
import { passwords as passwordsOf } from '../../../src/features/accounts/passwords.ts';
import type { StoreHub } from '../../../src/features/hub/hub.ts';
import { HttpError } from '../../../src/platform/http/http-error.ts';
import { hubWith } from '../../support/hub.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';
import { storedHash } from '../../support/stored-accounts.ts';

const PASSWORD = 'correct horse';

/** Counts the derivations that begin from now on, in the whole process. */
function countDerivations(t: TestContext): () => number {
  let count = 0;
  const hook = createHook({ init: (_id, type) => void (type === 'ARGON2REQUEST' && count++) }).enable();
  t.after(() => void hook.disable());
  return () => count;
}

test('a password is kept as argon2id of 19 MiB and two passes, in PHC form, with a salt of its own', async () => {
  const passwords = passwordsOf({} as StoreHub);
  const [one, other] = [await passwords.hash(PASSWORD), await passwords.hash(PASSWORD)];

  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(one, other);
  const [, , , , salt = '', tag = ''] = one.split('$');
  const again = argon2Sync('argon2id', {
    message: PASSWORD, nonce: Buffer.from(salt, 'base64'), tagLength: 32, memory: 19_456, passes: 2, parallelism: 1,
  });
  assert.equal(again.toString('base64').replace(/=+$/, ''), tag);
});

test('only the very password fits', async () => {
  const passwords = passwordsOf({} as StoreHub);
  const stored = storedHash('pässword 1');

  assert.equal((await passwords.verify('pässword 1', stored)).ok, true);
  for (const other of ['', 'pässword 2', 'Pässword 1', 'pässword 1 ', 'pa\u0308ssword 1', 'pässword']) {
    assert.equal((await passwords.verify(other, stored)).ok, false, other);
  }
});

test('a hash of weaker parameters still works, and is outdated', async () => {
  const passwords = passwordsOf({} as StoreHub);

  assert.deepEqual(await passwords.verify(PASSWORD, storedHash(PASSWORD)), { ok: true, outdated: true });
  assert.deepEqual(
    await passwords.verify(PASSWORD, storedHash(PASSWORD, { memory: 19_456, passes: 1 })),
    { ok: true, outdated: true },
  );
  assert.deepEqual(
    await passwords.verify(PASSWORD, storedHash(PASSWORD, { memory: 20_000, passes: 3 })),
    { ok: true, outdated: false },
  );
  assert.deepEqual(await passwords.verify(PASSWORD, await passwords.hash(PASSWORD)), { ok: true, outdated: false });
});

test('a stored hash of another form is a fault, not a wrong password', async () => {
  for (const stored of ['', 'plain', '$argon2i$v=19$m=8,t=1,p=1$AAAA$AAAA', '$argon2id$v=16$m=8,t=1,p=1$AAAA$AAAA']) {
    await assert.rejects(passwordsOf({} as StoreHub).verify(PASSWORD, stored), /unknown format/, stored);
  }
});

test('an unknown name costs as many derivations as a known one, and never fits', async (t) => {
  const stored = await passwordsOf({} as StoreHub).hash(PASSWORD);
  const count = countDerivations(t);
  const passwords = passwordsOf({} as StoreHub);

  assert.equal(count(), 0, 'nothing is derived for whoever asks nothing');
  for (const password of ['', 'a password', PASSWORD]) {
    const before = count();
    assert.deepEqual(await passwords.verify(password, undefined), { ok: false, outdated: false });
    assert.equal(count() - before, 1, 'the first time too');
  }
  const before = count();
  await passwords.verify('wrong', stored);
  assert.equal(count() - before, 1);
});

test('signing in with an unknown name costs the hub what a wrong password costs', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const count = countDerivations(t);
  const costOf = async (username: string) => {
    const before = count();
    await hub.anybody.post('/api/session', { username, password: 'wrong password' });
    return count() - before;
  };

  assert.equal(await costOf('ada'), 1);
  assert.equal(await costOf('nobody'), 1);
});

test('signing in renews an outdated hash, a failed try does not', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const old = storedHash(hub.password);
  accounts(hub.handle).setPasswordHash(1, old);
  const stored = () => accounts(hub.handle).find(1)?.passwordHash ?? '';

  assert.equal((await hub.anybody.post('/api/session', { username: 'ada', password: 'wrong password' })).status, 401);
  assert.equal(stored(), old);
  assert.equal((await hub.anybody.post('/api/session', { username: 'ada', password: hub.password })).status, 200);
  assert.match(stored(), /m=19456,t=2/);
  assert.equal((await hub.anybody.post('/api/session', { username: 'ada', password: hub.password })).status, 200);
});

test('passwords of ten and of 1024 bytes are taken as they are', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  for (const password of ['ééééé', ' '.repeat(10), 'x'.repeat(1024)]) {
    accounts(hub.handle).setPasswordHash(1, storedHash('current one'));
    assert.equal((await hub.anybody.post('/api/session', { username: 'ada', password: 'current one' })).status, 200);
    assert.equal(
      (await hub.anybody.patch('/api/account', { currentPassword: 'current one', newPassword: password })).status, 200,
    );
    assert.equal(
      (await hub.anybody.post('/api/session', { username: 'ada', password })).status, 200,
      `${password.length} characters`,
    );
  }
});

test('two passwords are checked at once, thirty wait, and more are told to come back', async (t) => {
  const passwords = passwordsOf({ db: migratedDatabase(t).db, clock: Date.now });
  await passwords.hash('warm');
  const stored = storedHash(PASSWORD);
  const settled = await Promise.allSettled(Array.from({ length: 40 }, () => passwords.verify(PASSWORD, stored)));

  const refused = settled.filter((one) => one.status === 'rejected').map((one): unknown => one.reason);
  assert.equal(refused.length, 8);
  for (const error of refused) {
    assert.ok(error instanceof HttpError);
    assert.equal(error.status, 503);
    assert.ok(error.headers['retry-after']);
  }
  assert.ok(settled.every((one) => one.status === 'rejected' || one.value.ok));
  assert.equal((await passwords.verify(PASSWORD, stored)).ok, true);
});

test('never more than two passwords are derived at the same time', async (t) => {
  const passwords = passwordsOf({} as StoreHub);
  await passwords.hash('warm');
  const stored = storedHash(PASSWORD);
  let running = 0;
  let most = 0;
  const derivations = new Set<number>();
  const hook = createHook({
    init(id, type) {
      if (type !== 'ARGON2REQUEST') return;
      derivations.add(id);
      most = Math.max(most, ++running);
    },
    before: (id) => void (derivations.has(id) && running--),
  }).enable();
  t.after(() => void hook.disable());

  await Promise.all(Array.from({ length: 20 }, () => passwords.verify(PASSWORD, stored)));
  assert.equal(most, 2);
});
