// Protects what the script of members' pages asks for: what is read by now, counts, and how many posts have arrived.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFollow, addPost, itemsAt } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';

type Now = { read: number[]; starred: number[]; counts: Record<string, string> };

const now = async (client: Client, ids: string): Promise<Now> => (await client.get(`/reading/now?posts=${ids}`)).json();
const fresh = async (client: Client, query: string): Promise<unknown> =>
  (await client.get(`/reading/fresh?${query}`)).json()['fresh'];

test('a page learns which of its posts are read and starred, and counts by folder and source', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  await addFollow(bob, sourceId, { folder: 'Harbour' });
  for (let n = 0; n < 3; n++) await addPost(ada, sourceId);

  const source = `source:${sourceId}`;
  assert.deepEqual(await now(bob, '1,2,3'), {
    read: [], starred: [], counts: { 'unread': '3', 'all': '3', 'folder:Harbour': '3', [source]: '3' },
  });
  await bob.form('/posts/2/read', { read: '1' });
  await bob.form('/posts/3/star', { star: '1' });
  assert.deepEqual(await now(bob, '1,2,3,99,x,'), {
    read: [2], starred: [3], counts: { 'unread': '2', 'all': '2', 'starred': '1', 'folder:Harbour': '2', [source]: '2' },
  });
  await bob.post('/api/reading/mark-read', { all: true });
  assert.deepEqual(await now(bob, '1'), { read: [1], starred: [], counts: { starred: '1' } }, 'what is 0 is not said');
  assert.deepEqual((await now(bob, '')).read, []);
});

test('a list learns how many posts have arrived for it, of what its reader may see', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const [bob, cleo] = [await hub.person('bob'), await hub.person('cleo')];
  await addFollow(bob, sourceId, { folder: 'Harbour' });
  await addPost(ada, sourceId);

  assert.equal(await fresh(bob, 'view=unread&newest=1'), 0);
  for (let n = 0; n < 2; n++) await addPost(ada, sourceId);
  const first = await bob.get('/reading/fresh?view=unread&newest=1');
  assert.deepEqual(first.json(), { fresh: 2 });
  const same = { 'if-none-match': first.headers.get('etag') ?? '' };
  assert.equal((await bob.get('/reading/fresh?view=unread&newest=1', same)).status, 304);
  assert.equal(await fresh(bob, 'newest=0'), 3);
  assert.equal(await fresh(bob, 'newest=1&folder=Harbour'), 2);
  assert.equal(await fresh(bob, 'newest=1&folder=Software'), 0);
  assert.equal(await fresh(cleo, 'newest=1'), 0, 'who follows nothing');
  assert.equal(await fresh(cleo, `newest=1&source=${sourceId}`), 2);
  for (const query of ['', 'newest=', 'newest=-1', 'newest=x']) {
    assert.equal((await bob.get(`/reading/fresh?${query}`)).status, 400, query);
  }
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' });
  assert.equal(await fresh(bob, 'newest=1'), 0, 'nothing of what became private');
});

test('posts that one may not see any more are in no list, and their states and number are not told, until one may see them again', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  await addFollow(bob, sourceId);
  for (let n = 0; n < 3; n++) await addPost(ada, sourceId);
  await bob.form('/posts/1/read', { read: '1' });
  await bob.form('/posts/2/star', { star: '1' });
  const hide = (visibility: string) => ada.patch(`/api/sources/${sourceId}`, { visibility });
  await hide('private');

  assert.deepEqual(await now(bob, '1,2,3'), { read: [], starred: [], counts: {} });
  assert.deepEqual(await itemsAt(bob, '/api/posts?view=unread'), []);
  assert.deepEqual((await bob.get('/api/reading')).json(), { unread: 0, starred: 0, folders: [] });
  for (const what of [{ source: sourceId }, { source: sourceId + 1 }, { all: true, below: 2 }, { all: true, above: 9 }]) {
    assert.equal((await bob.post('/api/reading/mark-read', what)).status, 404, JSON.stringify(what));
  }
  for (const what of [{ all: true }, { posts: [1, 2, 3, 4] }]) {
    assert.equal((await bob.post('/api/reading/mark-read', what)).json()['marked'], 0, JSON.stringify(what));
  }
  await hide('public');
  assert.deepEqual((await now(bob, '1,2,3')).read, [1]);
  assert.deepEqual((await now(bob, '1,2,3')).starred, [2]);
  assert.equal((await itemsAt(bob, '/api/posts?view=unread')).length, 2);
});
