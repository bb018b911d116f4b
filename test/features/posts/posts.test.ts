// Protects posts as readers meet them: the contract's members, safe content, search, paging and deletion.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { attachments } from '../../../src/features/attachments/attachment-store.ts';
import { preparePosts } from '../../../src/features/posts/ingest-posts.ts';
import type { IncomingPost } from '../../../src/features/posts/post-store.ts';
import { posts } from '../../../src/features/posts/post-store.ts';
import { addNotes, addPost, addFeed, foundTitles } from '../../support/accounts.ts';
import type { Answer, Client } from '../../support/client.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { HOSTILE_MARKUP } from '../../support/hostile-markup.ts';
import { hubWith } from '../../support/hub.ts';
import { addPosts, storedPosts } from '../../support/stored-posts.ts';
import { startOrigin } from '../../support/origin.ts';
import { assertSanitised } from '../../support/sanitized-markup.ts';

type Post = {
  id: number;
  title: string;
  url: string | null;
  contentHtml: string;
  summary: string;
  publishedAt: string;
  attachments: { kind: string; filename: string; mediaType: string | null; bytes: number | null; url: string | null }[];
};
type PostList = { items: Post[]; next: string | null };

async function hubWithPosts(t: TestContext, items: Item[]) {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls &amp; more', items)) });
  const sourceId = await addFeed(ada, `${origin.url}/feed`);
  await hub.work(); // which reads a large feed
  return { hub, ada, sourceId };
}

