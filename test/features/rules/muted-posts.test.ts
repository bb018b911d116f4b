// Protects muting: a muted post is in no list, count, search or app, but in a list of its own, and comes back as it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutedPosts } from '../../../src/features/reading/entry-store.ts';
import { changeRule, removeRule } from '../../../src/features/rules/change-rule.ts';
import { rules } from '../../../src/features/rules/rule-store.ts';
import { HOUR, MINUTE } from '../../../src/platform/clock.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { nextTurn } from '../../../src/platform/turns.ts';
import { addFollow, addNotes, addPost, foundTitles, itemsAt, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { appOf } from '../../support/reader-app.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { addPosts } from '../../support/stored-posts.ts';

const titlesOf = async (client: Client, query: string) =>
  (await itemsAt<{ title: string }>(client, `/api/posts?${query}`)).map(({ title }) => title).toSorted();

type Reading = { unread: number; starred: number; folders: { unread: number; sources: { unread: number }[] }[] };

async function countsOf(client: Client): Promise<number[]> {
  const { unread, starred, folders } = (await client.get('/api/reading')).json<Reading>();
  return [unread, starred, ...folders.map((folder) => folder.unread)];
}

test('a muted post is in no list, count or search, but in the list of muted posts, and comes back as it was', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  await addFollow(ben, sourceId, { folder: 'Ada' });
  const rule = async (match: string, act: string) => (await ben.post('/api/rules', { match, act })).json<{ id: number }>().id;
  const [muting, again] = [await rule('sponsored', 'mute'), await rule('"sponsored toad"', 'mute')];
  await rule('sponsored', 'star');
  for (const title of ['Owl', 'Sponsored newt', 'Sponsored toad']) await addPost(ada, sourceId, title);
  const lists = async () => [await titlesOf(ben, 'view=unread'), await titlesOf(ben, 'view=list'), await titlesOf(ben, `view=list&source=${sourceId}`),
    await titlesOf(ben, 'view=unread&folder=Ada'), await foundTitles(ben, 'a', '&view=list'), await foundTitles(ben, 'text', '&view=unread')];

  const shown = ['Owl'];
  assert.deepEqual(await lists(), [shown, shown, shown, shown, [], shown]);
  assert.deepEqual([await titlesOf(ben, 'view=starred'), await countsOf(ben)], [[], [1, 0, 1]]);
  assert.deepEqual(await titlesOf(ben, 'view=muted'), ['Sponsored newt', 'Sponsored toad']);
  assert.deepEqual([await foundTitles(ben, 'toad', '&view=muted'), await foundTitles(ben, 'is:muted toad', '&view=list')], [['Sponsored toad'], ['Sponsored toad']]);
  assert.deepEqual((await ben.get(`/reading/fresh?source=${sourceId}&newest=0`)).json<{ fresh: number }>().fresh, 1);
  const page = (await ben.get('/muted')).text;
  assert.match(page, /<h1><span dir="auto">Muted<\/span>.*Sponsored newt/s);
  assert.equal((await ben.form('/reading/choice', { list: 'muted', choice: 'oldest all' })).headers.get('location'), '/muted');
  assert.match((await ben.get('/muted')).text, /value="oldest all" aria-pressed="true"[^]*Sponsored newt[^]*Sponsored toad/);
  assert.match(page, /brings them back\.<\/p>[^]*Sponsored newt/, 'the list says how its posts come back');
  assert.equal((await ben.get('/muted/posts/2')).status, 200);
  assert.doesNotMatch((await ada.get('/')).text, /href="\/muted"/);
  assert.deepEqual((await ada.get('/api/posts?view=list')).json<{ items: unknown[] }>().items.length, 3, 'others see the posts');
  const app = appOf(hub, 'ben');
  const ids = async (stream: string) =>
    (await app.get(`stream/items/ids?s=user/-/state/com.google/${stream}`)).json<{ itemRefs: unknown[] }>().itemRefs.length;
  assert.deepEqual([await ids('reading-list'), await ids('reading-list&xt=user/-/state/com.google/read'), await ids('starred')], [1, 1, 0]);
  assert.match((await app.get('unread-count')).text, /"max":1,.*"count":1\b/s);
  await sendJson(ben, 'DELETE', '/api/posts/2/read', {});

  assert.equal((await ben.delete(`/api/rules/${muting}`)).status, 204);
  assert.deepEqual(await titlesOf(ben, 'view=muted'), ['Sponsored toad'], 'another rule mutes this post');
  assert.deepEqual([await titlesOf(ben, 'view=unread'), await titlesOf(ben, 'view=starred')], [['Owl', 'Sponsored newt'], ['Sponsored newt']]);
  await ben.patch(`/api/rules/${again}`, { match: 'toads' });
  assert.deepEqual([await titlesOf(ben, 'view=unread'), await titlesOf(ben, 'view=muted')], [['Owl', 'Sponsored newt', 'Sponsored toad'], []]);
  assert.deepEqual(await countsOf(ben), [3, 2, 3]);
});

