// Protects the JSON of a source: its owner, members and everybody each see what is for them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../../src/platform/clock.ts';
import { addNotes, itemsAt, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { setAccount } from '../../support/stored-accounts.ts';
import { hubWithWebhook, publish } from '../../support/webhooks.ts';

type Shown = { id: number; title: string; followed?: boolean; webhook?: Record<string, unknown> };

async function shown(client: Client, id: number): Promise<Shown> {
  return (await client.get(`/api/sources/${id}`)).json<Shown>();
}

test('a member sees with each source whether it is followed, in the list too; nobody else is told of that', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const [first, second] = [await addNotes(ada, 'First'), await addNotes(ada, 'Second')];
  await sendJson(bob, 'PUT', `/api/sources/${second}/follow`, {});

  const listed = await itemsAt<Shown>(bob, '/api/sources');
  assert.deepEqual(listed.map(({ title, followed }) => [title, followed]), [['First', false], ['Second', true]]);
  assert.deepEqual([(await shown(bob, first)).followed, (await shown(bob, second)).followed], [false, true]);
  assert.equal((await shown(ada, second)).followed, true, 'whoever adds a source follows it');
  await hub.person('eve');
  setAccount(hub, 'eve', { role: 'admin' });
  const answers = [
    await ada.patch(`/api/sources/${first}`, { title: 'One' }),
    await ada.post('/api/sources', { kind: 'native', title: 'Third' }),
    await ada.post(`/api/sources/${first}/transfer`, { username: 'eve' }),
  ];
  assert.deepEqual(answers.map((answer) => answer.json<Shown>().followed), [true, true, true]);
  for (const source of [await shown(hub.anybody, second), ...await itemsAt<Shown>(hub.anybody, '/api/sources')]) {
    assert.ok(!('followed' in source));
  }
});

test('the owner of a webhook sees whether it is heard and when it last was, others do not', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const bob = await hub.person('bob');
  const heardAt = new Date(hub.now()).toISOString();

  assert.deepEqual((await shown(ada, hook.id)).webhook, { state: 'active', lastEventAt: null });
  await publish(hub, hook, 'build.finished', { ok: true });
  assert.deepEqual((await shown(ada, hook.id)).webhook, { state: 'active', lastEventAt: heardAt });
  await hub.work(8 * DAY);
  const [listed] = await itemsAt<Shown>(ada, '/api/sources');
  assert.deepEqual(listed?.webhook, { state: 'silent', lastEventAt: heardAt });
  const paused = (await ada.patch(`/api/sources/${hook.id}`, { paused: true })).json<Shown>();
  assert.deepEqual(paused.webhook, { state: 'disabled', lastEventAt: heardAt });

  for (const client of [bob, hub.anybody]) assert.ok(!('webhook' in await shown(client, hook.id)));
  const notes = await addNotes(ada);
  assert.ok(!('webhook' in await shown(ada, notes)));
});
