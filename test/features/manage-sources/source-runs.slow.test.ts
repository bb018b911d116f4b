// Protects what the owner of a source learns of its days and its last runs, and that it stays small.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webTasks } from '../../../src/app/schedule.ts';
import { noteRuns } from '../../../src/features/sources/note-runs.ts';
import { DAYS, RUNS, sourceRuns } from '../../../src/features/sources/run-store.ts';
import { syncState } from '../../../src/features/sources/sync-state-store.ts';
import { countDelivery } from '../../../src/features/webhooks/note-deliveries.ts';
import { DAY, MINUTE } from '../../../src/platform/clock.ts';
import { addFeed, addNotes, sendJson } from '../../support/accounts.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import type { Hub } from '../../support/hub.ts';
import { startHubProcess } from '../../support/hub-process.ts';
import { countRows } from '../../support/stored-rows.ts';
import { reply } from '../../support/origin.ts';
import { githubEvent } from '../../support/signed-events.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { eventOf, hubWithWebhook, publish, sendEvent } from '../../support/webhooks.ts';

/** What web does every two seconds. */
async function noteDeliveries(hub: Hub): Promise<void> {
  const task = webTasks(hub.handle).find(({ name }) => name === 'note deliveries');
  assert.ok(task);
  await task.run(new AbortController().signal);
}

test('each synchronisation is kept with what came of it, how long it took, how large the feed was, and the error in words', async (t) => {
  const items: Item[] = [{ guid: 'a' }];
  const { hub, feed, id } = await followedFeed(t, items);
  items.push({ guid: 'b' }, { guid: 'c' });
  items[0] = { guid: 'a', title: 'Corrected' };
  feed.handler = serving(() => rss('Owls', items), { etag: '"1"' });
  await hub.work(DAY);
  feed.handler = reply(304, {});
  await hub.work(DAY);
  feed.handler = reply(503, {});
  await hub.work(DAY);

  const runs = sourceRuns(hub.handle).last(id);
  assert.deepEqual(runs.map(({ failed, added, changed }) => [failed, added, changed]), [[1, 0, 0], [0, 0, 0], [0, 2, 1], [0, 1, 0]]);
  assert.match(runs[0]?.note ?? '', /answered 503: the server is temporarily unavailable/);
  assert.deepEqual(runs.map(({ bytes }) => (bytes ?? 0) > 100), [false, false, true, true]);
  assert.ok(runs.every(({ tookMs }) => tookMs !== null && tookMs >= 0));
  assert.deepEqual(runs.map(({ endedAt }) => hub.now() - endedAt), [0, DAY, 2 * DAY, 3 * DAY]);
  assert.deepEqual(sourceRuns(hub.handle).days([id]).get(id)?.map(({ runs: n, failed, added }) => [n, failed, added]),
    [[1, 0, 1], [1, 0, 2], [1, 0, 0], [1, 1, 0]]);
});

test('of each source 30 days and 20 runs are kept, notes are short, and all of it goes with the source', async (t) => {
  const { hub, ada, id, origin } = await followedFeed(t);
  const other = await addFeed(ada, `${origin.url}/other`);
  for (let run = 0; run < 70; run++) {
    hub.passTime(DAY / 2);
    if (run === 35) await ada.get('/api/account'); // the session lasts
    hub.db.write('some runs', () => [id, other].forEach((one) =>
      noteRuns(hub.handle, one, [{ failed: 1, note: 'not here '.repeat(1_000) }, {}])));
  }

  for (const source of [id, other]) {
    const days = sourceRuns(hub.handle).days([source]).get(source) ?? [];
    assert.ok(days.length === DAYS, `${days.length} days`);
    assert.equal(days.at(-1)?.day, Math.floor(hub.now() / DAY));
    const runs = sourceRuns(hub.handle).last(source);
    assert.equal(runs.length, RUNS);
    assert.ok(runs.every(({ note }) => (note ?? '').length <= 300));
  }
  assert.deepEqual([countRows(hub, 'source_days'), countRows(hub, 'source_runs')], [2 * DAYS, 2 * RUNS]);

  assert.equal((await ada.delete(`/api/sources/${other}`)).status, 204);
  assert.deepEqual([countRows(hub, 'source_days'), countRows(hub, 'source_runs')], [DAYS, RUNS]);
});

