// Protects what is stored with a time from a clock that was ahead for a while and is set right again.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { workerTasks } from '../../../src/app/schedule.ts';
import { drafts } from '../../../src/features/writing/draft-store.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { createScheduler } from '../../../src/platform/jobs/scheduler.ts';
import { createClient, type Client } from '../../support/client.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { countRows, rowsOf } from '../../support/stored-rows.ts';

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

  test(`a link for a password that was made ${name} ahead lasts an hour`, async (t) => {
    const { hub, made } = await afterwards(t, ahead, async (hub, ada) => {
      await hub.person('bob');
      const answer = await ada.post('/api/admin/accounts/2/reset-password', { currentPassword: hub.password });
      return answer.json<{ url: string }>().url;
    });
    const open = () => hub.anybody.page(new URL(made).pathname);

    assert.equal((await open()).status, 200);
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

/** Ada's session, an invitation and a link for Bob's password, and whether each still opens something. */
async function threeLinks(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada', 'bob']);
  const urlOf = async (path: string, values: object) =>
    new URL((await ada.post(path, { ...values, currentPassword: hub.password })).json<{ url: string }>().url).pathname;
  const links = [await urlOf('/api/invitations', { hours: 24 }), await urlOf('/api/admin/accounts/2/reset-password', {})];
  const open = async () => [
    (await ada.get('/api/account')).status, ...await Promise.all(links.map(async (path) => (await hub.anybody.page(path)).status)),
  ];
  const ends = () => JSON.stringify(rowsOf(hub, 'sessions', 'invitations', 'password_links'));
  return { hub, ada, open, ends };
}

for (const [name, wrong] of [
  ['ten years ahead', 10 * YEAR], ['twenty days ahead', 20 * DAY], ['a minute ahead', MINUTE], ['a minute behind', -MINUTE], ['thirty years behind', -30 * YEAR],
] as const) {
  test(`a clock that is ${name} for seconds ends no session, invitation or reset link, and moves no end`, async (t) => {
    const { hub, ada, open, ends } = await threeLinks(t);
    await hub.work(MINUTE);
    const before = ends();
    await hub.work(wrong);
    await ada.get('/api/account');
    hub.passTime(5 * SECOND);
    await hub.work();
    await hub.work(-wrong);
    assert.deepEqual(await open(), [200, 200, 200]);
    for (let n = 0; n < 3; n++) await hub.work(MINUTE);
    assert.deepEqual(await open(), [200, 200, 200]);
    if (wrong !== 20 * DAY) assert.equal(ends(), before);

    await hub.work(20 * HOUR);
    assert.equal((await open())[1], 200, 'the invitation lasts as long as it was meant to');
    for (let day = 0; day < 30; day++) await hub.work(DAY);
    assert.deepEqual(await open(), [401, 410, 410]);
    await hub.work(MINUTE);
    assert.equal(countRows(hub, 'sessions') + countRows(hub, 'invitations') + countRows(hub, 'password_links'), 0);
  });
}

test('a machine that boots with its clock far behind, and is set right after seconds, ends nothing', async (t) => {
  const { hub, open, ends } = await threeLinks(t);
  await hub.work(MINUTE);
  const before = ends();
  hub.passTime(-30 * YEAR);
  const tasks = workerTasks({ ...hub.handle }); // of another process
  const worker = createScheduler({ tasks, clock: hub.now, log: hub.handle.log, onError: assert.ifError });
  await worker.tick();
  hub.passTime(30 * YEAR);
  await worker.tick();
  hub.passTime(MINUTE);
  await worker.tick();
  assert.deepEqual([await open(), ends()], [[200, 200, 200], before]);
});

test('a session in use while the clock is far ahead or behind ends 180 days after it began, and not before', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  for (let day = 0; day < 170; day += 10) {
    for (const wrong of [5 * DAY, -5 * DAY]) {
      await hub.work(wrong);
      await ada.get('/api/account');
      await hub.work(-wrong);
      await hub.work(MINUTE);
    }
    await hub.work(10 * DAY);
    assert.equal((await ada.get('/api/account')).status, 200, `day ${day + 10}`);
  }
  await hub.work(9 * DAY);
  assert.equal((await ada.get('/api/account')).status, 200, 'day 179');
  await hub.work(DAY);
  assert.equal((await ada.get('/api/account')).status, 401);
});

test('words that came a year ahead, after a session had ended, wait for a day', async (t) => {
  const { hub, made } = await afterwards(t, YEAR, (hub) => Promise.resolve(
    hub.db.write('keep late form', () => drafts(hub.handle).savePending(1, '/write', { title: 'Owls' }, { name: 'a', revision: 0 }))));
  hub.passTime(DAY);
  const adopt = () => drafts(hub.handle).adopt(1, '/write', made);
  hub.db.write('adopt draft', adopt);
  assert.equal(drafts(hub.handle).find(1, '/write'), undefined);
});
