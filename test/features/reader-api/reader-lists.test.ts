// Protects what apps read: streams, filters, pages and items, in the order of arrival, without anything cut off silently.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addFollow, addNotes, addPost } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';
import { appOf, hexItemId, idsIn, itemId, itemIds, STATE, type ReaderApp } from '../../support/reader-app.ts';
import { addPosts } from '../../support/stored-posts.ts';

type Item = {
  id: string; title: string; summary: { content: string }; categories: string[]; published: number;
  crawlTimeMsec: string; canonical: { href: string }[]; origin: Record<string, string>;
};
type Items = { id: string; updated: number; items: Item[]; continuation?: string };

/** Ada owns two public sources; bob follows both, one in a folder, and has an app. */
async function hubWithApp(t: TestContext) {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const [news, comics] = [await addNotes(ada, 'News'), await addNotes(ada, 'Comics & more')];
  await addFollow(bob, news);
  await addFollow(bob, comics, { folder: 'Comics/Daily' });
  return { hub, ada, bob, news, comics, app: appOf(hub, 'bob') };
}

const titlesOf = async (app: ReaderApp, call: string): Promise<string[]> =>
  (await app.get(call)).json<Items>().items.map(({ title }) => title);

test('an app lists folders and subscriptions as the pages have them', async (t) => {
  const { hub, app, news, comics } = await hubWithApp(t);
  assert.deepEqual((await app.get('tag/list?output=json')).json(), {
    tags: [{ id: `${STATE}starred` }, { id: 'user/-/label/Comics/Daily', type: 'folder' }],
  });
  const { subscriptions } = (await app.get('subscription/list')).json<{ subscriptions: Record<string, unknown>[] }>();
  assert.deepEqual(subscriptions, [
    { id: `feed/${news}`, title: 'News', categories: [], url: `${hub.config.baseUrl}/sources/${news}.atom`,
      htmlUrl: `${hub.config.baseUrl}/sources/${news}` },
    { id: `feed/${comics}`, title: 'Comics & more',
      categories: [{ id: 'user/-/label/Comics/Daily', label: 'Comics/Daily' }],
      url: `${hub.config.baseUrl}/sources/${comics}.atom`, htmlUrl: `${hub.config.baseUrl}/sources/${comics}` },
  ]);
  const etag = (await app.get('tag/list')).headers.get('etag') ?? '';
  assert.equal((await hub.anybody.get('/reader/api/0/tag/list', { ...app.headers, 'if-none-match': etag })).status, 304);
});

