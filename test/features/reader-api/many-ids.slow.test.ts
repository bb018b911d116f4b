// Protects apps that take what is missing in a list for read: one answer has up to 100,000 ids.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addNotes } from '../../support/accounts.ts';
import { hubWith } from '../../support/hub.ts';
import { appOf, idsIn, itemId, STATE } from '../../support/reader-app.ts';
import { addPosts } from '../../support/stored-posts.ts';

test('of 100,500 posts an app gets 100,000 ids in one answer, and the rest by the continuation', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const ids = addPosts(hub, await addNotes(ada), 100_500).toReversed();
  const app = appOf(hub, 'ada');
  for (const n of ['', '&n=200000']) {
    const first = await app.get(`stream/items/ids?s=${STATE}reading-list${n}`);
    assert.equal(first.json()['continuation'], itemId(ids[99_999] ?? 0));
    const rest = await app.get(`stream/items/ids?s=${STATE}reading-list${n}&c=${itemId(ids[99_999] ?? 0)}`);
    assert.deepEqual([...idsIn(first), ...idsIn(rest)], ids);
    assert.equal('continuation' in rest.json(), false);
  }
  const some = await app.get(`stream/items/ids?s=${STATE}reading-list&n=50000`);
  assert.deepEqual(idsIn(some), ids.slice(0, 50_000));
});
