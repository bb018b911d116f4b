// Protects the feeds that the hub gives out: valid for any reader, with lasting ids, private ones for their owner.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test, type TestContext } from 'node:test';
import { atomFeed, jsonFeed, showAtomFeed, type OutputFeed } from '../../../src/features/posts/output-feed-routes.ts';
import { parseFeed } from '../../../src/features/feeds/parse-feed.ts';
import type { HubRequest } from '../../../src/platform/http/router.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { migrateAnew } from '../../support/migrated-database.ts';
import { startOrigin } from '../../support/origin.ts';
import { addFeed, addPost } from '../../support/accounts.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { requireTool } from '../../support/tools.ts';
import { parseStrictXml, type XmlNode } from '../../support/strict-xml.ts';

type JsonFeed = {
  version: string;
  title: string;
  home_page_url: string;
  feed_url: string;
  items: Record<string, unknown>[];
};

const ATOM = 'http://www.w3.org/2005/Atom';
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const EXTRA = `<enclosure url="https://cdn.test/a.mp3?x=1&amp;y=2" type="audio/mpeg" length="99"/>
  <author>a@b.test (Ada &amp; Co)</author>`;
const ITEMS: Item[] = [
  { guid: 'a', title: 'Plain', date: 'Tue, 01 Jan 2030 10:00:00 GMT', extra: EXTRA },
  {
    guid: 'b', title: 'Signs &amp;lt; &amp;amp; "quotes" ]]&gt; 漢字 😀',
    content: '<p>a &lt; b &amp;&amp; "c" ]] &gt;</p>', date: 'Wed, 02 Jan 2030 10:00:00 GMT',
  },
  { guid: 'c', title: '', content: '', date: 'Thu, 03 Jan 2030 10:00:00 GMT' },
];

async function hubWithFeed(t: TestContext, items: Item[] = ITEMS, visibility = 'public') {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls &amp; more', items)) });
  return { hub, ada, sourceId: await addFeed(ada, `${origin.url}/feed`, { visibility }) };
}

async function read(client: Client, path: string): Promise<string> {
  const answer = await client.get(path);
  assert.equal(answer.status, 200, path);
  return answer.text;
}

function childrenNamed(node: XmlNode, name: string): XmlNode[] {
  return node.children.filter((child) => child.name === name);
}

function only(node: XmlNode, name: string): XmlNode {
  const found = childrenNamed(node, name);
  assert.equal(found.length, 1, `one ${name} in ${node.name}`);
  return found[0] as XmlNode;
}

/** The rules of RFC 4287 for what the hub writes. */
function assertValidAtom(document: string): XmlNode[] {
  const feed = parseStrictXml(document);
  assert.equal(feed.name, 'feed');
  assert.equal(feed.attributes.get('xmlns'), ATOM);
  const entries = childrenNamed(feed, 'entry');
  for (const node of [feed, ...entries]) {
    assert.ok(URL.canParse(only(node, 'id').text), 'an id is an IRI');
    only(node, 'title');
    assert.match(only(node, 'updated').text, RFC_3339);
    for (const link of childrenNamed(node, 'link')) {
      assert.ok(URL.canParse(link.attributes.get('href') ?? ''), 'a link leads somewhere');
    }
    const alternates = childrenNamed(node, 'link').filter((link) => link.attributes.get('rel') === 'alternate');
    assert.equal(alternates.length, 1);
  }
  assert.equal(childrenNamed(feed, 'link').filter((link) => link.attributes.get('rel') === 'self').length, 1);
  const ids = entries.map((entry) => only(entry, 'id').text);
  assert.equal(new Set(ids).size, ids.length);
  for (const entry of entries) {
    assert.notEqual(only(only(entry, 'author'), 'name').text.trim(), '');
    assert.match(only(entry, 'published').text, RFC_3339);
    assert.equal(only(entry, 'content').attributes.get('type'), 'html');
  }
  return entries;
}