test('streams hold the posts that pages show, newest arrival first, with the states of both', async (t) => {
  const { hub, ada, bob, app, news, comics } = await hubWithApp(t);
  const first = await addPost(ada, news, 'First');
  hub.passTime(1_000);
  const second = await addPost(ada, comics, 'Second', 'Text & more');
  await addPost(ada, await addNotes(ada, 'Not followed'), 'Elsewhere');
  assert.equal((await bob.send('PUT', `/api/posts/${first}/star`)).status, 204);
  assert.equal((await bob.send('PUT', `/api/posts/${first}/read`)).status, 204);

  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list`), [second, first]);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&r=o`), [first, second]);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=${STATE}read`), [second]);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&it=${STATE}read`), [first]);
  assert.deepEqual(await itemIds(app, `s=${STATE}read`), [first]);
  assert.deepEqual(await itemIds(app, `s=user/7/state/com.google/starred`), [first]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=${STATE}read`), []);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=${STATE}read&xt=${STATE}starred`), [second]);
  assert.deepEqual(await itemIds(app, `s=feed/${news}`), [first]);
  assert.deepEqual(await itemIds(app, `s=feed/${hub.config.baseUrl}/sources/${comics}.atom`), [second]);
  assert.deepEqual(await itemIds(app, `s=user/-/label/Comics/Daily`), [second]);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=user/-/label/Comics/Daily`), [first]);
  assert.deepEqual(await itemIds(app, `s=${STATE}broadcast`), []);
  for (const stream of [`${STATE}everything`, 'feed/999', 'user/-/label/None', '', 'nonsense']) {
    const answer = await app.get(`stream/items/ids?s=${stream}`);
    assert.deepEqual([answer.status, answer.text], [400, 'Unknown stream.\n'], stream);
  }
  const many = await app.get(`stream/items/ids?s=${STATE}reading-list${'&xt=feed/1'.repeat(6)}`);
  assert.deepEqual([many.status, many.text], [400, 'A request may have xt at most 5 times.\n']);

  const { id, updated, items } = (await app.get('stream/contents/user/-/label/Comics%2FDaily?n=5')).json<Items>();
  assert.deepEqual([id, updated], ['user/-/label/Comics/Daily', hub.now() / 1000]);
  assert.equal(items[0]?.id, `tag:google.com,2005:reader/item/${hexItemId(second)}`);
  assert.match(items[0]?.summary.content ?? '', /Text &amp; more/);
  assert.deepEqual(items[0]?.categories, [`${STATE}reading-list`, 'user/-/label/Comics/Daily']);
  assert.deepEqual(items[0]?.origin,
    { streamId: `feed/${comics}`, title: 'Comics & more', htmlUrl: `${hub.config.baseUrl}/sources/${comics}` });
  assert.equal(items[0]?.crawlTimeMsec, String(hub.now()));
  assert.deepEqual(await titlesOf(app, `stream/contents/feed%2F${news}?n=20`), ['First']);
  assert.deepEqual(await titlesOf(app, 'stream/contents'), ['Second', 'First']);
});

test('an app lists and marks the posts of a source that pages hide from the lists of all sources', async (t) => {
  const { ada, bob, app, news } = await hubWithApp(t);
  const post = await addPost(ada, news, 'Hidden');
  await addFollow(bob, news, { hideGlobally: true });
  const unread = `s=${STATE}reading-list&xt=${STATE}read`;
  assert.deepEqual(await itemIds(app, unread), [post]);
  await app.post('mark-all-as-read', `s=${STATE}reading-list`);
  assert.deepEqual(await itemIds(app, unread), []);
});

test('the starred posts outside one stream are those of all other sources, followed or not', async (t) => {
  const { ada, bob, app, news, comics } = await hubWithApp(t);
  const posts: number[] = [];
  for (const source of [news, comics, await addNotes(ada, 'Not followed')]) posts.push(await addPost(ada, source));
  for (const id of posts) assert.equal((await bob.send('PUT', `/api/posts/${id}/star`)).status, 204);
  const [a = 0, b = 0, c = 0] = posts;
  assert.deepEqual(await itemIds(app, `s=${STATE}starred`), [c, b, a]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=feed/${news}`), [c, b]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=feed/${news}&xt=user/-/label/Comics/Daily`), [c]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&it=feed/${news}`), [a]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=user/-/label/Comics/Daily&it=feed/${news}`), [a]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=feed/999`), [c, b, a]);
});

test('an unread count names each source, folder and the whole list, with the last arrival, or 0 without posts', async (t) => {
  const { hub, ada, bob, app, news, comics } = await hubWithApp(t);
  const empty = await addNotes(ada, 'Empty');
  await addFollow(bob, empty);
  await addPost(ada, news);
  await addPost(ada, comics);
  const newestItemTimestampUsec = `${hub.now()}000`;
  const { max, unreadcounts } = (await app.get('unread-count?all=true')).json<{ max: number; unreadcounts: object[] }>();
  assert.equal(max, 1_000);
  assert.deepEqual(unreadcounts, [
    { id: `feed/${comics}`, count: 1, newestItemTimestampUsec },
    { id: 'user/-/label/Comics/Daily', count: 1, newestItemTimestampUsec },
    { id: `${STATE}reading-list`, count: 2, newestItemTimestampUsec },
    { id: `feed/${empty}`, count: 0, newestItemTimestampUsec: '0' },
    { id: `feed/${news}`, count: 1, newestItemTimestampUsec },
  ]);
});