test('the page of a source shows its owner the days as bars with words, and the last runs; others see neither', async (t) => {
  const items: Item[] = [{ guid: 'a' }];
  const { hub, feed, ada, id } = await followedFeed(t, items);
  items.push({ guid: 'b' }, { guid: 'c' });
  await hub.work(DAY);
  await hub.work(DAY);
  feed.handler = reply(404, {});
  await hub.work(DAY);

  const page = (await ada.page(`/sources/${id}`)).text;
  assert.ok(page.includes('aria-label="Last 30 days: 3 new posts on 2 days, nothing new on 1 day, failed on 1 day."'));
  assert.match(page, /<title>Today: 1 try failed<\/title>/);
  assert.match(page, /<title>Yesterday: nothing new<\/title>/);
  assert.match(page, /<details open>\s*<summary>Last synchronisations<\/summary>/, 'a source that fails shows why');
  assert.match(page, /answered 404: the server has nothing at this address/);
  assert.match(page, /2 new posts[^]*\d+ ms, \d[\d.]* (?:bytes|KiB)/);
  const list = (await ada.page('/sources')).text;
  assert.match(list, /<svg class="strip"[^>]*role="img"\s+aria-label="Last 30 days: 3 new posts/);
  const bob = await hub.person('bob');
  for (const who of [bob, hub.anybody]) assert.doesNotMatch((await who.page(`/sources/${id}`)).text, /Last 30 days|Last synchronisations/);
});

test('the list shows nobody else how a source went, whether they follow it or not', async (t) => {
  const { hub, feed, id } = await followedFeed(t);
  feed.handler = reply(404, {});
  await hub.work(DAY);
  const bob = await hub.person('bob');
  const seen = async (show: string): Promise<[source: boolean, strip: boolean]> => {
    const { text } = await bob.page(`/sources?show=${show}`);
    return [text.includes(`<a class="title" href="/sources/${id}">`), text.includes('class="strip"')];
  };
  assert.deepEqual(await seen('others'), [true, false]);
  await sendJson(bob, 'PUT', `/api/sources/${id}/follow`, {});
  assert.deepEqual(await seen('all'), [true, false]);
});

test('what came of a run is stored with it or not at all', async (t) => {
  const { hub, id } = await followedFeed(t);
  hub.passTime(DAY);
  t.mock.method(syncState(hub.handle), 'recordSuccess', () => {
    throw new Error('no');
  });
  await hub.work();

  assert.deepEqual(sourceRuns(hub.handle).last(id).map(({ failed }) => failed), [1, 0], 'the failure, and the first one');
});

test('a webhook’s owner sees what was delivered: each type, what came of it, how large it was; many alike at once are one', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const item = { id: 'a', title: 'Deployed', content_text: 'Fine.' };
  await publish(hub, hook, 'post.published', item);
  hub.passTime(MINUTE);
  await publish(hub, hook, 'post.updated', { ...item, title: 'Deployed again' });
  hub.passTime(MINUTE);
  await publish(hub, hook, 'ping', {});
  hub.passTime(MINUTE);
  await Promise.all(['b', 'c', 'd'].map((id) => publish(hub, hook, 'post.published', { ...item, id })));
  assert.deepEqual(sourceRuns(hub.handle).last(hook.id), [], 'nothing is written with each event');
  await noteDeliveries(hub);

  const runs = sourceRuns(hub.handle).last(hook.id);
  assert.equal(runs.reduce((sum, { times }) => sum + times, 0), 6);
  assert.equal(runs.reduce((sum, { added }) => sum + added, 0), 4);
  assert.deepEqual(runs.slice(-3).map(({ event, added, changed }) => [event, added, changed]),
    [['ping', 0, 0], ['post.updated', 0, 1], ['post.published', 1, 0]]);
  assert.ok(runs.every(({ bytes }) => (bytes ?? 0) > 40));
  const page = (await ada.page(`/sources/${hook.id}`)).text;
  assert.match(page, /<summary>Last deliveries<\/summary>/);
  assert.match(page, /1 post changed<\/span> <code>post\.updated<\/code>/);
  assert.ok(page.includes('Last 30 days: 6 events on 1 day.'));
});

