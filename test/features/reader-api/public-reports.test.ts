// Protects what apps of the Google Reader API get: what public reports of FreshRSS, Miniflux and others ask for.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addFeed, addFollow, itemsAt } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { appOf, edit, hexItemId, idsIn, itemId, itemIds, STATE, type ReaderApp } from '../../support/reader-app.ts';

/** Rows that stay as they are, each with the reason; the answer is clear. */
const STAYS = {
  H14b: 'friends are no part of the hub: 404',
  H19: 'no app in use searches by the API: 404',
  H20b: 'a cookie of SID alone signs no app in: 401, and apps of today send the header',
};

type World = { hub: Hub; ada: Client; app: ReaderApp; id: number; url: string; posts: number[] };

const LABEL = 'user/-/label/Comics/Daily & 漫画';
const ESCAPED = encodeURIComponent('Comics/Daily & 漫画');

/** Ada and her app, with twelve posts of a feed in one folder; the newest comes first. */
async function worldOf(t: TestContext): Promise<World> {
  const { hub, ada } = await hubWith(t, ['ada']);
  const items = Array.from({ length: 12 }, (_, n) => ({ guid: String(12 - n), title: `H ${12 - n}` }));
  const url = `${(await startOrigin(t, serving(() => rss('Feed', items)))).url}/h/feed?179`;
  const id = await addFeed(ada, url);
  await addFollow(ada, id, { folder: 'Comics/Daily & 漫画' });
  const posts = (await itemsAt<{ id: number }>(ada, `/api/posts?source=${id}`)).map((post) => post.id);
  return { hub, ada, app: appOf(hub, 'ada'), id, url, posts };
}

const statesOf = async ({ ada }: World, ids: number[]): Promise<[boolean, boolean][]> => Promise.all(ids.map(async (id) => {
  const { read, starred } = (await ada.get(`/api/posts/${id}`)).json<{ read: boolean; starred: boolean }>();
  return [read, starred];
}));

async function answersItem({ app, posts: [post = 0] }: World, id: string): Promise<void> {
  const { items } = (await app.post('stream/items/contents', `i=${id}`)).json<{ items: { id: string }[] }>();
  assert.deepEqual(items.map((item) => item.id), [`tag:google.com,2005:reader/item/${hexItemId(post)}`]);
}

async function answers(status: number, answer: Promise<Answer>): Promise<void> {
  assert.equal((await answer).status, status);
}

const LONG = 'tag:google.com,2005:reader/item/';

