// Protects the list of what to do first: it knows what is done, whom it concerns, and that it was put away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSetUpLink } from '../../../src/features/accounts/join-hub.ts';
import { alertDeliveries } from '../../../src/features/alerts/alert-store.ts';
import { DELIVERED_KEPT, removeOldAlerts } from '../../../src/features/alerts/send-alert.ts';
import { addNotes, addPost, browserOf } from '../../support/accounts.ts';
import { createClient, type Client } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { noteBackup } from '../../support/noted-backups.ts';
import { answering, hubWithReceiver } from '../../support/receiver.ts';

/** The steps that a page shows: what each is called, and whether it is done. Undefined where it shows none. */
async function stepsOn(client: Client, path = '/'): Promise<Record<string, boolean> | undefined> {
  const { text } = await client.page(path);
  const [, list] = /<section class="steps"[^]*?<ol>([^]*?)<\/ol>/.exec(text) ?? [];
  if (list === undefined) return undefined;
  return Object.fromEntries([...list.matchAll(/class="unseen">(Done|To do): <\/span><a href="[^"]+">(.*?)<\/a>/g)]
    .map(([, state, title = '']) => [title, state === 'Done']));
}

const NOTHING_DONE = {
  'Add sources': false, 'Let the hub tell you of problems': false, 'Make the first backup': false,
  'Invite somebody': false, 'Look at the public page': false,
};

test('whoever sets the hub up lands on a list whose steps are ticked as they are done, also by others, and which goes with the last', async (t) => {
  const { hub, tell } = await hubWithReceiver(t);
  const ada = createClient(hub.address);
  const joined = await ada.form(`/join/${makeSetUpLink(hub.handle)}`, { username: 'ada', password: hub.password });
  assert.deepEqual([joined.status, joined.headers.get('location')], [303, '/']);
  assert.deepEqual(await stepsOn(ada), NOTHING_DONE);
  assert.match((await ada.page('/')).text, />0 of 5 done<[^]*No posts yet/);

  const acts: [step: string, act: () => Promise<unknown>][] = [
    ['Add sources', () => addNotes(ada)],
    ['Make the first backup', () => noteBackup(hub)],
    ['Invite somebody', () => ada.post('/api/invitations', { currentPassword: hub.password })],
    ['Look at the public page', () => ada.patch('/api/admin/hub', { text: 'Boats' })],
  ];
  const expected: Record<string, boolean> = { ...NOTHING_DONE };
  for (const [step, act] of acts) {
    await act();
    expected[step] = true;
    assert.deepEqual(await stepsOn(ada), expected, step);
  }
  assert.deepEqual(await stepsOn(ada, '/admin'), expected, 'the overview says the same');
  assert.equal(await stepsOn(ada, '/?q=boats'), undefined, 'a search has other things to show');
  await ada.form('/admin/alerts/test');
  await tell();
  assert.equal(await stepsOn(ada), undefined);
});

test('a test alert goes by the worker, one at a time, and the page says what came of it', async (t) => {
  const { hub, receiver, tell } = await hubWithReceiver(t);
  const [ada, bob] = [await hub.person('ada'), await hub.person('bob')];
  const page = async (): Promise<string> => (await ada.page('/admin/alerts')).text;
  assert.equal((await bob.form('/admin/alerts/test')).status, 403);

  const asked = await ada.form('/admin/alerts/test');
  await ada.form('/admin/alerts/test');
  assert.deepEqual([asked.status, asked.headers.get('location')], [303, '/admin/alerts']);
  assert.match(await page(), /http-equiv="refresh"[^]*role="status">The test alert is on its way\./);
  assert.equal((await stepsOn(ada))?.['Let the hub tell you of problems'], false, 'sent is not arrived');
  receiver.answerWith(answering(404));
  await tell();
  assert.match(await page(), /role="alert"><p>The test alert has not arrived yet\s\(format json\): 127\.0\.0\.1:\d+ answered 404: no\./);
  assert.equal(await tell(), 0, 'the next attempt waits, unless somebody asks for it');

  receiver.take();
  await ada.form('/admin/alerts/test');
  await tell();
  const told = receiver.alerts().map(({ event, severity, title }) => [event, severity, title]);
  assert.deepEqual(told, Array(2).fill(['test', 'info', 'Test alert']));
  assert.match(await page(), /role="status">The test alert arrived \(format json\)\./);
  assert.doesNotMatch(await page(), /http-equiv="refresh"/);
  assert.equal((await stepsOn(ada))?.['Let the hub tell you of problems'], true);
});

test('where no address is set there is nothing to test: the step and the page say what to set', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);

  for (const path of ['/', '/admin/alerts']) {
    const { text } = await ada.page(path);
    assert.match(text, /ALERT_WEBHOOK_URL/);
    assert.doesNotMatch(text, /Send a test alert/);
  }
  const refused = await ada.form('/admin/alerts/test');
  assert.deepEqual([refused.status, alertDeliveries(hub.handle).list({ limit: 1 })], [409, []]);
});

test('that alerts arrive is still known when the last one was so long ago that it is forgotten', async (t) => {
  const { hub, tell } = await hubWithReceiver(t);
  const ada = await hub.person('ada');
  await ada.form('/admin/alerts/test');
  await tell();

  hub.passTime(DELIVERED_KEPT + 1);
  removeOldAlerts(hub.handle, 10);

  assert.deepEqual(alertDeliveries(hub.handle).list({ limit: 10 }), []);
  assert.equal((await stepsOn(await browserOf(hub, 'ada')))?.['Let the hub tell you of problems'], true);
});

test('a member is shown what concerns a member, until it is done', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob']);
  assert.deepEqual(await stepsOn(bob), { 'Follow a source': false, 'Write something': false });

  const notes = await addNotes(bob);
  assert.deepEqual(await stepsOn(bob), { 'Follow a source': true, 'Write something': false });
  await addPost(bob, notes);

  assert.equal(await stepsOn(bob), undefined);
  assert.doesNotMatch((await hub.anybody.page('/')).text, /class="steps"/);
});

test('the list is put away for whoever did so, and a choice in the settings brings it back', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);

  const away = await ada.form('/settings/next-steps', { from: '/admin' });

  assert.deepEqual([away.status, away.headers.get('location')], [303, '/admin?said=steps-put-away']);
  assert.deepEqual([await stepsOn(ada), await stepsOn(ada, '/admin')], [undefined, undefined]);
  assert.ok(await stepsOn(bob), 'others keep theirs');
  const { headers } = await ada.form('/settings/next-steps', { from: 'https://elsewhere.test/' });
  assert.equal(headers.get('location'), '/?said=steps-put-away');
  assert.match((await ada.page('/settings')).text, /name="nextSteps" value="1" >/);
  const form = { density: 'comfortable', textSize: 'normal', timeZone: '', keys: '1', nextSteps: '1' };
  await ada.form('/settings/preferences', form);
  assert.ok(await stepsOn(ada));
});
