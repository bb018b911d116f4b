// Protects posts that are taken back into a draft: gone for everybody meanwhile, and unread for nobody afterwards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFollow, addNotes, addPost, browserOf, itemsAt, notificationTitles, publicTitles, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { getFile, hubWithOwnPosts, pathOf, submitForm, type ShownPost } from '../../support/own-posts.ts';
import { assertUsageIsRight } from '../../support/stored-uploads.ts';
import { writePost } from '../../support/uploads.ts';
import { DAY, HOUR } from '../../../src/platform/clock.ts';

const OWLS = { filename: 'owls.txt', data: 'Five owls.' };

const titles = async (client: Client, view: string): Promise<string[]> =>
  (await itemsAt<{ title: string }>(client, `/api/posts?view=${view}`)).map(({ title }) => title).sort();

/** Takes the post back; the path of the form of its draft. */
async function takeBack(client: Client, id: number): Promise<string> {
  const taken = await client.form(`/posts/${id}/withdraw`);
  assert.equal(taken.status, 303, taken.text);
  return (taken.headers.get('location') ?? '').replace(/\?.*/, '');
}

test('a post that was taken back is nowhere; published again it has its id, and is unread only for who had not read it', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const [bob, cleo] = [await hub.person('bob'), await hub.person('cleo')];
  for (const reader of [bob, cleo]) await addFollow(reader, sourceId, { notify: true });
  await addPost(ada, sourceId, 'Before');
  hub.passTime(HOUR);
  const { id, attachments: [file = assert.fail()] } = await writePost(hub, { client: ada, sourceId }, [OWLS], { title: 'Owls', content: 'Five.' });
  await sendJson(bob, 'PUT', `/api/posts/${id}/read`, {});
  await sendJson(bob, 'PUT', `/api/posts/${id}/star`, {});
  const published = (await ada.get(`/api/posts/${id}`)).json<ShownPost & { publishedAt: string }>();

  const form = await takeBack(ada, id);
  for (const path of [`/posts/${id}`, `/api/posts/${id}`, pathOf(file), `/posts/${id}/edit`]) {
    for (const as of [ada, bob, hub.anybody]) assert.notEqual((await as.get(path)).status, 200, path);
  }
  assert.equal((await getFile(hub, `/posts/${id}`, { as: ada })).status, 404);
  assert.deepEqual([await publicTitles(hub), await titles(bob, 'starred')], [['Before'], []]);
  assertUsageIsRight(hub);
  assert.match((await ada.page(form)).text, /has its old address again[^]*value="Owls"[^]*owls\.txt/);
  hub.passTime(2 * DAY);

  const fields = { sourceId: String(sourceId), title: 'Owls, mended', content: 'Six.' };
  const again = await submitForm(hub, ada, form, fields, []);
  assert.equal(again.headers.get('location'), `/posts/${id}?said=post-published`);
  const post = (await ada.get(`/api/posts/${id}`)).json<ShownPost & { publishedAt: string }>();
  assert.deepEqual([post.title, post.publishedAt, post.attachments.length], ['Owls, mended', published.publishedAt, 1]);
  assert.deepEqual([await titles(bob, 'unread'), await titles(bob, 'starred')], [['Before'], ['Owls, mended']]);
  assert.deepEqual(await titles(cleo, 'unread'), ['Before', 'Owls, mended']);
  assert.equal((await notificationTitles(bob)).length, 1, 'nobody is told a second time');
  assert.equal((await hub.anybody.get('/posts.json')).json<{ items: object[] }>().items.length, 2);
  assert.equal(await addPost(ada, sourceId, 'Next'), id + 1);
  assertUsageIsRight(hub);
});

test('only the owner of the source takes a post back, and not over a draft of a change', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  const bob = await hub.person('bob');
  const id = await addPost(bob, await addNotes(bob));
  assert.match((await bob.page(`/posts/${id}/edit`)).text, /Take it back/);
  assert.equal((await ada.form(`/posts/${id}/withdraw`)).status, 403, 'an administrator');
  assert.equal((await (await hub.person('cleo')).form(`/posts/${id}/withdraw`)).status, 403);
  await bob.post(`/posts/${id}/edit/draft`, { title: 'Changed' });
  assert.equal((await bob.form(`/posts/${id}/withdraw`)).status, 409);
  assert.equal((await bob.get(`/api/posts/${id}`)).status, 200);
});

test('the API takes a post back, for the owner of its source, and names the page of its draft', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const [bob, id] = [await hub.person('bob'), await addPost(ada, sourceId, 'Owls')];
  assert.equal((await bob.post(`/api/posts/${id}/withdraw`)).status, 403);
  const taken = await ada.post(`/api/posts/${id}/withdraw`);
  const { url, ...shown } = taken.json<{ url: string }>();
  assert.deepEqual([taken.status, shown], [201, { draftId: 1, title: 'Owls', publishAt: null }]);
  assert.match((await ada.page(new URL(url).pathname)).text, /has its old address again[^]*value="Owls"/);
  assert.deepEqual([await publicTitles(hub), (await ada.post(`/api/posts/${id}/withdraw`)).status], [[], 404]);
});

test('a post that was taken back can be scheduled, waits as long as its author wants, and is gone when it is discarded', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const [first, second] = [await addPost(ada, sourceId, 'First'), await addPost(ada, sourceId, 'Second')];
  const form = await takeBack(ada, first);
  await hub.work(100 * DAY);
  const again = await browserOf(hub, 'ada');
  const publishAt = new Date(hub.now() + HOUR).toISOString();
  const fields = { sourceId: String(sourceId), title: 'First', content: 'x', publishAt };
  const scheduled = await submitForm(hub, again, form, fields, []);
  assert.equal(scheduled.status, 303, /role="alert">[^]{0,200}/.exec(scheduled.text)?.[0]);
  await hub.work(2 * HOUR);
  assert.equal((await again.get(`/api/posts/${first}`)).status, 200);
  await takeBack(again, second);
  assert.match((await again.page('/write')).text, /Second<\/a>[^]*taken back/);
  await again.form('/drafts/2/discard');
  await hub.work(2 * DAY);
  assert.deepEqual([(await again.get(`/api/posts/${second}`)).status, await publicTitles(hub)], [404, ['First']]);
});
