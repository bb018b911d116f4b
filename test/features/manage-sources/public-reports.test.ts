// Protects what people reported of other readers about adding feeds: typed addresses, passwords, feeds of web pages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../../../src/platform/clock.ts';
import { addFeed } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';

type Shown = {
  id: number; url: string; title: string; visibility: string; hasPassword: boolean; stateReason: string | null;
};

const feed = serving(() => rss('Schemes', [{ guid: 'a' }]));

/** What is typed for the address `http://HOST/b15`, by the ids of the reports. */
const TYPED: [id: string, write: (host: string) => string][] = [
  ['B15-a', (host) => `feed://${host}/b15`], ['B15-b', (host) => `feed:http://${host}/b15`],
  ['B15-c', (host) => `FEED://${host}/b15`], ['B15-e', (host) => `rss://${host}/b15`],
  ['B15-f', (host) => `podcast://${host}/b15`], ['B15-g', (host) => `pcast://${host}/b15`],
  ['B15-h', (host) => `itpc://${host}/b15`], ['B15-i', (host) => `<http://${host}/b15>`],
  ['B15-j', (host) => `"http://${host}/b15"`], ['B15-k', (host) => ` http://${host}/b15 `],
  ['B15-l', (host) => `http:/${host}/b15`], ['B15-m', (host) => `http//${host}/b15`],
  ['B15-n', (host) => `web+feed:http://${host}/b15`], ['B15-o', (host) => `view-source:http://${host}/b15`],
  ['B15-p', (host) => `URL: http://${host}/b15`], ['B15-q', (host) => `http://${host}/b15?q\u200b`],
  ['B15, quotes of a letter', (host) => `“feed:http://${host}/b15”`], ['B15, twice', (host) => `feed://http//${host}/b15`],
  ['B20b (localhost by name)', (host) => `http://${host.replace('127.0.0.1', 'localhost')}/b15`],
  ['B20c (letters, blanks and a fragment)', (host) => `http://${host}/b15?Ünï=ö ä#x`],
  ['B20d (an odd form of IPv4)', (host) => `http://${host.replace('127.0.0.1', '2130706433')}/b15`],
];

test('B15, B20 (NetNewsWire): an address is taken with schemes of feeds, in quotes and as browsers take it', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, (request, response) => feed(request, response));
  for (const [id, write] of TYPED) {
    const added = await ada.post('/api/sources', { kind: 'feed', url: write(`127.0.0.1:${origin.port}`) });
    assert.ok(added.status === 201 || added.status === 409, `${id}: ${added.text}`);
  }
  const secure = await ada.post('/api/sources', { kind: 'feed', url: `feeds://127.0.0.1:${origin.port}/b15` });
  assert.match(secure.text, /TLS/, 'B15-d: feeds: means https');
  const unknown = await ada.post('/api/sources', { kind: 'feed', url: 'http://bücher.invalid/' });
  assert.match(unknown.text, /Could not look up xn--bcher-kva\.invalid/, 'B20');
});

const gated = (username: string, password: string): OriginHandler => (request, response) => {
  const wanted = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  (request.headers.authorization === wanted ? feed : reply(401, { 'www-authenticate': 'Basic' }))(request, response);
};

const PASSWORDS: [id: string, username: string, password: string, address: string | null][] = [
  ['B11a (capyreader#1323, commafeed#1162 #784)', 'ann', 's3cret', 'ann:s3cret@'],
  ['B11a, escaped', 'ann@x', 'p:w%/', 'ann%40x:p%3Aw%25%2F@'], ['B11a, a name alone', 's3cret', '', 's3cret@'],
  ['B11b (feedbin#306, quepid#902)', 'ann', 'p@ss:s3cret', null], ['B11c', 'ann', 'größe-s3cret', null],
  ['B11c, in the address', 'ann', 'größe', 'ann:größe@'],
];

for (const [id, username, password, inAddress] of PASSWORDS) {
  test(`${id}: name and password of a feed are taken from ${inAddress ? 'its address' : 'their fields'}`, async (t) => {
    const { hub, ada } = await hubWith(t, ['ada']);
    const origin = await startOrigin(t, gated(username, password));
    const url = origin.url.replace('http://', `http://${inAddress ?? ''}`) + '/f';
    const added = await ada.post('/api/sources', { kind: 'feed', url, ...(inAddress ? {} : { username, password }) });

    assert.equal(added.status, 201, added.text);
    const { url: kept, visibility, hasPassword } = added.json<Shown>();
    assert.deepEqual([kept, visibility, hasPassword], [`${origin.url}/f`, 'private', true]);
    await hub.work();
    assert.equal((await ada.get('/api/posts')).json<{ items: unknown[] }>().items.length, 1);
    assert.doesNotMatch(JSON.stringify(hub.logged()) + added.text, /s3cret|gr(ö|%C3%B6)ße/);
  });
}

