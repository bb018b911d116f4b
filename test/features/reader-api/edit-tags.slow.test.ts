// Protects the promise that an app is never refused at the limit of marks, which it would repeat for ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readMarks } from '../../../src/features/reading/reading-store.ts';
import { MINUTE } from '../../../src/platform/clock.ts';
import { addNotes } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';
import { appOf, edit, itemIds, STATE } from '../../support/reader-app.ts';
import { addPosts } from '../../support/stored-posts.ts';

test('an app may mark more posts as read than the hub’s pages allow, and the hub forgets no mark to make room', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const [sourceId, app] = [await addNotes(ada), appOf(hub, 'ada')];
  const ids = addPosts(hub, sourceId, 42_000);
  const everySecond = ids.filter((_, n) => n % 2 === 1);
  for (let start = 0; start < everySecond.length; start += 7_000) {
    await edit(app, everySecond.slice(start, start + 7_000), `a=${STATE}read`);
    hub.passTime(3 * MINUTE); // so that nothing can be undone, and marks may be compacted
  }
  const read = await itemIds(app, `s=${STATE}read&n=10000`);
  assert.deepEqual(read, everySecond.toReversed().slice(0, 10_000));
  assert.equal((await ada.send('PUT', `/api/posts/${ids[0]}/read`)).status, 422, 'pages keep their limit');
  await edit(app, [ids[0] ?? 0], `a=${STATE}read`);
  assert.equal((await ada.get(`/api/posts/${ids[0]}`)).json()['read'], true);
  assert.equal((await ada.get(`/api/posts/${ids[2]}`)).json()['read'], false);
});

test('room for marks is made by raising high-water marks past posts that are nearly all read', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const [sourceId, app] = [await addNotes(ada), appOf(hub, 'ada')];
  const ids = addPosts(hub, sourceId, 21_002);
  for (let start = 1; start < ids.length; start += 7_000) {
    await edit(app, ids.slice(start, start + 7_000), `a=${STATE}read`);
    hub.passTime(3 * MINUTE);
  }
  const { id } = (await ada.get('/api/account')).json<{ id: number }>();
  assert.ok(readMarks(hub.handle).left(id) > 10_000, `${readMarks(hub.handle).left(id)} marks are left`);
  assert.deepEqual(await itemIds(app, `s=${STATE}reading-list&xt=${STATE}read`), [ids[0]]);
});

test('at the limit of marks, an account’s marks are compacted at most every ten minutes, because that reads all its posts', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const [sourceId, app] = [await addNotes(ada), appOf(hub, 'ada')];
  const ids = addPosts(hub, sourceId, 42_000);
  const [even, odd] = [0, 1].map((rest) => ids.filter((_, n) => n % 2 === rest)) as [number[], number[]];
  for (let start = 0; start < odd.length; start += 7_000) await edit(app, odd.slice(start, start + 7_000), `a=${STATE}read`);
  hub.passTime(3 * MINUTE);
  await edit(app, odd.slice(0, 1), `r=${STATE}read`);
  for (let start = 0; start < even.length; start += 7_000) await edit(app, even.slice(start, start + 7_000), `a=${STATE}read`);
  hub.passTime(3 * MINUTE);
  const markOne = async () => (await ada.send('PUT', `/api/posts/${odd[0]}/read`)).status;
  await edit(app, ids.slice(-1), `r=${STATE}read`);
  assert.equal(await markOne(), 422, 'the marks were compacted less than ten minutes ago');
  hub.passTime(10 * MINUTE);
  await edit(app, ids.slice(-1), `a=${STATE}read`);
  assert.equal(await markOne(), 204);
});