/** All pages, followed by `next`; also checks that the Link header says the same. */
async function allPages(client: Client, query: string, onPage = async (): Promise<void> => {}): Promise<Post[]> {
  const posts: Post[] = [];
  let path: string | null = `/api/posts?${query}`;
  for (let pages = 0; path !== null; pages++) {
    assert.ok(pages < 100, 'the pages come to an end');
    const answer: Answer = await client.get(path);
    const { items, next } = answer.json<PostList>();
    posts.push(...items);
    const link: string | undefined = /^<([^>]+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
    assert.equal(link === undefined, next === null);
    assert.equal(new URL(link ?? '/', 'http://hub').searchParams.get('cursor'), next);
    path = link ?? null;
    await onPage();
  }
  return posts;
}

test('a post has exactly the members that the contract names', async (t) => {
  const extra = `<enclosure url="https://cdn.test/talks/a%20talk.mp3?x=1" type="audio/mpeg" length="1234"/>
    <author>ada@blog.test (Ada)</author>`;
  const { hub, sourceId } = await hubWithPosts(
    t, [{ guid: 'a', title: 'A', content: '<p>Some <b>text</b></p>', date: 'Tue, 01 Jan 2030 10:00:00 GMT', extra }],
  );
  const expected = {
    id: 1,
    source: { id: sourceId, title: 'Owls & more', kind: 'feed' },
    title: 'A',
    url: 'https://blog.test/a',
    author: 'Ada',
    contentHtml: '<p>Some <b>text</b></p>',
    summary: 'Some text',
    publishedAt: '2030-01-01T10:00:00.000Z',
    updatedAt: '2030-01-01T10:00:00.000Z',
    visibility: 'public',
    attachments: [{
      id: 1, kind: 'remote', filename: 'a talk.mp3', mediaType: 'audio/mpeg', bytes: 1234, sha256: null,
      url: 'https://cdn.test/talks/a%20talk.mp3?x=1', scan: 'unscanned',
    }],
  };

  assert.deepEqual((await hub.anybody.get('/api/posts/1')).json(), expected);
  assert.deepEqual((await hub.anybody.get('/api/posts')).json(), { items: [expected], next: null });
  assert.deepEqual((await hub.anybody.get(`/api/posts?source=${sourceId}`)).json(), { items: [expected], next: null });
});

test('content is sanitised before anybody sees it, titles and summaries are text', async (t) => {
  const hostile = Object.values(HOSTILE_MARKUP).flat().filter((markup) => !markup.includes(']]>'));
  const items = hostile.map(
    (content, n) => ({ guid: `h${n}`, title: `H${n} &lt;script&gt;ran=1&lt;/script&gt;`, content }),
  );
  const { hub } = await hubWithPosts(t, items);

  const posts = await allPages(hub.anybody, 'limit=100');
  assert.equal(posts.length, items.length);
  const alt = `(?:[^"<>&']|&(?:amp|lt|gt|quot|#39);)*`;
  const src = `${hub.config.baseUrl.replaceAll('.', '\\.')}/attachments/(\\d+)-[0-9a-f]{16}/[\\w.%-]+`;
  const images = new RegExp(`<img src="${src}" alt="${alt}" loading="lazy">`, 'g');
  let shown = 0;
  for (const { id, contentHtml } of posts) {
    const rest = contentHtml.replace(images, (_image, attachment: string) => {
      const image = attachments(hub.handle).find(Number(attachment));
      assert.equal(image?.postId, id, 'it is an image of this post');
      assert.match(image.remoteUrl ?? '', /^http/);
      shown += 1;
      return 'image';
    });
    assertSanitised(rest, contentHtml.slice(0, 300));
  }
  assert.ok(shown > 10, `${shown} images were among it`);
  for (const { id } of posts.slice(0, 5)) {
    const page = (await hub.anybody.page(`/posts/${id}`)).text;
    assert.doesNotMatch(page, /<script/i);
  }
  assert.doesNotMatch((await hub.anybody.page('/')).text, /<script/i);
});

test('words are found in titles, texts and authors, in any case and with or without their accents', async (t) => {
  const { hub } = await hubWithPosts(t, [
    { guid: 'a', title: 'Über Käuze', content: '<p>Naïve résumé</p>' },
    {
      guid: 'b', title: 'Barn owls', content: '<p>They hunt <b>voles</b> at night</p>',
      extra: '<author>x@y.test (Grace Hopper)</author>',
    },
    { guid: 'c', title: 'Tawny owls', content: '<p>Night calls. 東京 запись</p>' },
  ]);
  const cases: [typed: string, found: string[]][] = [
    ['owls', ['Barn owls', 'Tawny owls']],
    ['OWLS', ['Barn owls', 'Tawny owls']],
    ['uber kauze', ['Über Käuze']],
    ['ÜBER', ['Über Käuze']],
    ['résumé', ['Über Käuze']],
    ['resume naive', ['Über Käuze']],
    ['voles', ['Barn owls']],
    ['hopper', ['Barn owls']],
    ['owls night', ['Barn owls', 'Tawny owls']],
    ['owls voles', ['Barn owls']],
    ['owls résumé', []],
    ['запись', ['Tawny owls']],
    ['東京', ['Tawny owls']],
    ['bar', ['Barn owls']],
    ['ba', []], // two letters begin too many words
    ['b', []],
    ['запи', ['Tawny owls']],
    ['東', ['Tawny owls']],
  ];
  for (const [typed, found] of cases) assert.deepEqual(await foundTitles(hub.anybody, typed), found, typed);
});

test('operators of the search engine that people type do no harm and have no meaning', async (t) => {
  const { hub } = await hubWithPosts(
    t, [{ guid: 'a', title: 'Owls', content: 'owls and c++ or title near body not nothing' }],
  );

  const typed = [
    'owls AND', 'OR', 'NOT owls', 'owls NOT', 'NEAR(owls body)', 'NEAR', 'title:owls', 'title : owls',
    '{title body}: owls', '-owls', '+owls', '^owls',
    'owls*', '*', '**', '"', '""', '"""', '"owls', 'owls"', '"owls""', "'", "owls'; drop table posts;--", '(', ')',
    '((owls)', 'owls)', 'c++', '.NET',
    'a.b:c', '\\', '%', '_', 'owls\0body', '\u0000', '\ud800', '\ufffe', '😀', 'x'.repeat(5_000), 'owls '.repeat(500),
    '"a" '.repeat(300), '𞤀𞤁', 'ᲀ',
    '{', '}', ':', 'rowid:1', 'rank', 'posts_words', '\n\t', '@', '#owls', 'owls/body', 'owls--body', '¿owls?',
  ];
  for (const text of typed) {
    for (const path of ['/api/posts', '/']) {
      const answer = await hub.anybody.get(`${path}?${new URLSearchParams({ q: text })}`);
      assert.equal(answer.status, 200, `${JSON.stringify(text.slice(0, 60))}: ${answer.text.slice(0, 200)}`);
    }
  }
  assert.deepEqual(await foundTitles(hub.anybody, 'title:owls'), ['Owls']);
  assert.deepEqual(await foundTitles(hub.anybody, 'owls AND'), ['Owls']);
  assert.deepEqual(await foundTitles(hub.anybody, 'owls OR unicorns'), ['Owls']);
  assert.deepEqual(await foundTitles(hub.anybody, 'c++'), ['Owls']);
});

test('a search for nothing that can be found finds nothing; an empty one is the whole list', async (t) => {
  const { hub } = await hubWithPosts(t, [{ guid: 'a', title: 'Owls' }]);

  assert.deepEqual(await foundTitles(hub.anybody, '!!!'), []);
  assert.deepEqual(await foundTitles(hub.anybody, ''), ['Owls']);
  assert.deepEqual(await foundTitles(hub.anybody, '   '), ['Owls']);
});

test('what was changed is found by its new words only, what was deleted by none', async (t) => {
  const items: Item[] = [{ guid: 'a', title: 'Sparrows', content: 'small' }];
  const { hub, ada } = await hubWithPosts(t, items);
  items[0] = { guid: 'a', title: 'Eagles', content: 'large' };
  await hub.work(2 * 24 * 3_600_000);

  assert.deepEqual(await foundTitles(hub.anybody, 'sparrows'), []);
  assert.deepEqual(await foundTitles(hub.anybody, 'eagles large'), ['Eagles']);
  assert.equal((await ada.delete('/api/posts/1')).status, 204);
  assert.deepEqual(await foundTitles(hub.anybody, 'eagles'), []);
});

test('paging shows every post once, newest first, with equal times too, and while others come in', async (t) => {
  const same = 'Tue, 01 Jan 2030 10:00:00 GMT';
  const items = Array.from(
    { length: 57 },
    (_, n): Item => ({
      guid: `p${n}`,
      title: `P${n} word`,
      date: n < 30 ? same : `Mon, 0${1 + (n % 7)} Dec 2029 10:00:00 GMT`,
    }),
  );
  const { hub, ada, sourceId } = await hubWithPosts(t, items);
  const all = await allPages(hub.anybody, 'limit=100');
  assert.equal(all.length, 57);
  const addNewer = async () => void addPosts(hub, sourceId, 1, () => ({ title: 'newer', publishedAt: hub.now() }));

  for (const query of [
    'limit=7', 'limit=1', 'limit=10&q=word', `limit=9&source=${sourceId}`, `limit=4&q=word&source=${sourceId}`,
  ]) {
    for (const client of [hub.anybody, ada]) {
      const ids = (await allPages(client, query, addNewer)).filter(({ title }) => title !== 'newer').map(({ id }) => id);
      assert.deepEqual(ids, all.map(({ id }) => id), query);
      for (const { title, guid } of storedPosts(hub)) if (title === 'newer') posts(hub.handle).remove(sourceId, guid);
    }
  }
  const times = all.map(({ publishedAt, id }) => [publishedAt, id] as const);
  assert.deepEqual(times, times.toSorted((a, b) => (b[0] < a[0] ? -1 : b[0] > a[0] ? 1 : b[1] - a[1])));
});

test('a private post is labelled only if its author also has a public source of own posts', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const post = await addPost(ada, await addNotes(ada, 'Diary', 'private'));
  const labels = async (id: number): Promise<number> => (await ada.page(`/posts/${id}`)).text.split('class="tag">private<').length - 1;
  assert.equal(await labels(post), 0);
  const shown = await addPost(ada, await addNotes(ada, 'News', 'public'));
  assert.deepEqual([await labels(post), await labels(shown)], [1, 0]);
});

