// Protects what apps read: streams, filters, pages and items, in the order of arrival, without anything cut off silently.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addFollow, addNotes, addPost, itemsAt } from '../../support/accounts.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { hubWith } from '../../support/hub.ts';
import { appOf, edit, hexItemId, idsIn, itemId, itemIds, STATE, type ReaderApp } from '../../support/reader-app.ts';
import { addPosts, storedPosts } from '../../support/stored-posts.ts';
import { parseStrictXml } from '../../support/strict-xml.ts';

type Item = {
  id: string; title: string; summary: { content: string }; categories: string[]; published: number;
  crawlTimeMsec: string; canonical: { href: string }[]; origin: Record<string, string>;
};
const NO_FOLDER = 'user/-/label/Uncategorized';

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
    tags: [{ id: `${STATE}starred` }, ...['Comics/Daily', 'Uncategorized'].map((name) => ({ id: `user/-/label/${name}`, type: 'folder' }))],
  });
  const { subscriptions } = (await app.get('subscription/list')).json<{ subscriptions: Record<string, unknown>[] }>();
  assert.deepEqual(subscriptions, [
    { id: `feed/${news}`, title: 'News', categories: [{ id: NO_FOLDER, label: 'Uncategorized' }], url: `${hub.config.baseUrl}/sources/${news}.atom`,
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

test('the starred posts outside one stream are those of all other followed sources', async (t) => {
  const { ada, bob, app, news, comics } = await hubWithApp(t);
  const posts: number[] = [];
  for (const source of [news, comics, await addNotes(ada, 'Not followed')]) posts.push(await addPost(ada, source));
  for (const id of posts) assert.equal((await bob.send('PUT', `/api/posts/${id}/star`)).status, 204);
  const [a = 0, b = 0] = posts;
  assert.deepEqual(await itemIds(app, `s=${STATE}starred`), [b, a]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=feed/${news}`), [b]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=feed/${news}&xt=user/-/label/Comics/Daily`), []);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&it=feed/${news}`), [a]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=user/-/label/Comics/Daily&it=feed/${news}`), [a]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred&xt=feed/999`), [b, a]);
});

test('no stream has a post of a source that subscription/list has not; the star of such a post stays on the pages and in the export', async (t) => {
  const { hub, ada, bob, app, news, comics } = await hubWithApp(t);
  const [never, unfollowed, hidden] = [await addNotes(ada, 'Never followed'), await addNotes(ada, 'Unfollowed'), await addNotes(ada, 'Hidden')];
  for (const source of [unfollowed, hidden]) await addFollow(bob, source);
  const link = (): { url: string; createdAt: number } => ({ url: 'https://a.test/', createdAt: hub.now() });
  const sources = [never, unfollowed, hidden, news, comics];
  const posts = sources.flatMap((source) => addPosts(hub, source, 2, source === never || source === news ? link : () => ({ createdAt: hub.now() })));
  for (const id of posts) assert.equal((await bob.send('PUT', `/api/posts/${id}/star`)).status, 204);
  for (const id of posts.filter((_, n) => n % 2 === 0)) await bob.send('PUT', `/api/posts/${id}/read`);
  await bob.delete(`/api/sources/${unfollowed}/follow`);
  await ada.patch(`/api/sources/${hidden}`, { visibility: 'private' });

  const { subscriptions } = (await app.get('subscription/list')).json<{ subscriptions: { id: string }[] }>();
  const listed = subscriptions.map(({ id }) => id).sort();
  const streams = ['starred', 'reading-list', 'read', 'unread'].map((state) => STATE + state);
  const queries = [...streams, ...streams.map((stream) => `${STATE}starred&it=${stream}`), `${STATE}starred&xt=feed/${never}`];
  const itemsOf = async (answer: ReturnType<ReaderApp['get']>) => (await answer).json<Items>().items;
  for (const query of queries) {
    const items = await itemsOf(app.get(`stream/contents?s=${query}`));
    assert.deepEqual([...new Set(items.map(({ origin }) => origin['streamId']))].sort(), listed, query);
    assert.equal((await itemIds(app, `s=${query}`)).length, items.length, query);
  }
  const named = await itemsOf(app.post('stream/items/contents', posts.map((id) => `i=${itemId(id)}`).join('&')));
  assert.deepEqual(named.map(({ id }) => id), posts.slice(6).map((id) => `tag:google.com,2005:reader/item/${hexItemId(id)}`));

  const stays = posts.slice(0, 4);
  const onPages = (await itemsAt<{ id: number }>(bob, '/api/posts?view=starred')).map(({ id }) => id);
  const { stars } = (await bob.get('/api/account/export')).json<{ stars: { postId: number }[] }>();
  assert.deepEqual(stays.filter((id) => !onPages.includes(id) || !stars.some(({ postId }) => postId === id)), []);
});

test('a post of 1 January 1970 in a zone east of Greenwich has the time 0 for apps', async (t) => {
  const extra = '<updated xmlns="http://www.w3.org/2005/Atom">1970-01-01T00:30:00+09:00</updated>';
  const { hub } = await followedFeed(t, [{ guid: 'a', date: 'Thu, 01 Jan 1970 00:00:00 +0200', extra }]);
  await hub.work();
  assert.ok((storedPosts(hub)[0]?.publishedAt ?? 0) < 0);
  const { text } = await appOf(hub, 'ada').get('stream/contents');
  assert.match(text, /"published":0,/);
  assert.doesNotMatch(text, /:"?-/);
});

test('an unread count names each source, folder and the whole list, with the last arrival, or 0 without posts', async (t) => {
  const { hub, ada, bob, app, news, comics } = await hubWithApp(t);
  const empty = await addNotes(ada, 'Empty');
  await addFollow(bob, empty);
  await addPost(ada, news);
  await addPost(ada, comics);
  const newestItemTimestampUsec = `${hub.now()}000`;
  const { max, unreadcounts } = (await app.get('unread-count?all=true')).json<{ max: number; unreadcounts: object[] }>();
  assert.equal(max, 2);
  assert.deepEqual(unreadcounts, [
    { id: `feed/${comics}`, count: 1, newestItemTimestampUsec },
    { id: 'user/-/label/Comics/Daily', count: 1, newestItemTimestampUsec },
    { id: `${STATE}reading-list`, count: 2, newestItemTimestampUsec },
    { id: `feed/${empty}`, count: 0, newestItemTimestampUsec: '0' },
    { id: NO_FOLDER, count: 1, newestItemTimestampUsec },
    { id: `feed/${news}`, count: 1, newestItemTimestampUsec },
  ]);
});

test('unread counts and the number of a stream’s posts go past all limits of the pages', async (t) => {
  const { hub, app, news, comics } = await hubWithApp(t);
  const posts = addPosts(hub, news, 5_200, () => ({ createdAt: hub.now() }));
  addPosts(hub, comics, 12, () => ({ createdAt: hub.now() }));
  await edit(app, posts.slice(100, 300), `a=${STATE}read`);
  const { max, unreadcounts } = (await app.get('unread-count')).json<{ max: number; unreadcounts: { id: string; count: number }[] }>();
  const counts = Object.fromEntries(unreadcounts.map(({ id, count }) => [id, count]));
  assert.deepEqual({ max, ...counts }, {
    max: 5_012, [`feed/${news}`]: 5_000, [`feed/${comics}`]: 12, [NO_FOLDER]: 5_000, 'user/-/label/Comics/Daily': 12, [`${STATE}reading-list`]: 5_012,
  });
  for (const [query, count] of [[`s=${STATE}reading-list`, '5212'], [`s=feed/${news}&xt=${STATE}read`, '5000'], [`s=feed/${comics}&a=true`, '12#January 15, 2030']] as const) {
    assert.equal((await app.get(`stream/items/count?${query}`)).text, count);
  }
  assert.equal((await app.get('stream/items/count?s=feed/999')).status, 400);
});

test('the label Uncategorized has the sources without a folder, takes sources out of folders, and never hides a folder of this name', async (t) => {
  const { ada, bob, app, news, comics } = await hubWithApp(t);
  const [a, b] = [await addPost(ada, news), await addPost(ada, comics)];
  assert.deepEqual(await itemIds(app, `s=${NO_FOLDER}`), [a]);
  assert.ok((await app.get(`stream/contents/${NO_FOLDER}`)).json<Items>().items[0]?.categories.includes(NO_FOLDER));
  assert.equal((await app.post('mark-all-as-read', `s=${NO_FOLDER}`)).text, 'OK');
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=${STATE}read`), [b]);
  await app.post('subscription/edit', `ac=edit&s=feed/${comics}&r=${NO_FOLDER}`);
  assert.deepEqual(await itemIds(app, `s=${NO_FOLDER}`), [a], 'it is in its folder still');
  await app.post('subscription/edit', `ac=edit&s=feed/${comics}&a=${NO_FOLDER}&r=user/-/label/Comics/Daily`);
  assert.deepEqual(await itemIds(app, `s=${NO_FOLDER}`), [b, a]);
  const folders = async () => (await bob.get('/api/reading')).json<{ folders: { name: string | null }[] }>().folders.map(({ name }) => name);
  assert.deepEqual(await folders(), [null]);
  await addFollow(bob, comics, { folder: 'Uncategorized' });
  await app.post('subscription/edit', `ac=edit&s=feed/${news}&a=${NO_FOLDER}`);
  assert.deepEqual(await folders(), ['Uncategorized']);
});

