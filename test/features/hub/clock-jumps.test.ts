// Protects what is stored with a time from a clock that was ahead for a while and is set right again.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { drafts } from '../../../src/features/writing/draft-store.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { createClient, type Client } from '../../support/client.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { countRows } from '../../support/stored-rows.ts';

const YEAR = 365 * DAY;

/** A hub whose clock was ahead while `act` was done, and has been set right since. */
async function afterwards<Result>(t: TestContext, ahead: number, act: (hub: Hub, ada: Client) => Promise<Result>) {
  const hub = await startHub(t);
  hub.passTime(ahead);
  const ada = await hub.person('ada');
  const made = await act(hub, ada);
  await hub.work(-ahead);
  return { hub, ada, made };
}

async function statusAfter(hub: Hub, time: number, ask: () => Promise<{ status: number }>): Promise<number> {
  await hub.work(time);
  return (await ask()).status;
}

for (const [name, ahead] of [['a year', YEAR], ['a second', SECOND]] as const) {
  test(`an invitation that was made ${name} ahead is open for as long as it was meant to be`, async (t) => {
    const { hub, made } = await afterwards(t, ahead, async (hub, ada) =>
      (await ada.post('/api/invitations', { hours: 24, currentPassword: hub.password })).json<{ url: string }>().url);
    const open = () => hub.anybody.page(new URL(made).pathname);

    assert.equal(await statusAfter(hub, 24 * HOUR - MINUTE, open), 200);
    assert.equal(await statusAfter(hub, MINUTE, open), 410);
  });

  test(`a session that began ${name} ahead goes on while it is used, and for half a year at most`, async (t) => {
    const { hub, ada } = await afterwards(t, ahead, () => Promise.resolve());
    const ask = () => ada.get('/api/account');

    for (let day = 29; day < 180; day += 29) assert.equal(await statusAfter(hub, 29 * DAY, ask), 200, `day ${day}`);
    assert.equal(await statusAfter(hub, 6 * DAY, ask), 401, 'after 180 days');
  });

  test(`a session that began ${name} ahead and is not used has ended after thirty days`, async (t) => {
    const { hub, ada } = await afterwards(t, ahead, () => Promise.resolve());
    assert.equal(await statusAfter(hub, 30 * DAY, () => ada.get('/api/account')), 401);
  });
}

for (const [name, ahead, status] of [['a year', YEAR, 410], ['a second', SECOND, 200]] as const) {
  test(`a link for a password that was made ${name} ahead ${status === 410 ? 'opens nothing' : 'lasts an hour'}`, async (t) => {
    const { hub, made } = await afterwards(t, ahead, async (hub, ada) => {
      await hub.person('bob');
      const answer = await ada.post('/api/admin/accounts/2/reset-password', { currentPassword: hub.password });
      return answer.json<{ url: string }>().url;
    });
    const open = () => hub.anybody.page(new URL(made).pathname);

    assert.equal((await open()).status, status);
    assert.equal(await statusAfter(hub, HOUR + MINUTE, open), 410);
  });
}

test('a session that was used while the clock was ahead has the end that it would have had', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  hub.passTime(20 * DAY);
  await ada.get('/api/account');
  await hub.work(-20 * DAY);
  assert.equal(await statusAfter(hub, 30 * DAY - MINUTE, () => createClient(hub.address).get('/')), 200);
  assert.equal(countRows(hub, 'sessions'), 1);
  assert.equal(await statusAfter(hub, MINUTE, () => ada.get('/api/account')), 401);
});

test('words that came a year ahead, after a session had ended, wait for a day', async (t) => {
  const { hub, made } = await afterwards(t, YEAR, (hub) => Promise.resolve(
    hub.db.write('keep late form', () => drafts(hub.handle).savePending(1, '/write', { title: 'Owls' }, { name: 'a', revision: 0 }))));
  hub.passTime(DAY);
  const adopt = () => drafts(hub.handle).adopt(1, '/write', made);
  hub.db.write('adopt draft', adopt);
  assert.equal(drafts(hub.handle).find(1, '/write'), undefined);
});
