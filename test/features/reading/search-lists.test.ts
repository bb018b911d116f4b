// Protects search within lists: only what is there is found, it is marked, and what is said when there is nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listView, wholePage } from '../../../src/features/reading/reading-list.ts';
import { entries } from '../../../src/features/reading/entry-store.ts';
import type { Viewer } from '../../../src/platform/http/router.ts';
import { addFollow, addNotes, itemsAt, sendJson } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { addPosts, indexPosts } from '../../support/stored-posts.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';

async function write(client: Client, sourceId: number, title: string, content: string): Promise<number> {
  return (await client.post('/api/posts', { sourceId, title, content })).json<{ id: number }>().id;
}

async function titlesAt(client: Client, path: string): Promise<string[]> {
  const { status, text } = await client.get(path);
  assert.equal(status, 200, text);
  return [...text.matchAll(/<h3 [^>]*><a [^>]*>(.*?)<\/a><\/h3>/g)].map(([, title = '']) => title.replace(/<[^>]*>/g, ''));
}

test('a search finds what is unread, starred, in a folder or of a source, and nothing else', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  const other = await addNotes(ada, 'Other', 'public');
  const [read, unread] = [await write(ada, sourceId, 'Read', 'an owl'), await write(ada, sourceId, 'Unread', 'an owl')];
  await write(ada, other, 'Elsewhere', 'an owl');
  await write(ada, other, 'Without', 'a newt');
  await write(ada, await addNotes(ada, 'Not followed', 'public'), 'Of others', 'an owl');
  for (const id of [sourceId, other]) await addFollow(ben, id);
  await addFollow(ben, sourceId, { folder: 'Birds' });
  await sendJson(ben, 'PUT', `/api/posts/${read}/read`, {});
  await sendJson(ben, 'PUT', `/api/posts/${unread}/star`, {});

  assert.deepEqual(await titlesAt(ben, '/?q=owl'), ['Elsewhere', 'Unread']);
  assert.deepEqual(await titlesAt(ben, '/all?q=owl'), ['Elsewhere', 'Unread', 'Read']);
  assert.match((await ben.get('/all?q=owl')).text, /href="\/all\/posts\/\d+\?q=owl&amp;since=\d+"/, 'a post is one of the search');
  assert.deepEqual(await titlesAt(ben, '/starred?q=owl'), ['Unread']);
  assert.deepEqual(await titlesAt(ben, '/folders/Birds?q=owl'), ['Unread']);
  assert.deepEqual(await titlesAt(ben, '/folders/Birds?q=owl&show=all'), ['Unread', 'Read']);
  assert.deepEqual(await titlesAt(ben, `/sources/${sourceId}?q=owl`), ['Unread', 'Read']);
  assert.deepEqual(await titlesAt(ben, `/sources/${other}?q=owl&show=unread`), ['Elsewhere']);
  for (const [list, saved] of [['/folders/Birds', 'in:"Birds" owl'], ['/starred', 'is:starred owl'], [`/sources/${other}`, 'source:"Other" owl']]) {
    const [, q = ''] = /action="\/searches"><input type="hidden" name="q"\s+value="([^>]+)"/.exec((await ben.get(`${list}?q=owl`)).text) ?? [];
    assert.equal(q.replaceAll('&quot;', '"'), saved, 'a saved search looks where the search has looked');
  }
  assert.deepEqual(await titlesAt(ben, '/all?q=in:"Birds"+owl'), ['Unread', 'Read']);
  assert.deepEqual(await titlesAt(ben, '/all?q=-newt'), [], 'of nothing but what must not occur nothing is made');
  assert.deepEqual(await titlesAt(ben, '/all?q=owl+-elsewhere'), ['Unread', 'Read']);
  const unreadOnes = ['Without', 'Elsewhere', 'Unread'];
  assert.deepEqual(await titlesAt(ben, '/?show=each&q=after:2000-01-01'), unreadOnes, 'one of each source is no search');
});

test('a search in a list of very many sources and posts finds nothing of what is not in it', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  for (let n = 0; n < 61; n++) {
    const id = await addNotes(ada, `Notes ${n}`, 'public');
    await addFollow(ben, id);
    if (n === 60) await write(ada, id, 'Followed', 'an owl');
  }
  addPosts(hub, sourceId + 1, 1_000);
  await write(ada, sourceId, 'Not followed', 'an owl');

  assert.deepEqual(await titlesAt(ben, '/all?q=owl'), ['Followed']);
  assert.deepEqual(await titlesAt(ada, '/all?q=owl'), ['Not followed', 'Followed']);
});