function assertValidJsonFeed(document: string): JsonFeed {
  const feed: JsonFeed = JSON.parse(document);
  assert.equal(feed.version, 'https://jsonfeed.org/version/1.1');
  assert.equal(typeof feed.title, 'string');
  assert.ok(URL.canParse(feed.feed_url) && URL.canParse(feed.home_page_url));
  const ids = feed.items.map((item) => item['id']);
  assert.equal(new Set(ids).size, ids.length);
  for (const item of feed.items) {
    assert.equal(typeof item['id'], 'string');
    assert.ok(typeof item['content_html'] === 'string' || typeof item['content_text'] === 'string');
    assert.ok(URL.canParse(String(item['url'])));
    for (const name of ['date_published', 'date_modified']) assert.match(String(item[name]), RFC_3339);
    for (const attachment of (item['attachments'] ?? []) as Record<string, unknown>[]) {
      assert.equal(typeof attachment['url'], 'string');
      assert.match(String(attachment['mime_type']), /^[\w.+-]+\/[\w.+-]+$/);
    }
  }
  return feed;
}

test('the Atom feeds are valid and hold the posts, newest first', async (t) => {
  const { hub, sourceId } = await hubWithFeed(t);

  for (const path of ['/posts.atom', `/sources/${sourceId}.atom`]) {
    const entries = assertValidAtom(await read(hub.anybody, path));
    assert.equal(entries.length, 3);
    const [, signs, plain] = entries;
    assert.equal(only(plain as XmlNode, 'title').text, 'Plain');
    assert.equal(only(only(plain as XmlNode, 'author'), 'name').text, 'Ada & Co');
    assert.equal(only(plain as XmlNode, 'content').text, '<p>Text of a</p>');
    const enclosure = childrenNamed(plain as XmlNode, 'link').find(
      (link) => link.attributes.get('rel') === 'enclosure',
    );
    assert.deepEqual(
      Object.fromEntries(enclosure?.attributes ?? []),
      { rel: 'enclosure', href: 'https://cdn.test/a.mp3?x=1&y=2', type: 'audio/mpeg', length: '99' },
    );
    assert.equal(only(signs as XmlNode, 'content').text, '<p>a &lt; b &amp;&amp; &quot;c&quot; ]] &gt;</p>');
  }
  const feed = parseStrictXml(await read(hub.anybody, `/sources/${sourceId}.atom`));
  assert.equal(only(feed, 'title').text, 'Owls & more');
  assert.equal(only(feed, 'updated').text, '2030-01-03T10:00:00.000Z');
});

test('the Atom feeds are well-formed for another reader too', async (t) => {
  if (!requireTool(t, 'xmllint')) return;
  const { hub } = await hubWithFeed(t);

  const run = spawnSync('xmllint', ['--nonet', '--noout', '-'], { input: await read(hub.anybody, '/posts.atom') });
  assert.equal(run.status, 0, String(run.stderr));
});

test('the JSON feeds have the members that JSON Feed 1.1 requires, and hold the posts', async (t) => {
  const { hub, sourceId } = await hubWithFeed(t);

  for (const path of ['/posts.json', `/sources/${sourceId}.json`]) {
    const answer = await hub.anybody.get(path);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/feed\+json/);
    const feed = assertValidJsonFeed(answer.text);
    assert.equal(feed.feed_url, hub.config.baseUrl + path);
    const plain = feed.items[2] ?? {};
    assert.equal(plain['title'], 'Plain');
    assert.deepEqual(
      plain['attachments'], [{ url: 'https://cdn.test/a.mp3?x=1&y=2', mime_type: 'audio/mpeg', size_in_bytes: 99 }],
    );
    assert.deepEqual(plain['authors'], [{ name: 'Ada & Co' }]);
  }
});

test('the hub reads its own feeds back: titles, contents, links, dates and enclosures', async (t) => {
  const { hub } = await hubWithFeed(t);
  const posts = (await hub.anybody.get('/api/posts')).json<{ items: Record<string, unknown>[] }>().items;

  for (const [path, contentType] of [['/posts.atom', 'application/atom+xml'], [
    '/posts.json', 'application/feed+json',
  ]] as const) {
    const { items, title } = parseFeed(
      Buffer.from(await read(hub.anybody, path)),
      { url: hub.config.baseUrl + path, contentType },
    );
    assert.equal(title, 'Content Hub');
    assert.deepEqual(
      items.map((item) => [item.contentHtml, item.url, item.publishedAt, item.attachments.map(({ url }) => url)]),
      posts.map((post) => [post['contentHtml'], post['url'], Date.parse(String(post['publishedAt'])),
        (post['attachments'] as { url: string }[]).map(({ url }) => url)]),
      path,
    );
    assert.equal(items[2]?.title, 'Plain');
    assert.equal(items[1]?.title, posts[1]?.['title']);
  }
});

