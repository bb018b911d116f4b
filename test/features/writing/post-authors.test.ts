// Protects the names of authors: shown on posts only where the source's owner wants, never copied, gone after leaving.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addNotes, addPost, leave, pointersOf } from '../../support/accounts.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { forgetTexts } from '../../support/stored-posts.ts';

test('the author’s name stands on posts while the source’s owner wants, follows a new name, and is gone after leaving', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const bob = await hub.newcomer('bob');
  const notes = await addNotes(bob, 'Notes of bob');
  const id = await addPost(bob, notes);
  const author = async (): Promise<unknown> => (await hub.anybody.get(`/api/posts/${id}`)).json().author;
  const page = async (path: string): Promise<string> => (await hub.anybody.page(path)).text;
  assert.equal(await author(), null);
  assert.doesNotMatch(await page(`/posts/${id}`), />bob</);

  const settings = { title: 'Notes of bob', visibility: 'public', showsAuthors: '1' };
  assert.equal((await bob.form(`/sources/${notes}`, settings)).status, 303);
  assert.match((await bob.page(`/sources/${notes}/settings`)).text, /name="showsAuthors" value="1" checked/);
  assert.match(await page(`/posts/${id}`), />bob</);
  assert.match((await hub.anybody.get('/posts.atom')).text, /<author><name>bob<\/name>/);
  await bob.patch('/api/account', { displayName: 'Robert' });
  assert.equal(await author(), 'Robert');
  assert.match(await page(`/posts/${id}`), />Robert</);
  await bob.patch(`/api/sources/${notes}`, { showsAuthors: false });
  assert.equal(await author(), null);
  await bob.patch(`/api/sources/${notes}`, { showsAuthors: true });

  const given = await bob.post(`/api/sources/${notes}/transfer`, { username: 'ada' });
  assert.equal(given.status, 200, 'an administrator gets the source at once');
  await ada.patch(`/api/posts/${id}`, { content: 'changed' });
  assert.equal(await author(), 'Robert', 'who changes a post does not become its author');
  assert.equal((await leave(hub, bob)).status, 204);
  assert.equal(await author(), null);
  assert.doesNotMatch(await page(`/posts/${id}`), /Robert|left:/);
  await hub.work();
  assert.equal(await author(), null);
});

test('posts of earlier versions have no author, and only own posts can show one', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const id = await addPost(ada, sourceId);
  forgetTexts(hub);
  await ada.patch(`/api/sources/${sourceId}`, { showsAuthors: true });
  assert.equal((await ada.get(`/api/posts/${id}`)).json().author, null);
  const hook = (await ada.post('/api/sources', { kind: 'webhook', title: 'Hook' })).json<{ id: number }>().id;
  const refused = await ada.patch(`/api/sources/${hook}`, { showsAuthors: true });
  assert.deepEqual([refused.status, pointersOf(refused)], [422, ['/showsAuthors']]);
});
