// Protects searches from growing costs: none asks for long lists, and what one leaves can be asked for next.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { furthestBlocks, factsOf } from '../../../src/features/posts/blocks.ts';
import { searchKey } from '../../../src/features/posts/search-index-store.ts';
import { foundTitles } from '../../support/accounts.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { addPosts, indexPosts } from '../../support/stored-posts.ts';

const DAY = 86_400_000;

test('blocks reach as far as they may from a row id, in both directions, and every post has their words', () => {
  const key = searchKey(Date.UTC(2026, 0, 15), 7);
  for (const isBack of [false, true]) {
    for (const days of [0.01, 1, 40, 4_000]) {
      const beyond = searchKey(Date.UTC(2026, 0, 15) + days * DAY * (isBack ? 1 : -1), 8);
      const { from, until, words } = furthestBlocks(key, beyond, isBack);
      assert.ok(from <= key && key < until && (beyond < from || beyond >= until), `${days} days`);
      assert.ok(words.length <= 16 && words.some((word) => factsOf(key, { sourceId: 1, isPublic: 1, ownerId: 1 }).includes(word)));
      assert.ok((isBack ? until - key : key - from) * 20 > Math.abs(beyond - key), `${days} days: not nearer than need be`);
    }
  }
});

test('two words that never meet, and a phrase, are searched back to a day, and the next page goes on to the end', async (t) => {
  const { hub, sourceId } = await hubWithOwnPosts(t);
  const words = (n: number): string => n === 3 ? 'evenly oddly' : n % 2 === 0 ? 'evenly' : 'oddly';
  addPosts(hub, sourceId, 9_000, (n) => ({ title: words(n), publishedAt: n * 60_000 }));
  indexPosts(hub.handle);
  for (const q of ['evenly oddly', '"evenly oddly"', 'evenly oddly -newt']) {
    const pages: { items: unknown[]; next: string | null; searchedBackTo?: string }[] = [];
    for (let next: string | null = ''; next !== null; next = pages.at(-1)?.next ?? null) {
      assert.ok(pages.length < 50);
      pages.push((await hub.anybody.get(`/api/posts?${new URLSearchParams({ q, ...next && { cursor: next } })}`)).json());
    }
    assert.ok(pages.length > 1 && pages.slice(0, -1).every(({ searchedBackTo }) => searchedBackTo !== undefined), q);
    assert.equal(pages.flatMap(({ items }) => items).length, 1, q);
    assert.equal(pages.at(-1)?.searchedBackTo, undefined);
  }
  const page = (await hub.anybody.get('/public?q=evenly+oddly')).text;
  assert.match(page, /Nothing found so far\. Searched back to <time/);
  assert.match(page, /rel="next"[^>]*>Search on</);
});

test('a beginning that very many words have is found by reading texts, and nothing else is found', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  addPosts(hub, sourceId, 40, (n) => ({ title: n % 2 === 0 ? `harbour${n.toString(36)}x` : `harvest${n}`, publishedAt: n * 1_000 }));
  indexPosts(hub.handle);
  assert.equal((await foundTitles(ada, 'harb', '&limit=100')).length, 20);
  assert.equal((await foundTitles(ada, 'harvest* -harb*', '&limit=100')).length, 20);
});
