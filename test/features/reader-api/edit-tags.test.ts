// Protects marks of apps: they are the marks of the pages, never refused, and undone on the pages.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addNotes, addPost, itemsAt } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { appOf, edit, hexItemId, itemId, itemIds, STATE } from '../../support/reader-app.ts';
import { addPosts } from '../../support/stored-posts.ts';

const LONG = 'tag:google.com,2005:reader/item/';

/** Ada with a source of her own, and an app. */
async function hubWithApp(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada']);
  const sourceId = await addNotes(ada);
  return { hub, ada, sourceId, app: appOf(hub, 'ada') };
}

const unreadOf = async (client: Client): Promise<number> =>
  (await client.get('/api/reading')).json<{ unread: number }>().unread;

test('marks and stars of an app are those of the pages, in both directions', async (t) => {
  const { ada, sourceId, app } = await hubWithApp(t);
  const posts = [await addPost(ada, sourceId, 'A'), await addPost(ada, sourceId, 'B'), await addPost(ada, sourceId, 'C')];
  const [a = 0, b = 0, c = 0] = posts;
  const states = async () => (await itemsAt<{ id: number; read: boolean; starred: boolean }>(ada, '/api/posts?view=list'))
    .map(({ id, read, starred }) => `${id === a ? 'A' : id === b ? 'B' : 'C'}${read ? ' read' : ''}${starred ? ' starred' : ''}`)
    .sort();
  await edit(app, posts, `a=${STATE}kept-unread&r=${STATE}read`);
  assert.deepEqual(await states(), ['A', 'B', 'C'], 'its author has read them');

  await edit(app, [b], `a=${STATE}read&r=${STATE}kept-unread&ac=edit`);
  await edit(app, [c], `a=${STATE}starred`);
  assert.deepEqual(await states(), ['A', 'B read', 'C starred']);
  await edit(app, [b], `r=${STATE}read&a=${STATE}kept-unread&a=${STATE}tracking-kept-unread`);
  await edit(app, [c], `r=user/1/state/com.google/starred`);
  assert.deepEqual(await states(), ['A', 'B', 'C']);

  await ada.send('PUT', `/api/posts/${a}/read`);
  await ada.send('PUT', `/api/posts/${b}/star`);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=${STATE}read`), [c, b]);
  assert.deepEqual(await itemIds(app, `s=${STATE}starred`), [b]);
});

test('a post that an app marks as read by itself joins the reading history; several at once do not', async (t) => {
  const { ada, sourceId, app } = await hubWithApp(t);
  const posts = [await addPost(ada, sourceId, 'A'), await addPost(ada, sourceId, 'B'), await addPost(ada, sourceId, 'C')];
  const [a = 0] = posts;
  const opened = async () => (await itemsAt<{ title: string }>(ada, '/api/history')).map(({ title }) => title);
  await edit(app, posts, `r=${STATE}read`);
  await edit(app, [a], `a=${STATE}read`);
  await edit(app, posts, `a=${STATE}read`);
  await edit(app, [a + 10], `a=${STATE}read`);
  assert.deepEqual(await opened(), ['A']);
  await edit(app, [a], `r=${STATE}read`);
  assert.deepEqual(await opened(), []);
});

test('edits that mean nothing here are answered with OK and change nothing', async (t) => {
  const { ada, sourceId, app } = await hubWithApp(t);
  const post = await addPost(ada, sourceId);
  await edit(app, [], 'a=user/-/label/New');
  await edit(app, [post], `a=${STATE}tracking-kept-unread`);
  await edit(app, [post], `a=${STATE}like&r=nonsense`);
  await edit(app, [post + 1, 10 ** 9], `a=${STATE}read`);
  for (const id of ['-1', '42', '18446744073709551615', 'ffffffffffffffff', `${LONG}ffffffffffffffff`]) {
    assert.equal((await app.post('edit-tag', `a=${STATE}read&i=${id}`)).text, 'OK', id);
  }
  assert.equal((await ada.get(`/api/posts/${post}`)).json()['read'], true);
  const { text } = await app.get('tag/list');
  assert.doesNotMatch(text, /New/);
});

test('an edit with a text that is no item id, or with a label for posts, is refused with 400 and changes nothing', async (t) => {
  const { ada, sourceId, app } = await hubWithApp(t);
  const post = await addPost(ada, sourceId);
  const ids = ['nonsense', '', '-/', '-/-/' + LONG + hexItemId(post), LONG, `${LONG}xyz`, `${itemId(post)}.5`, `feed/${sourceId}`, '0x1'];
  for (const id of ids) {
    const { status, text } = await app.post('edit-tag', `a=${STATE}starred&i=${itemId(post)}&i=${encodeURIComponent(id)}`);
    assert.deepEqual([status, text], [400, 'i must be the id of an item.\n'], id);
  }
  for (const label of ['a=user/-/label/New', `r=user/1/label/New&a=${STATE}read`]) {
    const { status, text } = await app.post('edit-tag', `a=${STATE}starred&${label}&i=${itemId(post)}`);
    assert.deepEqual([status, text], [400, 'Posts have no labels here.\n'], label);
  }
  assert.deepEqual(await itemIds(app, `s=${STATE}starred`), []);
});

test('an item id that begins with “-/” marks its post, whatever its form', async (t) => {
  const { ada, sourceId, app } = await hubWithApp(t);
  const posts = [await addPost(ada, sourceId), await addPost(ada, sourceId), await addPost(ada, sourceId)];
  const [a = 0, b = 0, c = 0] = posts;
  const named = [`-/${LONG}${hexItemId(a)}`, `-/${itemId(b)}`, `${LONG}${hexItemId(c).replace(/^0+/, '').toUpperCase()}`];
  assert.equal((await app.post('edit-tag', `a=${STATE}starred&${named.map((id) => `i=${id}`).join('&')}`)).text, 'OK');
  assert.deepEqual(await itemIds(app, `s=${STATE}starred`), [c, b, a]);
});

test('an app marks ten thousand posts, and the page undoes that', async (t) => {
  const { hub, ada, sourceId, app } = await hubWithApp(t);
  const ids = addPosts(hub, sourceId, 10_000);
  assert.equal(await unreadOf(ada), 1_000, 'counting stops at a thousand');
  await edit(app, ids, `a=${STATE}read`);
  assert.equal(await unreadOf(ada), 0);

  const page = (await ada.page('/')).text;
  assert.match(page, /An app has marked 10,000 posts as read\./);
  const undo = /name="undo" value="(\d+)"/.exec(page)?.[1] ?? '';
  assert.equal((await ada.form('/reading/undo', { undo })).status, 303);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=${STATE}read`), ids.toReversed());
  assert.doesNotMatch((await ada.page('/')).text, /An app has marked/);
});

