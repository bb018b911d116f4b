// Protects what people see of full texts without the script, and how the owner of a source is offered full texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { articlePage, htmlPage, hubWithTeasers, teaser } from '../../support/full-texts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';

const WHOLE = /<article><h1>Barn owls<\/h1>([^]*)<\/article>/.exec(articlePage('Tyto alba'))?.[1] ?? '';

test('without the script, the button leads back to the page of the list, which waits for the full text', async (t) => {
  const { hub, ada, posts: [id = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) });
  const from = `/unread/posts/${id}?since=5`;
  const answer = await ada.form(`/posts/${id}/full-text`, { from, text: 'full' });
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, `${from}&text=full`]);
  const waiting = (await ada.page(`${from}&text=full`)).text;
  assert.match(waiting, /http-equiv="refresh"/);
  assert.match(waiting, /hunts voles/, 'the teaser stays until then');
  await hub.work();
  const shown = (await ada.page(`${from}&text=full`)).text;
  assert.match(shown, /Tyto alba/);
  assert.doesNotMatch(shown, /http-equiv="refresh"/);
  const back = await ada.form(`/posts/${id}/full-text`, { from: `${from}&text=full`, text: 'feed' });
  assert.doesNotMatch((await ada.page(back.headers.get('location') ?? '')).text, /Tyto alba/);
});

test('after five uses of the button on a source, its owner is offered to always fetch full texts, until the owner chooses', async (t) => {
  const { hub, ada, bob, sourceId, posts: [id = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) });
  const page = async (client = ada): Promise<string> => (await client.page(`/posts/${id}`)).text;
  for (let uses = 1; uses <= 5; uses++) {
    assert.doesNotMatch(await page(), /Always fetch/, `after ${uses - 1} uses`);
    await bob.form(`/posts/${id}/full-text`, { from: `/posts/${id}`, text: 'full' });
    await hub.work();
  }
  assert.match(await page(), /Always fetch the full\s+text\?/);
  assert.doesNotMatch(await page(bob), /Always fetch/, 'only the owner is asked');
  const declined = await ada.form(`/sources/${sourceId}/full-text`, { fullText: 'asked' });
  assert.equal(declined.status, 303);
  assert.doesNotMatch(await page(), /Always fetch/);
});

/** A hub whose ada has just added a feed by its page; `content`: of the feed's posts a, b, c and d, whose pages are there. */
async function addedByPage(t: Parameters<typeof hubWithTeasers>[0], content: string) {
  const names = ['a', 'b', 'c', 'd'];
  const made = await hubWithTeasers(t, Object.fromEntries(names.map((name) => [name, htmlPage(articlePage('Tyto alba'))])));
  const { hub, ada, routes, publisher } = made;
  routes['/other'] = serving(() => rss('Other owls', names.map((name) => teaser(publisher.url, name, { content }))));
  publisher.requests.length = 0;
  const added = await ada.form('/sources', { kind: 'feed', url: `${publisher.url}/other`, visibility: 'private' });
  const [, path = ''] = /^(\/sources\/\d+)\?/.exec(added.headers.get('location') ?? '') ?? [];
  return { ...made, path, page: async () => (await ada.page(path)).text, pagesAsked: () => made.asked().filter((one) => names.includes(one.slice(1))).length, hub };
}

test('a new feed of teasers is found out by three of its pages, and its owner sees both texts side by side', async (t) => {
  const { hub, ada, path, page, pagesAsked } = await addedByPage(t, '<p>The barn owl hunts voles at night over the meadows…</p>');
  assert.match(await page(), /Comparing three posts with their pages/);
  await hub.fetchFullTexts();
  assert.equal(pagesAsked(), 3);
  const shown = await page();
  assert.match(shown, /seems to send only beginnings[^]*<h3>As in the feed<\/h3>[^]*<h3>Full text<\/h3>[^]*name="fullTextOfLast"/);
  await ada.form(`${path}/full-text`, { fullText: 'always' });
  assert.doesNotMatch(await page(), /seems to send only beginnings/);
  const settings = (await ada.page(`${path}/settings`)).text;
  assert.match(settings, /name="fullText" value="always" checked/);
  assert.match(settings, /The hub fetched 3 pages, and found 3 full texts\./);
  assert.match((await ada.page('/admin')).text, /Full texts<\/h2><\/div><p>The hub fetched 3 pages, and found 3 full texts\./);
  assert.match((await ada.page('/sources?show=mine')).text, /The hub fetched 3 pages, and found 3 full texts\./);
  assert.equal((await ada.get(`/api${path}`)).json<{ fullText: string }>().fullText, 'always');
});

test('a new feed that has the whole text makes no offer', async (t) => {
  const { hub, page, pagesAsked } = await addedByPage(t, WHOLE);
  await hub.fetchFullTexts();
  assert.equal(pagesAsked(), 3);
  assert.doesNotMatch(await page(), /teasers|comparing/);
});

test('a source of own posts has no full texts', async (t) => {
  const { ada, sourceId: own } = await hubWithOwnPosts(t);
  assert.equal((await ada.patch(`/api/sources/${own}`, { fullText: 'always' })).status, 422);
  assert.doesNotMatch((await ada.page(`/sources/${own}/settings`)).text, /id="full-text"/);
});
