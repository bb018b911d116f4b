// Protects the room of everybody: the contents of one account's sources stop growing at the quota, and lose nothing.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { watchContentQuotas } from '../../../src/features/sources/content-quota.ts';
import { contentUsage } from '../../../src/features/sources/content-usage-store.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { addFeed, addNotes, addPost, itemsAt, notificationTitles } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { conditionsOn } from '../../support/conditions.ts';
import { assertContentIsCounted } from '../../support/content-usage.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { countRows, removeRows } from '../../support/stored-rows.ts';
import { addFiles, assertNothingKept } from '../../support/uploads.ts';
import { eventOf, makeWebhook, metric, publish, sendEvent } from '../../support/webhooks.ts';

const QUOTA = 100_000;
const LONG = 'x'.repeat(20_000);

/** A hub whose bob, a member, has a feed, a webhook and a place for posts of his own. */
async function hubWithQuota(t: TestContext, quota = QUOTA) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob'], { CONTENT_QUOTA_BYTES: String(quota) });
  const items: Item[] = [{ guid: 'first' }];
  const origin = await startOrigin(t, serving(() => rss('Owls', items)));
  const feed = await addFeed(bob, `${origin.url}/feed`, { visibility: 'private' });
  const hook = await makeWebhook(bob);
  const notes = await addNotes(bob);
  const send = async (type: string, data: object, id?: string): Promise<number> =>
    (await sendEvent(hub.address, hook.id, eventOf(hub, hook.secret, type, data, id))).status;
  const write = (client: Client = bob, sourceId = notes): Promise<number> =>
    client.post('/api/posts', { sourceId, title: 'A post', content: LONG }).then(({ status }) => status);
  return { hub, ada, bob, items, origin, feed, hook, notes, send, write };
}

/** Long posts by the webhook until they are refused; how many were accepted. */
async function fill(send: (type: string, data: object) => Promise<number>): Promise<number> {
  for (let n = 0; n < 50; n++) {
    const status = await send('post.published', { id: `long-${n}`, content_html: LONG });
    if (status !== 202) return assert.equal(status, 507), n;
  }
  assert.fail('the quota bounds nothing');
}

test('at the quota a feed stops and says why, posts are refused, and all goes on once there is room', async (t) => {
  const { hub, ada, bob, items, origin, feed, notes, send, write } = await hubWithQuota(t);
  const more = await addFeed(bob, `${origin.url}/more`);
  const postId = await addPost(bob, notes);
  await send('post.published', { id: 'short', content_html: 'x' });
  const sync = async (): Promise<{ state: string; stateReason: string }> => {
    hub.passTime(MINUTE);
    for (const id of [feed, more]) await bob.post(`/api/sources/${id}/sync`);
    await hub.work();
    return (await bob.get(`/api/sources/${feed}`)).json();
  };

  assert.ok(await fill(send) >= 4);
  const posts = (): number => countRows(hub, 'posts');
  const before = [posts(), origin.requests.length];
  items.push({ guid: 'second' });
  const { state, stateReason } = await sync();
  assert.equal(state, 'failing');
  assert.match(stateReason, /limit of space for contents/);
  assert.match((await bob.page(`/sources/${feed}`)).text, /Failing since .*: the sources of this feed’s owner/);
  assert.match((await bob.page('/sources')).text, /New posts wait until you\s+delete posts or sources/);
  assert.deepEqual([posts(), origin.requests.length], before, 'nothing was fetched, and nothing removed');

  assert.equal(await write(), 507);
  assert.equal((await bob.patch(`/api/posts/${postId}`, { content: LONG })).status, 507);
  assert.equal((await bob.patch(`/api/posts/${postId}`, { content: 'x' })).status, 200, 'shorter');
  assert.equal((await bob.post('/api/sources', { kind: 'feed', url: `${origin.url}/third` })).status, 507);
  assert.equal(await send('ping', {}), 507);
  assert.equal(await send('post.deleted', { id: 'never there' }), 507);
  assert.equal(await send('post.deleted', { id: 'short' }), 202, 'a deletion makes room');
  assert.equal(await metric(hub, 'service_limits_refused_total{limit="content-quota"}'), 6);
  for (let times = 0; times < 3; times++) await sync();
  const told = (await notificationTitles(bob, '?only=urgent')).filter((title) => title.includes('have reached the limit'));
  assert.equal(told.length, 1, 'told once');
  assert.match((await ada.page('/admin')).text, /Sources of an account have stopped/);
  assert.deepEqual(conditionsOn(hub.handle, 'Content quota'), ['content-quota']);
  assert.equal(await write(ada, await addNotes(ada)), 201, 'it is bob’s alone');

  for (let n = 0; n < 3; n++) assert.equal(await send('post.deleted', { id: `long-${n}` }), 202);
  await hub.work(10 * SECOND);
  await hub.work();
  assert.equal((await bob.get(`/api/sources/${feed}`)).json()['state'], 'active');
  assert.equal((await itemsAt(bob, `/api/posts?source=${feed}`)).length, 2);
  assert.equal(await write(), 201);
  const shown = (await ada.page('/admin')).text.replace(/not sent: [^<]*/, ''); // the tile of alerts names the last one
  assert.doesNotMatch(shown, /Sources of an account have stopped/);
  assert.equal((await itemsAt(bob, `/api/posts?source=${more}`)).length, 2);
  assertContentIsCounted(hub.db);
});

