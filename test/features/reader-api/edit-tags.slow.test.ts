// Protects the promise that an app is never refused at the limit of marks, which it would repeat for ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MINUTE } from '../../../src/platform/clock.ts';
import { addNotes } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';
import { appOf, itemId, itemIds, type ReaderApp } from '../../support/reader-app.ts';
import { addPosts } from '../../support/stored-posts.ts';

const STATE = 'user/-/state/com.google/';

async function edit(app: ReaderApp, ids: number[], change: string): Promise<void> {
  const { status, text } = await app.post('edit-tag', `${change}&${ids.map((id) => `i=${itemId(id)}`).join('&')}&T=x\n`);
  assert.deepEqual([status, text], [200, 'OK'], change);
}

test('an app is never refused at the limit of marks, and no state is forgotten to make room', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const [sourceId, app] = [await addNotes(ada), appOf(hub, 'ada')];
  const ids = addPosts(hub, sourceId, 42_000);
  const everySecond = ids.filter((_, n) => n % 2 === 1);
  for (let start = 0; start < everySecond.length; start += 7_000) {
    await edit(app, everySecond.slice(start, start + 7_000), `a=${STATE}read`);
    hub.passTime(120_000); // so that nothing can be undone, and marks may be compacted
  }
  const read = await itemIds(app, `s=${STATE}read&n=10000`);
  assert.deepEqual(read, everySecond.toReversed().slice(0, 10_000));
  assert.equal((await ada.send('PUT', `/api/posts/${ids[0]}/read`)).status, 422, 'pages keep their limit');
  await edit(app, [ids[0] ?? 0], `a=${STATE}read`);
  assert.equal((await ada.get(`/api/posts/${ids[0]}`)).json()['read'], true);
  assert.equal((await ada.get(`/api/posts/${ids[2]}`)).json()['read'], false);
});

test('at the limit of marks, an account’s marks are compacted at most every ten minutes, because that reads all its posts', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const [sourceId, app] = [await addNotes(ada), appOf(hub, 'ada')];
  const ids = addPosts(hub, sourceId, 42_000);
  const [even, odd] = [0, 1].map((rest) => ids.filter((_, n) => n % 2 === rest)) as [number[], number[]];
  for (let start = 0; start < odd.length; start += 7_000) await edit(app, odd.slice(start, start + 7_000), `a=${STATE}read`);
  hub.passTime(2 * MINUTE);
  await edit(app, odd.slice(0, 1), `r=${STATE}read`);
  for (let start = 0; start < even.length; start += 7_000) await edit(app, even.slice(start, start + 7_000), `a=${STATE}read`);
  hub.passTime(2 * MINUTE);
  const markOne = async () => (await ada.send('PUT', `/api/posts/${odd[0]}/read`)).status;
  await edit(app, ids.slice(-1), `r=${STATE}read`);
  assert.equal(await markOne(), 422, 'the marks were compacted four minutes ago');
  hub.passTime(10 * MINUTE);
  await edit(app, ids.slice(-1), `a=${STATE}read`);
  assert.equal(await markOne(), 204);
});
