// Protects what a hub without a receiver records: each alert is stored and shown, and nothing ever sends it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alertDeliveries, unsentAlerts } from '../../../src/features/alerts/alert-store.ts';
import { forgetSourceAlerts, raiseAlert } from '../../../src/features/alerts/raise-alerts.ts';
import { tellOperator } from '../../../src/features/health/watch-conditions.ts';
import { jobs } from '../../../src/features/hub/hub.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { hubctl } from '../../support/hubctl.ts';
import { hubWithReceiver, raise, watch } from '../../support/receiver.ts';
import { metric } from '../../support/webhooks.ts';

function unsent(hub: Hub): string[] {
  return unsentAlerts(hub.handle).list({ state: 'unsent', limit: 100 }).map(({ title, body }) => `${title}: ${body.split('\n')[0]}`);
}

/** What the same hub does once it runs without a receiver; its receiver is configured again for `hub` itself. */
function withoutReceiver(hub: Hub, work: (hub: Hub) => void): void {
  work({ ...hub, handle: { ...hub.handle, config: { ...hub.handle.config, alertWebhookUrl: null } } });
}

test('without a receiver alerts are stored, at most one an hour of each kind, and shown everywhere, in no metric', async (t) => {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  raise(hub, 'sync-failed', 'Owls');
  watch(hub, 'space-low', 'nothing is left');
  const tellAfter = (ms: number): void => (hub.passTime(ms), tellOperator(hub.handle));
  tellAfter(0);
  assert.deepEqual(unsent(hub), ['Sources are failing: Owls', 'The disk is nearly full: nothing is left']);
  const logged = hub.logged().filter(({ event }) => event === 'trouble').map(({ trouble }) => trouble);
  assert.deepEqual(logged, ['sync-failed', 'space-low'], 'the log tells, too');
  raise(hub, 'sync-failed', 'Larks');
  watch(hub, 'space-low', null);
  tellAfter(HOUR - 1);
  assert.equal(unsent(hub).length, 2, 'within the hour');
  tellAfter(1);
  assert.deepEqual(unsent(hub).slice(0, 2).map((one) => one.split(': ')[1]), ['Larks', 'Resolved']);

  type List = { items: { id: number; event: string; state: string; attempts: number; lastError: null }[]; next: string | null };
  const list = async (query: string): Promise<List> => (await ada.get(`/api/admin/alerts?${query}`)).json<List>();
  const first = await list('limit=3');
  const all = [...first.items, ...(await list(`limit=3&cursor=${first.next}`)).items];
  assert.deepEqual(all.map(({ id, state, attempts, lastError }) => [id, state, attempts, lastError]), [4, 3, 2, 1].map((id) => [id, 'unsent', 0, null]));
  assert.deepEqual([(await list('state=unsent')).items.length, (await list('state=pending')).items.length], [4, 0]);
  assert.match((await ada.page('/admin/alerts')).text, /alerts are only listed here[^]*>unsent<[^]*Owls/);
  assert.match((await ada.page('/admin')).text, /not set up[^]*not sent: /);
  assert.match((await hubctl(hub.dataDir, 'alerts', 'list', '--state', 'unsent')).stdout, /^4\tunsent\t[^]*\n2\tunsent\tsync-failed\t/);
  for (const state of ['pending', 'delivered', 'failed']) assert.equal(await metric(hub, `service_alert_deliveries{state="${state}"}`), 0);
  assert.deepEqual(jobs(hub.handle).list({ limit: 100 }).filter(({ kind }) => kind === 'deliver-alert'), []);
});

test('what was raised without a receiver is never sent, nor its end, also when a receiver is set afterwards', async (t) => {
  const { hub, receiver, tell, tellFor } = await hubWithReceiver(t);
  withoutReceiver(hub, (silent) => {
    raise(silent, 'sync-failed', 'Owls');
    tellOperator(silent.handle);
    raise(silent, 'sync-failed', 'Larks');
    watch(silent, 'space-low', 'nothing is left');
    raise(silent, 'webhook-silent', 'Hook');
  });
  assert.deepEqual(unsent(hub), ['Sources are failing: Owls'], 'the others have not been told when the receiver is set');
  await tellFor(2 * HOUR, 10 * MINUTE);
  watch(hub, 'space-low', null);
  await tellFor(2 * HOUR, 10 * MINUTE);
  assert.deepEqual([receiver.alerts(), unsent(hub).length], [[], 5], 'four troubles and one end');

  raise(hub, 'webhook-silent', 'another hook');
  watch(hub, 'space-low', 'again nothing');
  assert.equal(await tell(), 2, 'what is raised from now on is sent');
  watch(hub, 'space-low', null);
  await tellFor(HOUR, 10 * MINUTE);
  assert.deepEqual(receiver.alerts().filter(({ event }) => event === 'space-low').map(({ severity }) => severity), ['error', 'resolved']);
  assert.doesNotMatch(JSON.stringify(receiver.alerts()), /Owls|Larks|nothing is left/);
  const ids = [...alertDeliveries(hub.handle).list({ limit: 99 }), ...unsentAlerts(hub.handle).list({ state: 'unsent', limit: 99 })].map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, 'one sequence of ids');
});

test('a receiver that is set while a problem lasts hears of it at once, and of nothing from before', async (t) => {
  const { hub, receiver, tell } = await hubWithReceiver(t);
  withoutReceiver(hub, (silent) => {
    raise(silent, 'sync-failed', 'Owls');
    watch(silent, 'space-low', 'nothing is left');
    tellOperator(silent.handle);
    raise(silent, 'sync-failed', 'Larks');
  });
  watch(hub, 'space-low', 'still nothing is left');
  raise(hub, 'sync-failed', 'Terns');
  await tell();
  assert.deepEqual(receiver.alerts().map(({ event, text }) => [event, text.split('\n')[0], /Owls|Larks/.test(text)]),
    [['space-low', 'still nothing is left', false], ['sync-failed', 'Terns', false]]);
  watch(hub, 'space-low', 'still nothing is left');
  assert.equal(await tell(), 0, 'as ever, once a day');
});

test('an alert that was raised with a receiver and is told without one is only stored', async (t) => {
  const { hub, receiver, tell } = await hubWithReceiver(t);
  raise(hub, 'sync-failed', 'Owls');
  withoutReceiver(hub, (silent) => tellOperator(silent.handle));
  await tell();
  assert.deepEqual([receiver.alerts(), unsent(hub)], [[], ['Sources are failing: Owls']]);
});

test('unsent alerts forget a deleted source, and are kept for 90 days', async (t) => {
  const hub = await startHub(t);
  hub.db.write('raise', () => raiseAlert(hub.handle, { event: 'sync-failed', source: { id: 7, title: 'Owls' }, problem: 'no answer' }));
  await hub.work();
  assert.match(unsent(hub)[0] ?? '', /Owls/);
  hub.db.write('forget', () => forgetSourceAlerts(hub.handle, 7));
  assert.match(unsent(hub)[0] ?? '', /A source that has been deleted/);
  const isThere = (): boolean => unsentAlerts(hub.handle).list({ limit: 999 }).some(({ id }) => id === 1);
  await hub.work(89 * DAY);
  assert.equal(isThere(), true);
  await hub.work(2 * DAY);
  assert.equal(isThere(), false);
});
