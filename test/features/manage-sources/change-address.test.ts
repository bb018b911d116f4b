// Protects a changed address of a feed: it is looked at first, and nothing of the old address is lost or mistaken.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { syncState } from '../../../src/features/sources/sync-state-store.ts';
import { DAY } from '../../../src/platform/clock.ts';
import { addFeed, itemsAt, notificationTitles, sendJson } from '../../support/accounts.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';

const DATED = { date: 'Mon, 14 Jan 2030 12:00:00 GMT' };
const OLD: Item[] = [{ guid: '1', title: 'Old one' }, { guid: '2', title: 'The same', ...DATED, link: 'https://blog.test/same' }];
const NEW: Item[] = [{ guid: '1', title: 'New one' }, { guid: '2', title: 'Another' },
  { guid: '9', title: 'The same', content: '<p>Text of 2</p>', ...DATED, link: 'https://blog.test/same' }];

type Post = { id: number; title: string; contentHtml: string; starred: boolean; read: boolean };
type SourceShown = { url: string; state: string; stateReason: string | null; hasPassword: boolean; visibility: string };

/** Ada's feed, which has been read, and another publisher, whose site names the feed at /new. */
async function movingFeed(t: TestContext, old = OLD) {
  const followed = await followedFeed(t, old);
  const routes: Record<string, OriginHandler> = {
    '/': reply(200, { 'content-type': 'text/html' }, '<!doctype html><link rel=alternate type=application/rss+xml href=/new>'),
    '/new': serving(() => rss('Owls', NEW), { etag: '"new"' }),
  };
  const other = await startOrigin(t, routes);
  const { hub, ada, id } = followed;
  const change = (values: object) => ada.patch(`/api/sources/${id}`, values);
  const shown = async (): Promise<SourceShown> => (await ada.get(`/api/sources/${id}`)).json();
  const posts = async (): Promise<Post[]> =>
    (await itemsAt<Post>(ada, `/api/posts?source=${id}`)).toSorted((a, b) => a.id - b.id);
  return { ...followed, hub, other, routes, change, shown, posts };
}

test('if a feed’s address changes, the posts of the old address stay as they are, and no post of the new address overwrites them', async (t) => {
  const { hub, ada, other, change, shown, posts } = await movingFeed(t);
  const [same, one] = await posts();
  await sendJson(ada, 'PUT', `/api/posts/${same?.id}/star`, {});
  await sendJson(ada, 'PUT', `/api/posts/${one?.id}/read`, {});

  const answer = await change({ url: `${other.url}/` });
  assert.deepEqual([answer.status, answer.json<SourceShown>().url], [200, `${other.url}/new`]);
  await hub.work();
  await hub.work(DAY);

  const after = await posts();
  assert.deepEqual(after.map(({ title, contentHtml, starred, read }) => [title, contentHtml, starred, read]), [
    ['The same', '<p>Text of 2</p>', true, false], ['Old one', '<p>Text of 1</p>', false, true],
    ['Another', '<p>Text of 2</p>', false, false], ['New one', '<p>Text of 1</p>', false, false],
  ], 'the first two are the posts of the old address');
  assert.deepEqual(after.slice(0, 2).map(({ id }) => id), [same?.id, one?.id]);
  assert.deepEqual([(await shown()).state, other.requests.at(-1)?.headers['if-none-match']], ['active', '"new"']);
});

test('an address without a readable feed, or of another source of the owner, changes nothing', async (t) => {
  const { hub, ada, id, origin, other, change, shown } = await movingFeed(t);
  await addFeed(ada, `${other.url}/new`);
  const before = [await shown(), syncState(hub.handle).find(id)];

  const missing = await change({ url: `${other.url}/gone`, title: 'Renamed' });
  const known = await change({ url: `${other.url}/new` });
  const found = await change({ url: `${other.url}/` });
  const wrong = await change({ url: 'ftp://blog.test/' });

  assert.deepEqual([missing, known, found, wrong].map(({ status }) => status), [422, 409, 409, 422]);
  assert.match(missing.text, /answered 404/);
  assert.deepEqual([await shown(), syncState(hub.handle).find(id)], before);
  assert.equal((await change({ url: `${origin.url}/feed` })).status, 200);
  assert.deepEqual(syncState(hub.handle).find(id), before[1], 'the same address is no change');
  const notes = (await ada.post('/api/sources', { kind: 'native', title: 'Notes' })).json<{ id: number }>();
  assert.equal((await ada.patch(`/api/sources/${notes.id}`, { url: other.url })).status, 422);
});