test('calls that some apps make: preferences, the check of the header, and reading by POST', async (t) => {
  const { hub, ada, app, news } = await hubWithApp(t);
  const post = await addPost(ada, news);
  for (const base of ['', '/api/greader.php', '//api/greader.php/']) {
    assert.equal((await hub.anybody.get(`${base}/check/compatibility`, app.headers)).text, 'PASS');
    assert.match((await hub.anybody.get(`${base}/check/compatibility`)).text, /^FAIL/);
  }
  for (const call of ['preference/list', 'preference/stream/list']) {
    assert.deepEqual((await app.get(`${call}?output=json`)).json(), { prefs: [], streamprefs: {} });
  }
  for (const call of ['unread-count', 'subscription/list', 'tag/list', 'user-info', 'token']) {
    assert.equal((await app.post(call, 'output=json')).text, (await app.get(call)).text, call);
  }
  assert.deepEqual(idsIn(await app.post('stream/items/ids', `s=${STATE}reading-list&n=5`)), [post]);
  assert.equal((await app.post('stream/contents', `s=feed/${news}&n=5`)).json<Items>().items.length, 1);
  assert.equal((await app.post(`stream/contents/feed/${news}`, 'n=5')).json<Items>().items.length, 1);
});

test('a stream as Atom has what its items have, also what is no XML', async (t) => {
  const { hub, app, news } = await hubWithApp(t);
  const ids = addPosts(hub, news, 3, (n) => ({ title: `Post <${n}> & \u0007more`, content: '<p>Owls &amp; bats</p>', createdAt: hub.now() }));
  await edit(app, ids.slice(0, 1), `a=${STATE}read&a=${STATE}starred`);
  const answer = await hub.anybody.get(`/api/greader.php/reader/atom/feed%2F${news}?n=2&r=o`, app.headers);
  assert.equal(answer.headers.get('content-type'), 'application/atom+xml; charset=utf-8');
  const entries = answer.text.match(/<entry.*?<\/entry>/gs) ?? [];
  assert.deepEqual(entries.map((entry) => /<title>(.*?)<\/title>/.exec(entry)?.[1]), ['Post &lt;1&gt; &amp; more', 'Post &lt;2&gt; &amp; more']);
  assert.deepEqual(entries.map((entry) => [...entry.matchAll(/ label="([^"]*)"/g)].map(([, label]) => label)),
    [['reading-list', 'read', 'starred', 'Uncategorized'], ['reading-list', 'Uncategorized', 'fresh']]);
  assert.match(entries[0] ?? '', new RegExp(`<id>tag:google.com,2005:reader/item/${hexItemId(ids[0] ?? 0)}</id>`));
  assert.match(entries[0] ?? '', /<content type="html">&lt;p&gt;Owls &amp;amp; bats&lt;\/p&gt;<\/content>/);
  assert.equal(parseStrictXml(answer.text).name, 'feed');
  const continuation = /<gr:continuation>(\d+)</.exec(answer.text)?.[1];
  assert.match((await hub.anybody.get(`/reader/atom/feed/${news}?n=2&r=o&c=${continuation}`, app.headers)).text, /Post &lt;3&gt;/);
  assert.equal((await hub.anybody.get(`/reader/atom/feed/${news}`)).status, 401);
  assert.equal((await hub.anybody.get('/reader/atom/nonsense', app.headers)).status, 400);
});

test('times count by arrival, both ends included, whatever a post says of its publishing', async (t) => {
  const { hub, app, news } = await hubWithApp(t);
  const start = hub.now();
  const ids = addPosts(hub, news, 4, (n) => ({ publishedAt: 10_000 - n, createdAt: start + n * 10_000 }));
  const seconds = (n: number): number => start / 1000 + n * 10;
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&ot=${seconds(2)}`), ids.slice(1).reverse());
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&nt=${seconds(2)}`), ids.slice(0, 2).reverse());
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&ot=${seconds(5)}`), []);
  for (const ot of [`${seconds(2)}.75`, `${seconds(2)}000`, `${seconds(2)}000.5`, `${seconds(2)}000000`]) {
    assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&ot=${ot}`), ids.slice(1).reverse(), ot);
  }
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&ot=${seconds(2)}001&nt=${seconds(4) - 1}999`), [ids[2]]);
});

test('a page of ids goes on by its continuation, is made while it is sent where it is long, and never comes empty', async (t) => {
  const { hub, app, news, comics } = await hubWithApp(t);
  const ids = [...addPosts(hub, news, 6_500), ...addPosts(hub, comics, 5_000)];
  const all = await app.get(`stream/items/ids?s=${STATE}reading-list&n=200000`);
  assert.deepEqual(idsIn(all), ids.toReversed());
  assert.deepEqual([all.headers.get('transfer-encoding'), all.json()['continuation']], ['chunked', undefined]);
  for (const [order, sorted] of [['', ids.toReversed()], ['&r=o', ids]] as const) {
    const first = await app.get(`stream/items/ids?s=${STATE}reading-list&n=10500${order}`);
    const { continuation = '' } = first.json<{ continuation?: string }>();
    assert.equal(continuation, itemId(sorted[10_499] ?? 0));
    const last = await app.get(`stream/items/ids?s=${STATE}reading-list&n=1000${order}&c=${continuation}`);
    assert.deepEqual([...idsIn(first), ...idsIn(last)], sorted);
    assert.equal('continuation' in last.json(), false, 'a full last page has no continuation');
  }
  for (const c of ['nonsense', '42', '-1', itemId(0), 'page2']) {
    const refused = await app.get(`stream/contents?c=${c}`);
    assert.deepEqual([refused.status, refused.text], [400, 'c must be the continuation of an answer.\n'], c);
  }
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