test('times count by arrival, both ends included, whatever a post says of its publishing', async (t) => {
  const { hub, app, news } = await hubWithApp(t);
  const start = hub.now();
  const ids = addPosts(hub, news, 4, (n) => ({ publishedAt: 10_000 - n, createdAt: start + n * 10_000 }));
  const seconds = (n: number): number => start / 1000 + n * 10;
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&ot=${seconds(2)}`), ids.slice(1).reverse());
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&nt=${seconds(2)}`), ids.slice(0, 2).reverse());
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&ot=${seconds(5)}`), []);
});

test('pages of ids go on by their continuation through 10,500 posts, and end without an empty page', async (t) => {
  const { hub, app, news, comics } = await hubWithApp(t);
  const ids = [...addPosts(hub, news, 5_500), ...addPosts(hub, comics, 5_000)];
  const pages: number[][] = [];
  for (let c = ''; ;) {
    const answer = await app.get(`stream/items/ids?s=${STATE}reading-list&n=200000&c=${c}`);
    const { continuation } = answer.json<{ continuation?: string }>();
    pages.push(idsIn(answer));
    if (continuation === undefined) break;
    assert.match(continuation, /^\d+$/);
    c = continuation;
  }
  assert.deepEqual(pages.map(({ length }) => length), [10_000, 500]);
  assert.deepEqual(pages.flat(), ids.toReversed());
  const last = (await app.get(`stream/items/ids?s=feed/${news}&n=2500&r=o&c=${itemId(ids[2_999] ?? 0)}`)).json();
  assert.equal('continuation' in last, false, 'a full last page has no continuation');
});

test('an app that asks for 1,500 posts by their ids, in three forms of ids, gets all these posts; unknown ids are left out', async (t) => {
  const { hub, ada, app, news } = await hubWithApp(t);
  const hidden = await addPost(ada, await addNotes(ada, 'Diary', 'private'), 'Secret');
  const ids = addPosts(hub, news, 1_500, (n) => ({ title: `Post ${n}` }));
  const long = (id: number): string => `tag:google.com,2005:reader/item/${hexItemId(id).toUpperCase().replace(/^0+/, '')}`;
  const forms = ids.map((id, n) => (n % 3 === 0 ? itemId(id) : n % 3 === 1 ? hexItemId(id) : long(id)));
  const body = [...forms, itemId(hidden), itemId(10 ** 9), '42', 'nonsense', '-5'].map((id) => `i=${id}`).join('&');
  const { items, continuation } = (await app.post('stream/items/contents', body)).json<Items>();
  assert.deepEqual(items.map(({ title }) => title), ids.map((_, n) => `Post ${n + 1}`));
  assert.equal(continuation, undefined);
  assert.deepEqual((await app.post('stream/items/contents', '')).json<Items>().items, []);
  const tooMany = await app.post('stream/items/contents', 'i=1&'.repeat(20_001));
  assert.deepEqual([tooMany.status, tooMany.text], [413, 'A request may have at most 20000 parameters.\n']);
});

test('a page of very long posts ends early with a continuation, and the next page goes on', async (t) => {
  const { hub, app, news } = await hubWithApp(t);
  addPosts(hub, news, 15, (n) => ({ title: `Post ${n}`, content: 'x'.repeat(400_000) }));
  const titles: string[] = [];
  let pages = 0;
  for (let c: string | undefined = ''; c !== undefined; pages++) {
    const { items, continuation }: Items = (await app.get(`stream/contents?n=1000&c=${c}`)).json<Items>();
    assert.ok(items.length > 0 && items.length <= 10);
    titles.push(...items.map(({ title }) => title));
    c = continuation;
  }
  assert.deepEqual(titles, Array.from({ length: 15 }, (_, n) => `Post ${15 - n}`));
  assert.equal(pages, 2);
});

test('untitled posts get a title, and posts without a link the address of their page', async (t) => {
  const { hub, app, news } = await hubWithApp(t);
  const [id] = addPosts(hub, news, 1, () => ({ title: '', content: '' }));
  const [item] = (await app.get('stream/contents')).json<Items>().items;
  assert.equal(item?.title, 'Untitled');
  assert.deepEqual(item.canonical, [{ href: `${hub.config.baseUrl}/posts/${id}` }]);
});

test('a source that becomes private or is unfollowed leaves the app’s lists and items', async (t) => {
  const { ada, bob, app, news, comics } = await hubWithApp(t);
  const posts = [await addPost(ada, news), await addPost(ada, comics)];
  await ada.patch(`/api/sources/${news}`, { visibility: 'private' });
  await bob.delete(`/api/sources/${comics}/follow`);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list`), []);
  assert.deepEqual((await app.get('subscription/list')).json(), { subscriptions: [] });
  const named = posts.map((id) => `i=${itemId(id)}`).join('&');
  assert.deepEqual((await app.post('stream/items/contents', named)).json<Items>().items, []);
});
