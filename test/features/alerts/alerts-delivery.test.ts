// Protects alerts on their way through the queue: attempts, pauses and retention, and that the address stays secret.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { jobs } from '../../../src/features/hub/hub.ts';
import { alertDeliveries, type AlertDelivery } from '../../../src/features/alerts/alert-store.ts';
import { DAY } from '../../../src/platform/clock.ts';
import type { Hub } from '../../support/hub.ts';
import { answering, hubWithReceiver, raise } from '../../support/receiver.ts';

/** The oldest that is there. */
function firstDelivery(hub: Hub): AlertDelivery {
  return alertDeliveries(hub.handle).list({ limit: 10 }).at(-1) ?? assert.fail('there is a delivery');
}

test('a delivery that waits while the clock is set back by days is tried within hours', async (t) => {
  const { hub, receiver, tell } = await hubWithReceiver(t);
  receiver.answerWith(answering(500));
  raise(hub, 'sync-failed', 'Owls');
  await tell();
  receiver.take();
  hub.passTime(-3 * DAY);
  assert.equal(await tell(), 0);
  await hub.work();

  assert.equal(firstDelivery(hub).state, 'delivered');
});

test('a delivery whose job somebody discarded counts as failed', async (t) => {
  const { hub, receiver, tell } = await hubWithReceiver(t);
  receiver.answerWith(answering(500));
  raise(hub, 'sync-failed', 'Owls');
  await tell();
  const [job] = jobs(hub.handle).list();
  assert.equal(jobs(hub.handle).discard(job?.id ?? 0), true);
  await hub.work();

  assert.equal(firstDelivery(hub).state, 'failed');
  assert.match(firstDelivery(hub).lastError ?? '', /the job that delivers this alert was discarded/);
});

test('delivered alerts are kept for 30 days, failed ones for 90', async (t) => {
  const { hub, receiver, tell, tellInVain } = await hubWithReceiver(t);
  raise(hub, 'sync-failed', 'Owls');
  await tell();
  receiver.answerWith(answering(410));
  raise(hub, 'webhook-silent', 'Hook');
  await tellInVain();
  const areThere = (): boolean[] => {
    const ids = alertDeliveries(hub.handle).list({ limit: 100 }).map(({ id }) => id);
    return [1, 2].map((id) => ids.includes(id));
  };
  const after = async (days: number): Promise<boolean[]> => {
    await hub.work(days * DAY);
    return areThere();
  };

  assert.deepEqual(await after(29), [true, true]);
  assert.deepEqual(await after(2), [false, true]);
  assert.deepEqual(await after(58), [false, true]);
  assert.deepEqual(await after(2), [false, false]);
});

test('nothing that is logged or stored holds the receiver’s address, whatever goes wrong', async (t) => {
  const { hub, receiver, tellInVain } = await hubWithReceiver(t);
  const odd = [
    answering(404, {}, 'cannot POST /alerts/SECRET-path'), answering(302, { location: '/SECRET-path' }),
    (response: ServerResponse): void => void response.destroy(), answering(200),
  ];
  for (const [index, answer] of odd.entries()) {
    receiver.answerWith(answer);
    raise(hub, 'sync-failed', `Owls ${index}`);
    await tellInVain();
  }
  const stored = JSON.stringify([alertDeliveries(hub.handle).list({ limit: 100 }), jobs(hub.handle).list({ limit: 100 })]);

  assert.equal((stored + JSON.stringify(hub.logged())).includes('SECRET'), false);
  assert.ok(stored.includes('answered 404'));
});

test('administrators see what was told and what could not be, by the API and on a page, and never the address', async (t) => {
  const { hub, receiver, tell, tellInVain } = await hubWithReceiver(t);
  const ada = await hub.person('ada');
  raise(hub, 'space-low', 'A <b>few</b> bytes');
  await tell();
  receiver.answerWith(answering(410));
  raise(hub, 'sync-failed', 'Owls');
  await tellInVain();

  type List = { items: { event: string; state: string; lastError: string | null }[]; next: string | null };
  const list = async (query: string): Promise<List> => (await ada.get(`/api/admin/alerts?${query}`)).json<List>();
  const first = await list('limit=1');
  const second = await list(`limit=1&cursor=${first.next}`);
  assert.deepEqual([...first.items, ...second.items].map(({ event, state }) => [event, state]), [
    ['sync-failed', 'failed'], ['space-low', 'delivered'],
  ]);
  assert.equal(second.next, null);
  assert.match(first.items[0]?.lastError ?? '', /answered 410/);
  assert.deepEqual((await list('state=delivered')).items.map(({ event }) => event), ['space-low']);
  assert.equal((await ada.get('/api/admin/alerts?state=lost')).status, 400);

  const page = (await ada.page('/admin/alerts')).text;
  assert.match(page, /Sources are failing[^]*>failed<[^]*answered 410[^]*>delivered<[^]*A &lt;b&gt;few/);
  assert.doesNotMatch((await ada.page('/admin/alerts?state=failed')).text, />delivered<\/span>/);
  for (const text of [page, JSON.stringify([first, second])]) assert.doesNotMatch(text, /SECRET/);
  assert.ok(page.includes(new URL(receiver.url).origin));
});