test('in forms and a change of address, name and password of an address go to their fields; no page shows the password', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/f': gated('ann', 's3cret'), '/open': feed });
  const url = origin.url.replace('http://', 'http://ann:s3cret@');

  const looked = await ada.form('/sources/add', { url: `${url}/f`, visibility: 'public' });
  assert.match(looked.text, /Schemes[^]*name="username" value="ann"/);
  const refused = await ada.form('/sources/add', { url: `${url}/none`, visibility: 'private' });
  assert.match(refused.text, new RegExp(`name="url" value="${origin.url}/none"[^]*name="username" value="ann"`));
  const given = await ada.page(`/sources/add?url=${encodeURIComponent(`${url}/f`)}`);
  assert.match(given.text, new RegExp(`name="url" value="${origin.url}/f"[^]*name="username" value="ann"`));
  for (const { text } of [looked, refused, given]) assert.doesNotMatch(text, /s3cret/);

  const id = await addFeed(ada, `${origin.url}/open`, { visibility: 'private' });
  const changed = await ada.patch(`/api/sources/${id}`, { url: `${url}/f` });
  assert.deepEqual([changed.json<Shown>().url, changed.json<Shown>().hasPassword], [`${origin.url}/f`, true]);
  const isPublic = await ada.post('/api/sources', { kind: 'feed', url: `${url}/f?2`, visibility: 'public' });
  assert.match(isPublic.text, /must be private/);
  const colon = await ada.post('/api/sources', { kind: 'feed', url: url.replace('ann', 'a%3Ab') });
  assert.equal(colon.status, 422);
  assert.doesNotMatch(isPublic.text + colon.text, /s3cret/);
});

test('B11a: forms take a user name alone, such as a token, from the address or from its field', async (t) => {
  const { ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/f': gated('token', ''), '/g': gated('other', '') });
  const [url, empty] = [origin.url.replace('http://', 'http://token@'), { username: '', password: '' }];

  const looked = await ada.form('/sources/add', { url: `${url}/f`, ...empty });
  assert.match(looked.text, /Schemes/);
  const saved = await ada.form('/sources', { url: `${origin.url}/f`, username: 'token', password: '' });
  assert.equal(saved.status, 303, saved.text);
  const id = Number(/\/sources\/(\d+)/.exec(saved.headers.get('location') ?? '')?.[1]);
  const wrong = await ada.form(`/sources/${id}`, { url: `${origin.url}/f`, username: 'other', password: '' });
  assert.match(wrong.text, /must have 1 to/, 'a forgotten password');
  const changed = await ada.form(`/sources/${id}`, { url: `${url.replace('token', 'other')}/g`, ...empty });
  assert.equal(changed.status, 303, changed.text);
  assert.equal((await ada.get(`/api/sources/${id}`)).json<Shown>().url, `${origin.url}/g`);
});

test('B07 (liferea#915, AntennaPod#5324, vienna#1546): a page behind a 301 does not take the place of the address', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  let isMoved = false;
  const origin = await startOrigin(t, {
    '/f': (request, response) => (isMoved ? reply(301, { location: '/portal' }) : feed)(request, response),
    '/portal': reply(200, { 'content-type': 'text/html' }, '<html>Please pay</html>'),
  });
  const id = await addFeed(ada, `${origin.url}/f`);
  isMoved = true;
  await hub.work(DAY);

  const { url, stateReason } = (await ada.get(`/api/sources/${id}`)).json<Shown>();
  assert.deepEqual([url, stateReason], [`${origin.url}/f`, 'the document is an HTML page, not a feed']);
});

const link = (attributes: string): string => `<html><head>${attributes}</head><body>x</body></html>`;
const TYPE = 'type="application/rss+xml"';

/** Pages, and the feed that each leads to. */
const PAGES: [id: string, report: string, page: string, feed: string | null, headers?: Record<string, string>][] = [
  ['C01', 'liferea#87', `<base href="/dir/"><link rel="alternate" ${TYPE} href="feed">`, '/dir/feed'],
  ['C01b', 'liferea#87', `<link rel="alternate" ${TYPE} href="feed"><base href="/dir/">`, '/dir/feed'],
  ['C02', 'liferea#1034', '<link rel="alternate" type="application/rss&#43;xml" href="/dir/feed">', '/dir/feed'],
  ['C03', 'bridgy-fed#2255', `<link rel="alternate" ${TYPE} href="/dir/feed">`.repeat(2), '/dir/feed'],
  ['C04', 'tilex#790', `<link rel="alternate feed" ${TYPE} href="/dir/feed">`, '/dir/feed'],
  ['C05', 'wp-calypso#752', `<link rel="alternate" ${TYPE} title="x » Comments Feed" href="/comments/feed">
    <link rel="alternate" ${TYPE} title="x » Feed" href="/dir/feed">`, '/dir/feed'],
  ['C05b', 'simplepie#215', `<link rel="alternate" ${TYPE} title="x » A post Comments Feed" href="/post/feed">
    <link rel="alternate" ${TYPE} title="x » Feed" href="/dir/feed">`, '/dir/feed'],
  ['C06', 'feedspub#54', '<link rel=alternate type=application/rss+xml href=/dir/feed>', '/dir/feed'],
  ['C06b', 'feedspub#54', '', '/dir/feed', { link: '</dir/feed>; rel="alternate"; type="application/rss+xml"' }],
  ['C07', 'a page without a feed says which addresses were tried', '', null],
];

for (const [id, report, head, found, headers = {}] of PAGES) {
  test(`${id} (${report}): a page leads to the feed that it names, posts before comments`, async (t) => {
    const { ada } = await hubWith(t, ['ada']);
    const origin = await startOrigin(t, {
      '/page': reply(200, { 'content-type': 'text/html', ...headers }, link(head)), ...(found ? { [found]: feed } : {}),
      '/comments/feed': serving(() => rss('Comments', [])), '/post/feed': serving(() => rss('Comments', [])),
    });
    const added = await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/page` });
    if (found) assert.equal(added.json<Shown>().url, origin.url + found, added.text);
    else assert.match(added.text, /No feed was found at [^]*HTML page, not a feed[^]*also tried/);
  });
}