test('muted posts do not count as marked, and come back when their rule gets another act', async (t) => {
  const { ada, sourceId } = await hubWithOwnPosts(t);
  const { id } = (await ada.post('/api/rules', { match: 'owl', act: 'mute' })).json<{ id: number }>();
  for (let n = 0; n < 3; n++) await addPost(ada, sourceId, 'Owl');
  await sendJson(ada, 'DELETE', '/api/posts/3/read', {});

  assert.deepEqual((await ada.post('/api/reading/mark-read', { all: true })).json<{ marked: number }>().marked, 0);
  const newt = await addPost(ada, sourceId, 'Newt');
  await sendJson(ada, 'DELETE', `/api/posts/${newt}/read`, {});
  assert.deepEqual((await ada.post('/api/reading/mark-read', { all: true })).json<{ marked: number }>().marked, 1);
  assert.equal((await titlesOf(ada, 'view=muted')).length, 3);
  assert.equal((await ada.patch(`/api/rules/${id}`, { act: 'star' })).status, 200);
  assert.equal((await titlesOf(ada, 'view=muted')).length, 0);
  assert.equal((await titlesOf(ada, 'view=list')).length, 4);
  assert.deepEqual(await titlesOf(ada, 'view=unread'), ['Owl'], 'of the three posts, Ada has read the two that she left so');
});

test('many posts that are marked one by one leave the muted posts of further sources unread', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const [ben, further] = [await hub.person('ben'), await addNotes(ada, 'Further')];
  for (const id of [sourceId, further]) await addFollow(ben, id);
  const { id: rule } = (await ben.post('/api/rules', { match: 'owl', act: 'mute' })).json<{ id: number }>();
  addPosts(hub.handle, sourceId, 1, () => ({ title: 'Later', publishedAt: hub.now() + HOUR }));
  addPosts(hub.handle, sourceId, 600);
  for (const title of ['Owl', 'Newt']) await addPost(ada, further, title);

  const before = new Date(hub.now() + MINUTE).toISOString();
  assert.equal((await ben.post('/api/reading/mark-read', { all: true, before })).json<{ marked: number }>().marked, 601);
  assert.equal((await ben.delete(`/api/rules/${rule}`)).status, 204);
  assert.deepEqual(await titlesOf(ben, 'view=unread'), ['Later', 'Owl']);
});

test('muting, starring or reading one post of a row does so for the row, and notifications do not count muted posts', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  const [other, third] = [await addNotes(ada, 'Other', 'public'), await addNotes(ada, 'Third', 'public')];
  for (const id of [sourceId, other]) await addFollow(ben, id, { notify: true });
  const post = async (source: number, title: string, url: string) =>
    assert.equal((await ada.post('/api/posts', { sourceId: source, title, url: `https://news.example/${url}`, content: 'text', contentType: 'text/plain' })).status, 201);
  const { id } = (await ben.post('/api/rules', { match: 'sponsored', act: 'mute', sourceId: other })).json<{ id: number }>();
  await ben.post('/api/rules', { match: 'starry', act: 'star' });
  await ben.post('/api/rules', { match: 'stale', act: 'read' });
  await ben.post('/api/rules', { match: 'toad', act: 'notify', sourceId: other });

  await post(sourceId, 'Toad', 'toad');
  assert.deepEqual(await countsOf(ben), [1, 0, 1]);
  await post(other, 'Sponsored toad', 'toad');
  await post(sourceId, 'Toad again', 'toad');
  await addFollow(ben, third);
  await post(third, 'Toad, late', 'toad');
  assert.deepEqual([await titlesOf(ben, 'view=unread'), await countsOf(ben)], [['Toad again'], [1, 0, 1]]);
  assert.deepEqual(await titlesOf(ben, 'view=muted'), ['Toad']);
  for (const title of ['Newt', 'Stale newt']) await post(title === 'Newt' ? sourceId : third, title, 'newt');
  for (const title of ['Owl', 'Starry owl']) await post(title === 'Owl' ? sourceId : third, title, 'owl');
  assert.deepEqual([await titlesOf(ben, 'view=unread'), await countsOf(ben)], [['Owl', 'Toad again'], [2, 1, 2]]);
  assert.deepEqual(await titlesOf(ben, `view=starred&source=${sourceId}`), ['Owl']);
  const told = (await itemsAt<{ title: string }>(ben, '/api/notifications')).map(({ title }) => title);
  assert.deepEqual(told, ['4 new posts in “Notes”']);

  await ben.delete(`/api/rules/${id}`);
  assert.deepEqual([await titlesOf(ben, 'view=unread'), await titlesOf(ben, 'view=muted')], [['Owl', 'Toad', 'Toad again'], []]);
});

test('a rule keeps its terms until all its muted posts have come back, so that a kill in between mutes nothing for ever', async (t) => {
  const { hub, sourceId } = await hubWithOwnPosts(t);
  const [{ handle }, key] = [hub, { id: 1, accountId: 1 }];
  const viewer = { id: 1, role: 'admin' } as Viewer;
  rules(handle).add(1, { match: 'sponsored', act: 'mute', sourceId: null, folder: null });
  const ids = addPosts(hub, sourceId, 1_200);
  const steps = async (work: Promise<unknown>): Promise<[muted: number, match: string | undefined][]> => {
    const seen: [number, string | undefined][] = [];
    const note = () => void seen.push([mutedPosts(handle).countAmong(1, ids), rules(handle).find(key)?.match]);
    let isDone = false;
    void work.finally(() => (isDone = true));
    for (note(); !isDone; note()) await nextTurn();
    return seen.filter((now, n) => String(now) !== String(seen[n - 1]));
  };
  mutedPosts(handle).mute(ids.map((id) => [1, id, 1]));
  const changing = await steps(changeRule(handle, viewer, 1, { match: 'advert' }));
  assert.deepEqual(changing, [[700, 'sponsored'], [200, 'sponsored'], [0, 'advert']]);
  mutedPosts(handle).mute(ids.map((id) => [1, id, 1]));
  assert.deepEqual(await steps(removeRule(handle, viewer, 1)), [[700, 'advert'], [200, 'advert'], [0, undefined]]);
});