test('marking a stream as read marks what arrived until its time, also posts that were kept unread', async (t) => {
  const { hub, ada, sourceId, app } = await hubWithApp(t);
  const start = hub.now();
  const ids = addPosts(hub, sourceId, 5, (n) => ({ createdAt: start + n * 60_000 }));
  hub.passTime(3_600_000);
  await edit(app, ids, `a=${STATE}read`);
  await edit(app, ids, `r=${STATE}read`);
  const unread = () => itemIds(app, `s=${STATE}reading-list&xt=${STATE}read`);
  const mark = async (body: string): Promise<void> => assert.equal((await app.post('mark-all-as-read', body)).text, 'OK', body);

  await mark(`s=feed/${sourceId}&ts=${(start + 60_000) * 1_000}`);
  assert.deepEqual(await unread(), ids.slice(1).reverse(), 'microseconds');
  await mark(`s=${STATE}reading-list&ts=${start + 120_000}`);
  assert.deepEqual(await unread(), ids.slice(2).reverse(), 'milliseconds');
  await mark(`s=${STATE}reading-list&ts=${(start + 180_000) / 1_000}`);
  assert.deepEqual(await unread(), ids.slice(3).reverse(), 'seconds');
  await ada.send('PUT', `/api/posts/${ids[4]}/star`);
  await mark(`s=${STATE}starred`);
  assert.deepEqual(await unread(), [ids[3]]);
  await mark(`s=feed/${sourceId}&T=x\n`);
  assert.deepEqual(await unread(), []);
  assert.equal((await app.post('mark-all-as-read', 's=everything')).status, 400);

  await edit(app, ids, `r=${STATE}read`);
  for (const ts of ['yesterday', '-5', '1e99', '1.7e15', '1'.repeat(20)]) {
    const { status, text } = await app.post('mark-all-as-read', `s=feed/${sourceId}&ts=${ts}`);
    assert.deepEqual([status, text], [400, 'ts must be a time in seconds, milliseconds or microseconds.\n'], ts);
  }
  assert.deepEqual(await unread(), ids.toReversed(), 'an unknown time marks nothing');
  await mark(`s=feed/${sourceId}&ts=${(start + 60_000) * 1_000}000`);
  assert.deepEqual(await unread(), ids.slice(1).reverse(), 'nanoseconds');
  await mark(`s=feed/${sourceId}&ts=${(start + 120_000) / 1_000}.5`);
  assert.deepEqual(await unread(), ids.slice(2).reverse(), 'seconds with a fraction');
  await mark(`s=${STATE}reading-list&ts=0\n`);
  assert.deepEqual(await unread(), [], 'apps mean everything');
});

test('marking the stream of read posts as read marks no unread post', async (t) => {
  const { ada, sourceId, app } = await hubWithApp(t);
  const [a, b] = [await addPost(ada, sourceId, 'A'), await addPost(ada, sourceId, 'B')];
  await edit(app, [a], `r=${STATE}read`);
  assert.equal((await app.post('mark-all-as-read', `s=${STATE}read`)).text, 'OK');
  assert.deepEqual(await itemIds(app, `s=${STATE}read`), [b]);
});

test('the page undoes all of one marking of a stream, also if each of 2,500 posts was kept unread', async (t) => {
  const { hub, ada, sourceId, app } = await hubWithApp(t);
  const [kept, later] = [addPosts(hub, sourceId, 2_500), addPosts(hub, sourceId, 100)];
  await edit(app, kept, `a=${STATE}read`);
  await edit(app, kept, `r=${STATE}read`);
  assert.equal((await app.post('mark-all-as-read', `s=${STATE}reading-list`)).text, 'OK');
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=${STATE}read`), []);

  const page = (await ada.page('/')).text;
  assert.match(page, /An app has marked 2,600 posts as read\./);
  await ada.form('/reading/undo', { undo: /name="undo" value="(\d+)"/.exec(page)?.[1] ?? '' });
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=${STATE}read`), [...kept, ...later].reverse());
});