test('own private posts stand among the public ones, page after page', async (t) => {
  const day = (n: number) => `${String(1 + n).padStart(2, '0')} Dec 2029 10:00:00 GMT`;
  const { hub, ada } = await hubWithPosts(
    t, Array.from({ length: 10 }, (_, n) => ({ guid: `a${n}`, title: `open ${n}`, date: day(2 * n) })),
  );
  const origin = await startOrigin(
    t,
    { '/private': serving(() => rss(
      'Mine', Array.from({ length: 10 }, (_, n) => ({ guid: `b${n}`, title: `own ${n}`, date: day(2 * n + 1) })),
    )) },
  );
  await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/private`, visibility: 'private' });

  const seen = await allPages(ada, 'limit=3');
  assert.equal(seen.length, 20);
  assert.deepEqual(seen.slice(0, 4).map(({ title }) => title), ['own 9', 'open 9', 'own 8', 'open 8']);
  assert.equal(new Set(seen.map(({ id }) => id)).size, 20);
  assert.equal((await allPages(hub.anybody, 'limit=3')).length, 10);
  assert.equal((await foundTitles(ada, 'own')).length, 10);
  assert.equal((await foundTitles(hub.anybody, 'own')).length, 0);
});

test('a limit out of bounds, a cursor of one\'s own making or a source that is no id is 400', async (t) => {
  const { hub, sourceId } = await hubWithPosts(t, Array.from({ length: 3 }, (_, n) => ({ guid: `p${n}` })));

  const cursor = (await hub.anybody.get('/api/posts?limit=1')).json<PostList>().next ?? '';
  const encoded = (text: string) => Buffer.from(text).toString('base64url');
  for (const query of [
    'limit=0', 'limit=101', 'limit=', 'limit=ten', 'limit=1.5', 'cursor=x', 'cursor=AAAA', `cursor=${encoded('1')}`,
    `cursor=${encoded("1.1' OR 1=1")}`, `cursor=${encoded('99999999999999999999.1')}`, 'source=x', 'source=0', 'source=1.5',
  ]) {
    const answer = await hub.anybody.get(`/api/posts?${query}`);
    assert.equal(answer.status, 400, query);
    assert.equal(answer.json()['status'], 400);
  }
  for (const query of ['limit=1', 'limit=100', `cursor=${cursor}`, 'cursor=', 'source=', `source=${sourceId}`]) {
    assert.equal((await hub.anybody.get(`/api/posts?${query}`)).status, 200, query);
  }
  assert.equal((await hub.anybody.get('/api/posts?source=999')).status, 404);
  assert.equal((await hub.anybody.get('/?cursor=x', { accept: 'text/html' })).status, 400);
});

test('thirty posts are a page unless more or fewer are asked for', async (t) => {
  const { hub } = await hubWithPosts(t, Array.from({ length: 35 }, (_, n) => ({ guid: `p${n}` })));

  const count = async (query: string) => (await hub.anybody.get(`/api/posts${query}`)).json<PostList>().items.length;
  assert.deepEqual([await count(''), await count('?limit=100'), await count('?limit=2')], [30, 35, 2]);
  const page = (await hub.anybody.page('/')).text;
  assert.match(page, /rel="next" href="\/public\?cursor=[\w-]+"/);
});

test('the search stays with the reader from page to page', async (t) => {
  const { hub } = await hubWithPosts(t, Array.from({ length: 35 }, (_, n) => ({ guid: `p${n}`, title: 'A & B' })));

  const page = (await hub.anybody.page('/?q=A+%26+B')).text;
  const older = /rel="next" href="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? '';
  assert.equal(new URL(older, 'http://hub').searchParams.get('q'), 'A & B');
  const second = (await hub.anybody.page(older)).text;
  assert.equal(second.match(/<article /g)?.length, 5);
  assert.match(second, /value="A &amp; B"/);
});

test("a new member of a feed's post leaves the hash as version 1.0.0 stored it, and so do other orders of members", async (t) => {
  const { hub } = await hubWithPosts(t, []);
  const file = { url: 'https://blog.test/1.mp3', mediaType: 'audio/mpeg', bytes: 9, title: null, durationSeconds: 60 };
  const post = {
    guid: '1', title: 'Owl', url: 'https://blog.test/1', author: 'Ada', language: 'en', contentHtml: '<p>Hoo</p>',
    baseUrl: 'https://blog.test/', summary: null, publishedAt: null, updatedAt: null, attachments: [file],
  } as IncomingPost; // without members that later versions have
  const hashOf = async (one: IncomingPost) => (await preparePosts(hub.handle, null, [one]))[0]?.prepared.contentHash;
  const stored = 'IQYhIy9Adk7kGLaXSWermFd9m9V5RcaaWdXzNRYiKFA'; // by version 1.0.0
  const longer = { newMember: 'anything', ...post, attachments: [{ width: 1, ...file }] };
  const reversed = Object.fromEntries(Object.entries(post).reverse()) as IncomingPost;

  assert.deepEqual(await Promise.all([post, longer, reversed].map(hashOf)), [stored, stored, stored]);
  assert.notEqual(await hashOf({ ...post, title: 'Owls' }), stored);
  assert.notEqual(await hashOf({ ...post, attachments: [{ ...file, bytes: 10 }] }), stored);
});