test('of many deliveries of which none is like the one before all are counted, and the last ones kept', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  for (let n = 0; n < 250; n++) countDelivery(hub.handle, hook.id, { event: `type ${n}` });
  await noteDeliveries(hub);
  assert.equal(sourceRuns(hub.handle).days([hook.id]).get(hook.id)?.[0]?.runs, 250);
  assert.deepEqual(sourceRuns(hub.handle).last(hook.id).map(({ event }) => event),
    Array.from({ length: RUNS }, (_, n) => `type ${249 - n}`));
});

test('a web process that is asked to stop writes what was delivered last', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  const web = startHubProcess(t, 'web', hub.dataDir);
  hub.passTime(Date.now() - hub.now());
  const send = async (type: string) => sendEvent(await web.address(), hook.id, eventOf(hub, hook.secret, type, {}));
  const noted = () => sourceRuns(hub.handle).last(hook.id).map(({ event }) => event);
  assert.equal((await send('first')).status, 202);
  await waitUntil('it has just been written', () => noted().length > 0);
  assert.equal((await send('last')).status, 202);
  assert.equal(await web.end('SIGTERM'), 0);
  assert.deepEqual(noted(), ['last', 'first']);
});

test('a type that stands outside the signed body is kept no longer than one within, and hostile words of it stay words', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const event = githubEvent(hook.secret);
  event.rawHeaders.push('X-GitHub-Event', `<script>${'x'.repeat(5_000)}`);
  assert.equal((await sendEvent(hub.address, hook.id, event)).status, 202);
  await noteDeliveries(hub);
  assert.equal(sourceRuns(hub.handle).last(hook.id)[0]?.event?.length, 128);
  assert.match((await ada.page(`/sources/${hook.id}`)).text, /<code>&lt;script&gt;xxx/);
});

test('what a webhook refused is told its owner with the reason, in one row a day, and no stranger writes for each try', async (t) => {
  const { hub, ada, hook } = await hubWithWebhook(t);
  const forged = eventOf(hub, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'post.published', { id: 'x' });
  for (let tries = 0; tries < 3; tries++) assert.equal((await sendEvent(hub.address, hook.id, forged)).status, 401);
  assert.equal((await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, 'post.published', {}))).status, 400);
  const notes = await addNotes(ada);
  for (const other of [notes, 999]) await sendEvent(hub.address, other, forged, 'text/plain');
  assert.deepEqual(sourceRuns(hub.handle).last(hook.id), []);

  await noteDeliveries(hub);
  hub.passTime(MINUTE);
  await sendEvent(hub.address, hook.id, forged);
  await noteDeliveries(hub);

  const [newest, other, ...more] = sourceRuns(hub.handle).last(hook.id);
  assert.deepEqual([newest?.times, newest?.failed, newest?.endedAt], [4, 1, hub.now()]);
  assert.match(newest?.note ?? '', /signature was not valid/);
  assert.match(other?.note ?? '', /“id” is required/);
  assert.deepEqual([more, sourceRuns(hub.handle).last(notes)], [[], []]);
  const page = (await ada.page(`/sources/${hook.id}`)).text;
  assert.match(page, /The signature was not valid[^]*4 times/);
  assert.ok(page.includes('Last 30 days: only refusals on 1 day.'));
});
