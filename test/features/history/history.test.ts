// Protects reading history: kept for its owner alone, and reading never writes more than once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counts } from '../../../src/features/hub/hub.ts';
import { DAY, MINUTE } from '../../../src/platform/clock.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { addNotes, addPost, itemsAt, sendJson } from '../../support/accounts.ts';
import { countRows, writesSoFar } from '../../support/stored-rows.ts';
import { hubWithReader } from '../../support/own-posts.ts';

type Read = { postId: number; title: string; readAt: string };
type Post = { id: number; read?: boolean };
type Listed<Item> = { items: Item[]; next: string | null };

test('opening a post’s page marks it read for its reader alone, once', async (t) => {
  const { hub, ada, bob, posts } = await hubWithReader(t, 2);
  const [id] = posts;

  assert.equal((await bob.page(`/posts/${id}`)).status, 200);
  const firstRead = (await itemsAt<Read>(bob, '/api/history'))[0]?.readAt;
  hub.passTime(DAY);
  await bob.page('/sources'); // renews the session
  const before = writesSoFar(hub);
  for (let time = 0; time < 3; time++) await bob.page(`/posts/${id}`);

  assert.equal(writesSoFar(hub), before, 'nothing was written again');
  const read = (await itemsAt<Read>(bob, '/api/history')).map(({ postId, readAt }) => [postId, readAt]);
  assert.deepEqual(read, [[id, firstRead]]);
  assert.deepEqual(await itemsAt(ada, '/api/history'), []);
});

test('opening what is read already does not even ask for the right to write', async (t) => {
  const { hub, bob, posts } = await hubWithReader(t, 1);
  await bob.page(`/posts/${posts[0]}`);
  const other = openDatabase(hub.config.databasePath);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');

  assert.equal((await bob.page(`/posts/${posts[0]}`)).status, 200);

  assert.equal(hub.logged().filter(({ event }) => event === 'reading not recorded').length, 0);
  other.exec('ROLLBACK');
});

test('nobody’s reading is noted, nor a look at the head, nor what a browser fetches ahead', async (t) => {
  const { hub, bob, posts } = await hubWithReader(t, 1);
  const path = `/posts/${posts[0]}`;

  await hub.anybody.page(path);
  await bob.send('HEAD', path);
  await bob.send('GET', path, { headers: { 'sec-purpose': 'prefetch;prerender' } });
  await bob.get(`/api${path}`);

  assert.equal(countRows(hub, 'reading_history'), 0);
});

test('anonymous reading stays cached and writes nothing, however much members read', async (t) => {
  const { hub, bob, posts } = await hubWithReader(t, 3);
  const path = `/posts/${posts[0]}`;
  const first = await hub.anybody.page(path);
  const version = counts(hub.handle).value('content_version');

  for (const id of posts) await bob.page(`/posts/${id}`);
  const before = writesSoFar(hub);
  const second = await hub.anybody.page(path);

  assert.equal(counts(hub.handle).value('content_version'), version);
  assert.equal(writesSoFar(hub), before);
  assert.equal(second.headers.get('etag'), first.headers.get('etag'));
  assert.doesNotMatch(second.text, /class="tag">read/);
});

test('a post is marked read and unread by the API, as often as one likes', async (t) => {
  const { ada, bob, posts } = await hubWithReader(t, 1);
  const path = `/api/posts/${posts[0]}/read`;
  const hidden = await addPost(ada, await addNotes(ada, 'Hidden', 'private'));

  for (let time = 0; time < 2; time++) assert.equal((await sendJson(bob, 'PUT', path, {})).status, 204);
  assert.equal((await itemsAt(bob, '/api/history')).length, 1);
  for (let time = 0; time < 2; time++) assert.equal((await bob.delete(path)).status, 204);
  assert.deepEqual(await itemsAt(bob, '/api/history'), []);
  assert.equal((await sendJson(bob, 'PUT', `/api/posts/${hidden}/read`, {})).status, 404);
});

test('the history is read page by page, the last read first', async (t) => {
  const { hub, bob, posts } = await hubWithReader(t, 7);
  for (const [index, id] of posts.entries()) {
    if (index % 3 === 0) hub.passTime(MINUTE); // some at the same moment
    await sendJson(bob, 'PUT', `/api/posts/${id}/read`, {});
  }
  const seen: number[] = [];
  for (let path: string | null = '/api/history?limit=2'; path;) {
    const { items, next }: Listed<Read> = (await bob.get(path)).json();
    seen.push(...items.map(({ postId }) => postId));
    path = next && `/api/history?limit=2&cursor=${next}`;
  }

  assert.deepEqual(seen, posts.toReversed());
});

test('clearing forgets everything of its owner and nothing of others', async (t) => {
  const { ada, bob, posts } = await hubWithReader(t, 3);
  for (const client of [ada, bob]) for (const id of posts) await sendJson(client, 'PUT', `/api/posts/${id}/read`, {});

  assert.equal((await bob.delete('/api/history')).status, 204);

  assert.deepEqual(await itemsAt(bob, '/api/history'), []);
  assert.ok((await itemsAt<Post>(bob, '/api/posts')).every(({ read }) => read === true), 'but what is read stays read');
  assert.equal((await itemsAt(ada, '/api/history')).length, 3);
});

test('a history of what one may no longer see says nothing of it', async (t) => {
  const { ada, bob, sourceId, posts } = await hubWithReader(t, 1);
  await bob.page(`/posts/${posts[0]}`);

  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' });
  assert.deepEqual(await itemsAt(bob, '/api/history'), []);
  assert.doesNotMatch((await bob.page('/history')).text, /Post 1/);
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'public' });
  assert.equal((await itemsAt(bob, '/api/history')).length, 1);
});

test('a disk that cannot be written keeps nobody from reading', async (t) => {
  const { hub, bob, posts } = await hubWithReader(t, 1);
  hub.db.pragma('query_only = ON');

  assert.equal((await bob.page(`/posts/${posts[0]}`)).status, 200);
  assert.equal(hub.logged().filter(({ event }) => event === 'reading not recorded').length, 1);
});
