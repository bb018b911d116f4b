// Protects the index of a hub that was upgraded: it is made anew in steps, newest posts first, and says how far it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexAnew } from '../../../src/features/full-text/index-anew.ts';
import { searchDrift } from '../../../src/features/posts/saved-posts-store.ts';
import { indexedFrom } from '../../../src/features/posts/search-index-store.ts';
import { foundTitles } from '../../support/accounts.ts';
import { loseWords, oldFullText, oldIndex, oldRows, untilIndexed } from '../../support/old-index.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';

const POSTS = 60;

test('the index is made anew from the newest post on, and a search meanwhile says how far back it looked', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  oldIndex(hub, sourceId, POSTS);
  const all = async () => (await ada.get('/api/posts?q=owl&limit=100')).json<{ items: { title: string }[]; next: string | null; searchedBackTo?: string }>();
  assert.deepEqual([(await all()).items, (await all()).next], [[], null]);
  assert.deepEqual(searchDrift(hub), { unindexed: 0, stray: 0 }, 'posts that wait are not missing');

  await untilIndexed(hub, (left) => left <= POSTS / 2);
  const half = await all();
  assert.ok(half.items.length >= POSTS / 2 && half.items.length < POSTS);
  assert.deepEqual(half.items.map(({ title }) => title), Array.from(half.items, (_, n) => `Owl ${POSTS - n}`));
  assert.equal(half.searchedBackTo, new Date((POSTS - half.items.length + 1) * 1_000).toISOString());
  for (const [client, path] of [[hub.anybody, '/public?q=nothing'], [ada, '/all?q=nothing']] as const) {
    assert.match((await client.get(path)).text, /Searched back to <time[^>]*>1 January 1970.*indexing older posts anew/s);
  }
  const best = (await ada.get(`/all?q=owl+${POSTS}&by=relevance`)).text;
  assert.match(best, /Searched back to <time[^>]*>1 January 1970/, 'the best of those that it looked at');
  assert.doesNotMatch(best, /indexing older posts anew/, 'it would stop as early without that');
  const days = '/api/posts?view=list&limit=100&q=after:1970-01-01%20before:1970-01-02';
  assert.equal((await ada.get(days)).json<{ items: object[] }>().items.length, POSTS, 'days need no index');
  assert.deepEqual(searchDrift(hub), { unindexed: 0, stray: 0 });
  loseWords(hub);
  assert.equal(searchDrift(hub).unindexed, 1, 'a post that was indexed and is gone is missing');

  await indexAnew(hub.handle, new AbortController().signal);
  const { items, searchedBackTo } = await all();
  assert.deepEqual([items.length, searchedBackTo], [POSTS - 1, undefined]);
  assert.deepEqual([oldRows(hub), hub.db.pragma('integrity_check')], [0, 'ok']);
});

test('the words of full texts come back with those of their posts', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ids = oldIndex(hub, sourceId, POSTS);
  for (const id of ids.slice(-25)) oldFullText(hub, id, `<p>the whole heron ${id}</p>`);
  await untilIndexed(hub, (left) => left <= POSTS - 20);

  assert.ok((await foundTitles(ada, 'heron', '&limit=100')).length >= 20);
  assert.deepEqual(await foundTitles(ada, `"heron ${ids.at(-1)}"`), [`Owl ${POSTS}`]);
  await indexAnew(hub.handle, new AbortController().signal);
  assert.equal((await foundTitles(ada, 'heron', '&limit=100')).length, 25);
});

test('a post that changes, comes or goes while the index is made anew is found as it is', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ids = oldIndex(hub, sourceId, POSTS);
  await untilIndexed(hub, (left) => left <= POSTS / 2);
  for (const id of [ids[3], ids[50]]) await ada.patch(`/api/posts/${id}`, { title: 'Newt', content: 'a newt' });
  for (const id of [ids[4], ids[51]]) await ada.delete(`/api/posts/${id}`);
  await indexAnew(hub.handle, new AbortController().signal);

  assert.deepEqual(await foundTitles(ada, 'newt'), ['Newt', 'Newt']);
  assert.equal((await foundTitles(ada, 'owl', '&limit=100')).length, POSTS - 4);
  assert.deepEqual(searchDrift(hub), { unindexed: 0, stray: 0 });
  assert.equal(indexedFrom(hub.handle), -Number.MAX_SAFE_INTEGER);
});
