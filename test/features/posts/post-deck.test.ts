// Protects the line below a post's title: what its publisher says of it, and never what the text says anyway.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFeed, itemsAt } from '../../support/accounts.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';

const whole = (html: string): string => `<content:encoded><![CDATA[${html}]]></content:encoded>`;
const LONG = 'We measured eleven machines for half a year, and two that nobody had told us about. '.repeat(5);

const ITEMS: (Item & { deck: string | null })[] = [
  { guid: 'apart', content: 'The median did not move & <b>nobody</b> knows why.', extra: whole('<p>In May we changed one line.</p>'),
    deck: 'The median did not move &amp; nobody knows why.' },
  { guid: 'alone', content: '<p>Only a text, which is its own summary.</p>', deck: null },
  { guid: 'same', content: 'In May we changed one line.', extra: whole('<h2>In May</h2> <ul><li>we changed <i>one</i> line.</li></ul> More.'), deck: null },
  { guid: 'cut', content: `${LONG.slice(0, 200)} [&hellip;] Continue reading`, extra: whole(`<figure><img src="https://x.test/a.png" alt="x"></figure><p>${LONG}</p>`), deck: null },
  { guid: 'pictured', title: 'A walk', content: `We went <img src="https://x.test/a.png" alt="the hill"> up. ${LONG}`, deck: null },
  { guid: 'below', title: 'Far below', content: `<p>${'<a href="https://x.test/a-long-address-of-a-tag"></a>'.repeat(200)}</p><p>${LONG}</p>`, deck: null },
  { guid: 'title', title: 'The same as its title', content: 'The same as its title', extra: whole('<p>Something else.</p>'), deck: null },
];

test('a post says below its title what its publisher says of it, where the text says something else', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', ITEMS)) });
  await addFeed(ada, `${origin.url}/feed`, { visibility: 'public' });
  const posts = await itemsAt<{ id: number; url: string }>(ada, '/api/posts');
  assert.equal(posts.length, ITEMS.length);
  for (const { guid, deck } of ITEMS) {
    const id = posts.find(({ url }) => url.endsWith(`/${guid}`))?.id;
    for (const client of [ada, hub.anybody]) {
      const { text } = await client.page(`/posts/${id}`);
      const shown = /<p class="deck" dir="auto"[^>]*>([^<]*)<\/p>\s*<\/header>/.exec(text)?.[1] ?? null;
      assert.equal(shown, deck, guid);
    }
  }
});

test('the label of an image is no summary, in lists and below the title', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const image = '<img src="https://x.test/b.png" alt="A man stands on a hill">';
  const items = [
    { guid: 'comic', content: image, summary: '' }, { guid: 'linked', content: `<a href="/b">${image}</a>`, summary: '' },
    { guid: 'text', content: `<a href="/b">${image}</a> Up we went.`, summary: 'Up we went.' },
    { guid: 'link', content: `<a href="/b">Seals ${image}</a>`, summary: 'Seals' },
  ];
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', items)) });
  await addFeed(ada, `${origin.url}/feed`, { visibility: 'public' });
  const posts = await itemsAt<{ id: number; url: string; summary: string }>(ada, '/api/posts');
  for (const { guid, summary } of items) {
    const post = posts.find(({ url }) => url.endsWith(`/${guid}`));
    assert.equal(post?.summary, summary, guid);
    assert.doesNotMatch((await ada.page(`/posts/${post.id}`)).text, /class="deck"/, guid);
  }
});

test('the first words by which a post without a title is called stand on its page and in lists once', async (t) => {
  const hub = await startHub(t);
  const text = `We walked along the harbour until it was dark, and saw three seals on the pier, who looked at us for long.`;
  const items = [
    { guid: 'long', title: '', content: `<p>${text}</p>` }, { guid: 'short', title: '', content: 'A short note' },
    { guid: 'said', title: 'The river is frozen again', content: 'The river is frozen again. We skated.' },
    { guid: 'chance', title: 'We', content: 'We skated.' },
  ];
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', items)) });
  const ada = await hub.person('ada');
  await addFeed(ada, `${origin.url}/feed`, { visibility: 'public' });
  const posts = await itemsAt<{ id: number; url: string }>(ada, '/api/posts');
  const idOf = (guid: string): number | undefined => posts.find(({ url }) => url.endsWith(`/${guid}`))?.id;

  const list = (await ada.page('/all')).text;
  const rowOf = (guid: string): string[] => new RegExp(
    `id="t${idOf(guid)}"><a [^>]*>([^<]*)</a></h3>[^]*?<span class="sum">([^<]*)</span>`).exec(list)?.slice(1) ?? [];
  assert.deepEqual(rowOf('long'), [
    'We walked along the harbour until it was dark, and saw three seals on the pier…', 'who looked at us for long.',
  ]);
  assert.deepEqual(rowOf('short'), ['A short note', '']);
  assert.deepEqual(rowOf('said'), ['The river is frozen again', 'We skated.']);
  assert.deepEqual(rowOf('chance'), ['We', 'We skated.']);
  for (const client of [ada, hub.anybody]) {
    for (const [guid, isUnseen] of [['long', true], ['short', true], ['said', false], ['chance', false]] as const) {
      const { text: shown } = await client.page(`/posts/${idOf(guid)}`);
      assert.equal(/<h1 dir="auto" lang="" class="unseen">/.test(shown), isUnseen, guid);
      assert.doesNotMatch(shown, /class="deck"/);
    }
  }
});