test('what was found is marked in the title, the summary, or the text around it, and stays text', async (t) => {
  const { ada, sourceId } = await hubWithOwnPosts(t);
  await write(ada, sourceId, 'Die Straße <b>', 'kurz');
  await write(ada, sourceId, 'Weather', '東京都の天気は晴れです');
  await write(ada, sourceId, 'Deep', `${'Much that is said before. '.repeat(60)}An owl & <i>more</i>. ${'And after. '.repeat(60)}`);

  const shown = async (typed: string) => (await ada.get(`/all?${new URLSearchParams({ q: typed })}`)).text;
  assert.match(await shown('strasse'), /Die <mark>Straße<\/mark> &lt;b&gt;/);
  assert.match(await shown('天気'), /東京都の<mark>天気<\/mark>は晴れです/);
  assert.match(await shown('owl'), /…[a-zA-Z. ]{20,60}An <mark>owl<\/mark> &amp; &lt;i&gt;more/);
  assert.match(await shown('"much that"'), /<mark>Much that<\/mark> is said before/);
});

test('a search without a result says what was searched, how to widen it, and how searches are written', async (t) => {
  const { ada, sourceId } = await hubWithOwnPosts(t);
  await addFollow(ada, sourceId, { folder: 'Birds' });
  const page = async (path: string) => (await ada.get(path)).text;

  const unread = await page('/?q=newt');
  assert.match(unread, /No unread post matches “<span dir="auto">newt<\/span>”/);
  assert.match(unread, /href="\/all\?q=newt">All posts</);
  assert.match(unread, /<details class="syntax" open>/);
  const folder = await page('/folders/Birds?q=%3Cnewt');
  assert.match(folder, /rel="up" href="\/folders\/Birds"[^]*role="search" action="\/folders\/Birds"/);
  assert.match(folder, /No unread post in <span dir="auto">Birds<\/span> matches “<span dir="auto">&lt;newt</);
  assert.match(folder, /href="\/folders\/Birds\?show=all&amp;q=%3Cnewt">Include read posts</);
  assert.match(await page(`/sources/${sourceId}?q=newt`), /href="\/all\?q=newt">All of your sources</);
  assert.match(await page('/all?q=-newt'), /There is no word to look for/);
  assert.doesNotMatch(await page('/all'), /class="syntax"/);
});

const upTo = (last: number): number[] => Array.from({ length: last }, (_, n) => n + 1);

test('a search for a word that stands everywhere looks at so many posts at once, and on between turns of others', async (t) => {
  const { hub, sourceId } = await hubWithOwnPosts(t);
  const ben = await hub.person('ben');
  await addFollow(ben, sourceId);
  addPosts(hub, 1, 3_000, (n) => ({ title: `Owl ${n}`, publishedAt: n * 1_000 }));
  indexPosts(hub.handle);
  entries(hub.handle).setRead(2, upTo(3_000), true);
  entries(hub.handle).setRead(2, [1, 3, 2_999], false);

  const viewer = { id: 2, role: 'member' } as Viewer;
  const view = { kind: 'unread', q: 'owl' } as const;
  const few = listView(hub.handle, viewer, view, { limit: 30 });
  assert.deepEqual([few.items.map(({ id }) => id), few.next], [[2999, 3, 1], null], 'few are looked for by themselves');
  entries(hub.handle).setRead(2, upTo(1_200), false);
  const wanted = [2_999, ...Array.from({ length: 29 }, (_, below) => 1_200 - below)];
  assert.match((await ben.get('/?q=owl')).text, /<span role="status">More than 1 post</, 'its first step is counted');
  assert.deepEqual(await titlesAt(ben, '/?q=owl'), wanted.map((id) => `Owl ${id}`));
  assert.deepEqual((await itemsAt(ben, '/api/posts?view=unread&q=owl')).map(({ id }) => id), wanted);
  const { items, next } = listView(hub.handle, viewer, view, { limit: 30 });
  assert.deepEqual(items.map(({ id }) => id), [2999]);
  assert.ok(next && next.at < 2_998_000 && next.at > 1_300_000, 'one step looks at so many posts');
  const ended: string[] = [];
  setImmediate(() => ended.push('another request'));
  await wholePage(hub.handle, viewer, view, { limit: 30 }).then(() => ended.push('search'));
  assert.deepEqual(ended, ['another request', 'search']);
  assert.equal((await wholePage(hub.handle, viewer, view, { limit: 2 })).next?.id, 1_200);
});

test('each page of a search says how many posts it finds, whatever part of them the page shows', async (t) => {
  const { hub, ada } = await hubWithOwnPosts(t);
  addPosts(hub, 1, 45, (n) => ({ title: `Owl ${n}`, publishedAt: n * 1_000 }));
  indexPosts(hub.handle);
  const first = await ada.get('/all?q=owl');
  const next = /href="(\/all[^"]*cursor=[^"]*)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  for (const address of ['/all?q=owl', next, '/all?q=owl&by=relevance']) {
    assert.match((await ada.get(address)).text, /<span role="status">45 posts</, address);
  }
  assert.deepEqual([(await titlesAt(ada, '/all?q=owl')).length, (await titlesAt(ada, next)).length], [30, 15]);
});