test('characters that XML cannot hold are left out, whatever was stored', () => {
  const feed: OutputFeed = {
    id: 'urn:uuid:0', title: 'a\u0000b\u0008c\ufffe', url: 'https://hub.test/x?a=1&b="2"', homeUrl: 'https://hub.test/',
    posts: [{
      id: 1, sourceId: 1, sourceTitle: 's\u001b', sourceKind: 'feed', sourceIdSeed: '0', ownerId: 1, guid: 'g', firstGuid: 'g',
      title: '\u0001\uffff<&>"\'\ud800', url: null, author: null, language: 'sv',
      contentHtml: '<p>\u000b\u000c tab\tline\n end</p>', summary: ']]>\u001f', publishedAt: 0, updatedAt: 0,
      isPublic: 1, createdAt: 0, searchKey: 0, contentBytes: 0,
      attachments: [{
        id: 1, urlKey: '0', postId: 1, kind: 'remote', filename: 'f', mediaType: 'a/b"c', bytes: null, sha256: null,
        remoteUrl: 'https://x.test/?a=<&b=\u0002', title: null, durationSeconds: null, isInline: 0, scan: null, width: null, height: null,
      }],
    }],
  };
  const hub = { config: { baseUrl: 'https://hub.test', attachmentCacheMaxBytes: 1 } };
  const document = Buffer.from([...atomFeed(hub, feed)].join('')).toString();
  const [entry] = assertValidAtom(document);
  assert.equal(only(entry as XmlNode, 'title').text, '<&>"\'\ufffd');
  assert.equal(only(entry as XmlNode, 'content').text, '<p> tab\tline\n end</p>');
  assertValidJsonFeed([...jsonFeed(hub, { ...feed, posts: [] })].join(''));
});

const URN = /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The ids of a feed and its entries; of the JSON feed those of its items. */
async function idsIn(client: Client, path: string): Promise<string[]> {
  const text = await read(client, path);
  if (path.endsWith('.json')) return assertValidJsonFeed(text).items.map(({ id }) => String(id));
  const feed = parseStrictXml(text);
  return [feed, ...childrenNamed(feed, 'entry')].map((node) => only(node, 'id').text);
}

test('ids of feeds and posts are the same in both formats, hold no address, and stay when BASE_URL changes', async (t) => {
  const { hub, ada, sourceId } = await hubWithFeed(t);
  const before = await idsIn(hub.anybody, '/posts.atom');
  for (const id of before) assert.match(id, URN);
  assert.deepEqual(await idsIn(hub.anybody, '/posts.json'), before.slice(1));
  assert.deepEqual((await idsIn(hub.anybody, `/sources/${sourceId}.atom`)).slice(1), before.slice(1));

  await ada.patch(`/api/sources/${sourceId}`, { title: 'Renamed' });
  const moved = { ...hub.handle, config: { ...hub.config, baseUrl: 'https://elsewhere.test' } };
  const { body } = await showAtomFeed(moved, { path: '/posts.atom', params: {} as Record<string, string> } as HubRequest);
  const feed = parseStrictXml(String(body));
  assert.match(String(body), /https:\/\/elsewhere\.test\/posts\.atom/);
  assert.deepEqual([feed, ...childrenNamed(feed, 'entry')].map((node) => only(node, 'id').text), before);
});

test('another hub, and another source with the same feed, have other ids', async (t) => {
  const one = await hubWithFeed(t);
  migrateAnew();
  const other = await hubWithFeed(t);
  const bob = await one.hub.person('bob');
  const [own] = (await one.ada.get('/api/sources')).json<{ items: { url: string }[] }>().items;
  await one.ada.patch(`/api/sources/${one.sourceId}`, { visibility: 'private' });
  const again = (await bob.post('/api/sources', { kind: 'feed', url: own?.url })).json<{ id: number }>().id;
  await one.ada.patch(`/api/sources/${one.sourceId}`, { visibility: 'public' });
  const ids = [
    ...await idsIn(one.hub.anybody, '/posts.atom'), ...await idsIn(other.hub.anybody, '/posts.atom'),
    ...(await idsIn(one.hub.anybody, `/sources/${one.sourceId}.atom`)).slice(0, 1),
    ...(await idsIn(one.hub.anybody, `/sources/${again}.atom`)).slice(0, 1),
  ];
  assert.equal(new Set(ids).size, ids.length);
});