const CASES: Record<string, (world: World) => Promise<unknown>> = {
  'H00: an app signs in with an app password': async ({ hub, app }) => {
    const { text } = await hub.anybody.form('/accounts/ClientLogin', { Email: 'ada', Passwd: app.password });
    assert.equal(text, `SID=${app.password}\nLSID=null\nAuth=${app.password}\n`);
  },
  'H01 (FreshRSS#7057): two states are added at once': async (world) => {
    const ids = world.posts.slice(0, 1);
    await edit(world.app, ids, `a=${STATE}read&a=${STATE}starred`);
    assert.deepEqual(await statesOf(world, ids), [[true, true]]);
  },
  'H01b (FreshRSS#7057): two states are taken away at once': async (world) => {
    const ids = world.posts.slice(0, 1);
    await edit(world.app, ids, `r=${STATE}read&r=${STATE}starred`);
    assert.deepEqual(await statesOf(world, ids), [[false, false]]);
  },
  'H02 (miniflux#2172): many posts are marked at once': async (world) => {
    await edit(world.app, world.posts, `a=${STATE}read`);
    assert.ok((await statesOf(world, world.posts)).every(([isRead]) => isRead));
    await edit(world.app, world.posts, `r=${STATE}read`);
  },
  'H03 (FreshRSS#3389): contents without a stream are those of the whole list': async ({ app, posts }) => {
    assert.equal((await app.get('stream/contents?n=50')).json<{ items: object[] }>().items.length, posts.length);
  },
  'H04 (FreshRSS#3400): edit-tag by GET is refused, not answered OK': ({ app }) => answers(404, app.get('edit-tag?a=x')),
  'H06-dec (FreshRSS#2956, miniflux#2960): an item id in decimal form': (world) => answersItem(world, itemId(world.posts[0] ?? 0)),
  'H06-hex: an item id in hex': (world) => answersItem(world, hexItemId(world.posts[0] ?? 0)),
  'H06-long: an item id in long form': (world) => answersItem(world, LONG + hexItemId(world.posts[0] ?? 0)),
  'H06-escaped: an item id in long form, escaped': (world) =>
    answersItem(world, encodeURIComponent(LONG + hexItemId(world.posts[0] ?? 0))),
  'H06-unpadded: an item id in long form without zeros': (world) =>
    answersItem(world, LONG + hexItemId(world.posts[0] ?? 0).replace(/^0+/, '')),
  'H06-upper: an item id in capital hex': (world) => answersItem(world, hexItemId(world.posts[0] ?? 0).toUpperCase()),
  'H07: a folder whose name has a slash and Chinese signs': async ({ app }) => {
    const { subscriptions } = (await app.get('subscription/list')).json<{ subscriptions: { categories: object[] }[] }>();
    assert.deepEqual(subscriptions[0]?.categories, [{ id: LABEL, label: 'Comics/Daily & 漫画' }]);
  },
  'H08: contents of this folder, its name escaped': async ({ app, posts }) => {
    const { id, items } = (await app.get(`stream/contents/user/-/label/${ESCAPED}?n=50`)).json<{ id: string; items: object[] }>();
    assert.deepEqual([id, items.length], [LABEL, posts.length]);
  },
  'H08b: contents of this folder, the slash as it is': async ({ app, posts }) => {
    const { items } = (await app.get(`stream/contents/user/-/label/${ESCAPED.replace('%2F', '/')}?n=50`)).json<{ items: object[] }>();
    assert.equal(items.length, posts.length);
  },
  'H09: the unread ids of a folder': async (world) => {
    const [first = 0, ...others] = world.posts;
    await edit(world.app, [first], `a=${STATE}read`);
    assert.deepEqual(await itemIds(world.app, `s=user/-/label/${ESCAPED}&xt=${STATE}read&n=50`), others);
  },
  'H10: three pages of ids have each once, and the last has no continuation': async ({ app, posts }) => {
    const found: number[][] = [];
    for (let next: string | undefined = ''; next !== undefined && found.length < 4;) {
      const page: Answer = await app.get(`stream/items/ids?s=${STATE}reading-list&n=5${next && `&c=${next}`}`);
      found.push(idsIn(page));
      next = page.json<{ continuation?: string }>().continuation;
    }
    assert.deepEqual(found.map(({ length }) => length), [5, 5, 2]);
    assert.deepEqual(found.flat(), posts);
  },
  'H11: contents of a feed by its address': async ({ app, url, posts }) => {
    const { items } = (await app.get(`stream/contents/feed/${encodeURIComponent(url)}?n=50`)).json<{ items: object[] }>();
    assert.equal(items.length, posts.length);
  },
  'H12: quickadd of a feed that is followed names it': async ({ app, url, id }) => {
    const added = (await app.post(`subscription/quickadd?quickadd=${encodeURIComponent(url)}`)).json();
    assert.deepEqual([added['numResults'], added['streamId']], [1, `feed/${id}`]);
  },
  'H13: mark-all-as-read with an old time marks nothing': async (world) => {
    const { text } = await world.app.post('mark-all-as-read', `s=${STATE}reading-list&ts=1000000`);
    assert.equal(text, 'OK');
    assert.deepEqual(await statesOf(world, world.posts.slice(1, 2)), [[false, false]]);
  },
  'H14 (News+, gReader): preferences are there': ({ app }) => answers(200, app.get('preference/list')),
  [`H14b stays: ${STAYS.H14b}`]: ({ app }) => answers(404, app.get('friend/list')),
  'H15: the stream of broadcasts is empty': async ({ app }) => assert.deepEqual(await itemIds(app, `s=${STATE}broadcast`), []),
  'H16 (Reeder): the number of posts of a stream': async ({ app, posts }) =>
    assert.equal((await app.get(`stream/items/count?s=${STATE}reading-list`)).text.trim(), String(posts.length)),
  'H17 (Readrops): contents of items by GET': async ({ app, posts }) =>
    answers(200, app.get(`stream/items/contents?i=${itemId(posts[0] ?? 0)}`)),
  'H18: an app that asks for XML gets JSON': async ({ app }) =>
    assert.ok('unreadcounts' in (await app.get('unread-count?output=xml')).json()),
  [`H19 stays: ${STAYS.H19}`]: ({ app }) => answers(404, app.get('search/items/ids?q=H')),
  'H20 (FreshRSS#3606): capital letters in the header': ({ hub, app }) =>
    answers(200, hub.anybody.get('/reader/api/0/user-info', { authorization: `GOOGLELOGIN AUTH=${app.password}` })),
  [`H20b stays: ${STAYS.H20b}`]: ({ hub, app }) =>
    answers(401, hub.anybody.get('/reader/api/0/user-info', { cookie: `SID=${app.password}` })),
};

test('what apps ask for', async (t) => {
  const world = await worldOf(t);
  for (const [name, run] of Object.entries(CASES)) await t.test(name, async () => void await run(world));
});