test('at the quota an edit stores no more than before, also of what is added to the markup, the title and files', async (t) => {
  const { hub, bob, notes, send } = await hubWithQuota(t);
  const links = '<a href="https://x.test">x</a>'.repeat(500);
  const postId = await addPost(bob, notes, 'A', 'x'.repeat(links.length));
  const change = (values: object): Promise<number> => bob.patch(`/api/posts/${postId}`, values).then(({ status }) => status);
  await fill(send);

  assert.equal(await change({ contentType: 'text/html', content: links }), 507, 'each link gets attributes');
  assert.equal(await change({ title: 'A longer title' }), 507);
  assert.equal((await addFiles(hub, bob, postId, [{ filename: 'a.txt', data: 'text' }])).status, 507);
  assertNothingKept(hub, countRows(hub, 'posts'));
  assert.equal(await change({ content: 'x' }), 200);
});

test('a large feed stops within its document, at most one step beyond the quota', async (t) => {
  const { hub, items, feed } = await hubWithQuota(t);
  items.push(...Array.from({ length: 200 }, (_, n) => ({ guid: `n${n}`, content: LONG })));
  await hub.work(24 * 60 * MINUTE);
  await hub.work();

  const { bytes = NaN } = contentUsage(hub.handle).of(2) ?? {};
  assert.ok(bytes >= QUOTA && bytes < QUOTA + 1_000_000, `${bytes} bytes`);
  assert.equal(sources(hub.handle).find(feed)?.state, 'failing');
});

test('administrators have no bound, and with 0 nobody has one; who becomes an administrator goes on', async (t) => {
  const { hub, ada, send, write } = await hubWithQuota(t);
  const notes = await addNotes(ada);
  for (let n = 0; n < 6; n++) assert.equal(await write(ada, notes), 201);
  await fill(send);
  watchContentQuotas(hub.handle);
  assert.equal((await ada.patch('/api/admin/accounts/2', { role: 'admin', currentPassword: hub.password })).status, 200);
  assert.equal(await write(), 201);
  watchContentQuotas(hub.handle);
  assert.equal(contentUsage(hub.handle).full().n, 0);

  const unbounded = await hubWithQuota(t, 0);
  for (let n = 0; n < 6; n++) assert.equal(await unbounded.write(), 201);
});

test('what contents take is right after every change: edits, files, deletions, transfers, removed sources', async (t) => {
  const { hub, ada, bob, items, feed, hook, notes } = await hubWithQuota(t, 0);
  const check = (message: string): void => assertContentIsCounted(hub.db, message);
  check('at first');
  const post = await addPost(bob, notes, 'Title', 'Äpfel');
  await bob.patch(`/api/posts/${post}`, { title: 'Another', content: 'Birnen und mehr', url: 'https://x.test/' });
  check('an edit');
  const enclosure = '<enclosure url="https://x.test/a.mp3" type="audio/mpeg" length="1"/>';
  items.push({ guid: 'b', content: '<img src="https://x.test/i.png">', extra: enclosure });
  for (const change of ['new', 'changed']) {
    items[1] = { ...items[1], guid: 'b', title: change, content: change };
    await hub.work(24 * 60 * MINUTE);
    check(`a ${change} post of a feed`);
  }
  await publish(hub, hook, 'post.published', { id: 'a', content_html: 'a', attachments: [{ url: 'https://x.test/a', mime_type: 'a/b' }] });
  await publish(hub, hook, 'post.deleted', { id: 'a' });
  await publish(hub, hook, 'ping', {});
  check('events');
  await hub.work(8 * 24 * 60 * MINUTE);
  check('events that are forgotten');
  await bob.delete(`/api/posts/${post}`);
  await ada.post(`/api/sources/${feed}/transfer`, { username: 'ada' });
  check('a transfer');
  await ada.delete(`/api/sources/${feed}`);
  removeRows(hub, 'webhook_events');
  sources(hub.handle).hide(hook.id);
  sources(hub.handle).delete(hook.id);
  check('a source that goes with its rows');
  assert.ok((contentUsage(hub.handle).of(2)?.bytes ?? 0) > 0, 'a tombstone is left');
});