test('a hub without posts has valid feeds without entries', async (t) => {
  const { anybody } = await startHub(t);

  assert.deepEqual(assertValidAtom(await read(anybody, '/posts.atom')), []);
  assert.deepEqual(assertValidJsonFeed(await read(anybody, '/posts.json')).items, []);
});

test('who has the newest posts already gets 304, and everything again when there is more', async (t) => {
  const { hub, ada, sourceId } = await hubWithFeed(t);

  for (const path of ['/posts.atom', '/posts.json', `/sources/${sourceId}.atom`, `/sources/${sourceId}.json`]) {
    const first = await hub.anybody.get(path);
    const etag = { 'if-none-match': first.headers.get('etag') ?? '' };
    assert.equal(first.headers.get('cache-control'), 'public, max-age=0, must-revalidate', path);
    assert.equal((await hub.anybody.get(path, etag)).status, 304, path);
    await ada.patch(`/api/sources/${sourceId}`, { title: `Renamed for ${path}` });
    assert.equal((await hub.anybody.get(path, etag)).status, 200, path);
  }
});

test('thirty posts are in a feed, the newest', async (t) => {
  const items = Array.from(
    { length: 40 },
    (_, n): Item => ({ guid: `p${n}`, title: `P${n}`, date: new Date(Date.UTC(2029, 0, 1 + n)).toUTCString() }),
  );
  const { hub } = await hubWithFeed(t, items);

  const entries = assertValidAtom(await read(hub.anybody, '/posts.atom'));
  assert.deepEqual(
    entries.map((entry) => only(entry, 'title').text),
    items.slice(-30).reverse().map(({ title }) => title),
  );
});

test('a feed holds a mebibyte of contents at most: a longer post is there with its summary and link, also as the newest', async (t) => {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  await addPost(ada, sourceId, 'Short', 'Few words');
  for (const format of ['atom', 'json']) assert.match(await read(hub.anybody, `/posts.${format}`), /Few words/);
  await addPost(ada, sourceId, 'Endless', '&'.repeat(400_000)); // two megabytes as HTML

  const atom = await read(hub.anybody, '/posts.atom');
  assert.ok(atom.length < 10_000, `${atom.length} characters`);
  assert.deepEqual(atom.match(/<content.*/g), ['<content type="html">&lt;p&gt;Few words&lt;/p&gt;</content>'], 'the older one has room');
  assert.match(atom, /<title>Endless<[^]*posts\/2"[^]*<summary>&amp;&amp;/);
  const { items } = JSON.parse(await read(hub.anybody, '/posts.json')) as { items: { content_text?: string; url: string }[] };
  assert.ok(items[0]?.content_text && items[0].url.endsWith('/posts/2'));
});

test('the feeds of a private source are for its owner, kept by nobody else', async (t) => {
  const { hub, ada, sourceId } = await hubWithFeed(t, ITEMS, 'private');
  const { token } = (await ada.post('/api/tokens', { name: 'reader', currentPassword: hub.password })).json<{ token: string }>();

  for (const path of [`/sources/${sourceId}.atom`, `/sources/${sourceId}.json`]) {
    assert.equal((await hub.anybody.get(path)).status, 404);
    const own = await hub.anybody.get(path, { authorization: `Bearer ${token}` });
    assert.equal(own.status, 200);
    assert.equal(own.headers.get('cache-control'), 'private, no-cache');
    assert.match(own.text, /Plain/);
    assert.equal((await hub.anybody.get(path)).status, 404, 'also afterwards');
  }
  for (const path of ['/sources/99.atom', '/sources/0.json', '/sources/x.atom', '/sources/.atom']) {
    assert.equal((await hub.anybody.get(path)).status, 404, path);
  }
});

test('pages tell readers of feeds where their feeds are', async (t) => {
  const { hub, sourceId } = await hubWithFeed(t);

  for (const [page, feeds] of [['/', ['/posts.atom', '/posts.json']], [
    `/sources/${sourceId}`, [`/sources/${sourceId}.atom`, `/sources/${sourceId}.json`],
  ]] as const) {
    const { text } = await hub.anybody.page(page);
    const links = [
      ...text.matchAll(/<link rel="alternate" type="([^"]+)" href="([^"]+)"/g),
    ].map(([, type, href]) => [type, href]);
    assert.deepEqual(links, [['application/atom+xml', feeds[0]], ['application/feed+json', feeds[1]]]);
  }
});
