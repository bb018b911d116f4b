// Protects what readers hear and see of foreign texts: each is marked with the language that its publisher names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFeed } from '../../../src/features/feeds/parse-feed.ts';
import { addFeed, itemsAt } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { startHub } from '../../support/hub.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { startOrigin } from '../../support/origin.ts';

const ADDRESS = 'https://owls.test/feed';
const languages = (document: string): (string | null)[] =>
  parseFeed(Buffer.from(document), { url: ADDRESS, contentType: null }).items.map(({ language }) => language);

test('the language of a post is what the item says, else the feed; what can be none is left out', () => {
  const items = [{ guid: '1' }, { guid: '2', extra: '<dc:language>ja</dc:language>' }, { guid: '3', extra: '<language>no language</language>' }];
  assert.deepEqual(languages(rss('Owls', items, '<language> sv_SE </language>')), ['sv-SE', 'ja', 'sv-SE']);
  assert.deepEqual(languages(rss('Owls', items)), [null, 'ja', null]);
  assert.deepEqual(languages(rss('Owls', items, '<language>"><script></language>')), [null, 'ja', null]);
  const entry = (id: string, about: string) => `<entry ${about}><id>${id}</id><title>Owl ${id}</title><content>Text ${id}</content></entry>`;
  const atom = (about: string) =>
    `<feed xmlns="http://www.w3.org/2005/Atom" ${about}><title>Owls</title>${entry('1', '')}${entry('2', 'xml:lang="ar"')}</feed>`;
  assert.deepEqual(languages(atom('xml:lang="de"')), ['de', 'ar']);
  assert.deepEqual(languages(atom('')), [null, 'ar']);
  const json = (about: object) => JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1', title: 'Owls', ...about,
    items: [{ id: '1', content_text: 'One' }, { id: '2', content_text: 'Two', language: 'zh-Hant' }],
  });
  assert.deepEqual(languages(json({ language: 'fr' })), ['fr', 'zh-Hant']);
  assert.deepEqual(languages(json({ language: 7 })), [null, 'zh-Hant']);
});

test('titles and texts say their language on every page and in the feeds of the hub', async (t) => {
  const hub = await startHub(t);
  const origin = await startOrigin(t, {
    '/feed': serving(() => rss('雨の日記', [{ guid: '1', title: '朝の市場で', content: '傘をさして' }], '<language>ja</language>')),
  });
  const ada = await hub.person('ada');
  const id = await addFeed(ada, `${origin.url}/feed`, { visibility: 'public' });
  const [post] = await itemsAt<{ id: number }>(ada, '/api/posts');
  assert.match((await ada.page('/')).text, /<div class="text" lang="ja">\s*<h3[^]*朝の市場で/);
  for (const client of [ada, hub.anybody]) {
    const { text } = await client.page(`/posts/${post?.id}`);
    assert.match(text, /<h1 dir="auto" lang="ja">朝の市場で<\/h1>[^]*<div class="prose" dir="auto" lang="ja">/);
  }
  assert.match((await hub.anybody.page('/')).text, /<h2 lang="ja">/);
  assert.match((await hub.anybody.page(`/sources/${id}`)).text, /<h2 dir="auto" lang="ja">/);
  assert.match((await hub.anybody.get('/posts.atom')).text, /<entry xml:lang="ja">/);
  const feed = (await hub.anybody.get('/posts.json')).json<{ items: { language?: string }[] }>();
  assert.equal(feed.items[0]?.language, 'ja');
});

test('a text of which nobody says the language is not called English', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  await ada.post('/api/posts', { sourceId, title: 'Uggla', content: 'Fem.' });
  assert.match((await hub.anybody.page('/posts/1')).text, /<h1 dir="auto" lang="">Uggla<\/h1>/);
  assert.match((await hub.anybody.get('/posts.atom')).text, /<entry>/);
});