test('errors and pauses of the old address end, unless the owner has paused the source', async (t) => {
  const { hub, feed, id, ada, other, routes, change, shown } = await movingFeed(t);
  feed.handler = reply(410, {});
  await hub.work(DAY);
  assert.equal((await shown()).state, 'paused');
  await change({ url: `${other.url}/new` });
  const state = syncState(hub.handle).find(id);
  assert.deepEqual([state?.etag, state?.bodyHash, state?.failures], [null, null, 0]);
  const moved = await shown();
  assert.deepEqual([moved.state, moved.stateReason], ['active', null]);

  await change({ paused: true });
  routes['/third'] = serving(() => rss('Owls', NEW));
  await change({ url: `${other.url}/third` });
  assert.equal((await shown()).state, 'paused');
  assert.match((await ada.get('/api/admin/audit')).text, /source\.address-changed/);
});

test('a synchronisation that is under way when the address changes stores nothing, and the new address follows', async (t) => {
  const { hub, feed, other, change, posts } = await movingFeed(t);
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  feed.handler = (request, response) => {
    asked.resolve();
    const late = Array.from({ length: 60 }, (_, n): Item => ({ guid: `${n}`, title: 'Late' })); // more than one step
    void answered.promise.then(() => serving(() => rss('Owls', late))(request, response));
  };

  const working = hub.work(DAY);
  await asked.promise;
  assert.equal((await change({ url: `${other.url}/new` })).status, 200);
  answered.resolve();
  await working;
  await hub.work(1_000);

  const titles = (await posts()).map(({ title }) => title);
  assert.deepEqual([titles.includes('Late'), titles.includes('New one')], [false, true]);
});

test('a password stays with its origin, and a new address may come with a password of its own', async (t) => {
  const { hub, ada, id, origin, other, routes, change, shown } = await movingFeed(t);
  await change({ username: 'ann', password: 'secret' });
  await hub.work();
  assert.equal((await change({ url: `${origin.url}/feed?2` })).json<SourceShown>().hasPassword, true);
  assert.ok(origin.requests.at(-1)?.headers.authorization, 'the look within the origin has the password');

  const moved = (await change({ url: `${other.url}/new` })).json<SourceShown>();
  await hub.work(DAY);
  assert.deepEqual([moved.hasPassword, moved.visibility], [false, 'private']);
  assert.ok(other.requests.length >= 2 && other.requests.every(({ headers }) => headers.authorization === undefined));

  routes['/third'] = serving(() => rss('Owls', NEW));
  await change({ url: `${other.url}/third`, username: 'ben', password: 'other' });
  assert.ok(other.requests.at(-1)?.headers.authorization);
  assert.equal((await shown()).hasPassword, true);
  assert.match((await ada.page(`/sources/${id}/settings`)).text, new RegExp(`name="url" value="${other.url}/third"`));
});

test('followers are told once, and the owner of what an administrator changes; others may not change an address', async (t) => {
  const { hub, ada, id, other, routes, shown } = await movingFeed(t);
  const bob = await hub.person('bob');
  assert.equal((await sendJson(bob, 'PUT', `/api/sources/${id}/follow`, {})).status < 300, true);
  routes['/third'] = routes['/fourth'] = serving(() => rss('Owls', NEW));

  assert.equal((await bob.patch(`/api/sources/${id}`, { url: `${other.url}/new` })).status, 403);
  for (const path of ['/new', '/third']) {
    const saved = await ada.form(`/sources/${id}`, { title: 'Owls', visibility: 'public', url: other.url + path });
    assert.deepEqual([saved.status, (await shown()).url], [303, other.url + path], saved.text);
  }
  const own = await addFeed(bob, `${other.url}/new`, { visibility: 'public' });
  assert.equal((await ada.patch(`/api/sources/${own}`, { url: `${other.url}/fourth` })).status, 200);
  const refused = await ada.form(`/sources/${id}`, { title: 'Owls', visibility: 'public', url: `${other.url}/gone` });

  assert.match(refused.text, /name="url"[^>]*aria-invalid="true"[^]*answered 404/);
  assert.deepEqual(await notificationTitles(bob), [
    '“Owls” now comes from another address, which an administrator entered',
    '“Owls” now comes from another address; you still follow it',
  ]);
  assert.deepEqual(await notificationTitles(ada), []);
});
