// Protects the full texts of posts: a page is fetched once, for whoever may see the post, and visitors never see it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addNotes, foundTitles, leave } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import {
  articlePage, askFor, fullTextOf, htmlPage, hubWithTeasers, keptFullTexts, sizeOfFullTexts, teaser,
} from '../../support/full-texts.ts';
import { reply } from '../../support/origin.ts';
import { submitForm } from '../../support/own-posts.ts';
import { appOf, itemId } from '../../support/reader-app.ts';
import { png } from '../../support/sample-files.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { eventOf, makeWebhook, sendEvent } from '../../support/webhooks.ts';

test('a member asks for the full text of a post, gets it from the page, and the teaser stays the content', async (t) => {
  const { hub, ada, bob, posts: [id = 0], asked } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) });
  assert.deepEqual(await fullTextOf(bob, id), { state: 'none' });
  const first = await askFor(bob, id);
  assert.deepEqual([first.status, first.state], [202, 'waiting']);
  await hub.work();
  const { state, contentHtml = '' } = await fullTextOf(bob, id);
  assert.equal(state, 'ready');
  assert.match(contentHtml, /Tyto alba/);
  assert.doesNotMatch(contentHtml, /Imprint|Home/);
  const again = await askFor(ada, id);
  assert.deepEqual([again.status, again.state, again.contentHtml], [200, 'ready', contentHtml], 'at once, for all readers');
  const { contentHtml: teaserHtml } = (await ada.get(`/api/posts/${id}`)).json<{ contentHtml: string }>();
  assert.doesNotMatch(teaserHtml, /Tyto alba/);
  await hub.fetchFullTexts(DAY);
  assert.deepEqual(asked(), ['/a'], 'one request, also a day later, and none for robots.txt: a person has asked');
});

test('visitors get no full text anywhere: not by the API, on pages, in feeds, in the export or in searches', async (t) => {
  const { hub, ada, posts: [id = 0], sourceId } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tytonidae')) });
  await askFor(ada, id);
  await hub.work();
  assert.equal((await fullTextOf(ada, id)).state, 'ready');
  const { anybody } = hub;
  const paths = [`/api/posts/${id}`, '/api/posts', '/api/posts?q=owl', `/posts/${id}`, `/posts/${id}?text=full`, '/', '/public',
    '/posts.atom', '/posts.json', `/sources/${sourceId}.atom`, `/sources/${sourceId}.json`, `/sources/${sourceId}`];
  for (const path of paths) {
    const { status, text } = await anybody.get(path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(text, /Tytonidae|fullText|full-text/, path);
  }
  assert.equal((await anybody.post(`/api/posts/${id}/full-text`)).status, 401);
  assert.doesNotMatch((await ada.get('/api/account/export')).text, /Tytonidae/);
  for (const query of ['', '&view=list', `&source=${sourceId}`]) {
    assert.deepEqual(await foundTitles(ada, 'Tytonidae', query), ['Barn owls'], `members find it: ${query}`);
  }
  for (const query of ['', `&source=${sourceId}`]) assert.deepEqual(await foundTitles(anybody, 'Tytonidae', query), []);
  assert.deepEqual(await foundTitles(ada, 'Tytonidae', '&view=public'), [], 'what visitors see is found as visitors find it');
  assert.doesNotMatch((await anybody.page('/public?q=Tytonidae')).text, /Barn owls/);
  assert.match((await ada.page('/all?q=Tytonidae')).text, /Barn owls/);
});

test('the form that switches texts leads to no other site', async (t) => {
  const { ada, posts: [id = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) });
  const form = async (from: string) => (await ada.form(`/posts/${id}/full-text`, { text: 'feed', from })).headers.get('location');
  assert.equal(await form('/all?q=owl'), '/all?q=owl&text=feed');
  for (const from of ['/.//other.test', '//other.test', 'https://other.test/']) assert.match(await form(from) ?? '', /^\/(?!\/)/, from);
});

test('two sources with the same page have a copy each, fetched for each', async (t) => {
  const { hub, ada, bob, publisher, asked, posts: [id = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) }, { visibility: 'private' });
  await bob.post('/api/sources', { kind: 'feed', url: `${publisher.url}/feed`, visibility: 'private' });
  const [own] = (await bob.get('/api/posts')).json<{ items: { id: number }[] }>().items;
  await askFor(ada, id);
  await hub.work();
  assert.deepEqual([(await fullTextOf(bob, own?.id ?? 0)).state, asked()], ['none', ['/a']]);
  assert.equal((await askFor(bob, own?.id ?? 0)).status, 202);
  await hub.work();
  assert.deepEqual([(await fullTextOf(bob, own?.id ?? 0)).state, asked()], ['ready', ['/a', '/a']]);
});

const REFUSED: [what: string, handler: ReturnType<typeof htmlPage>, state: string, reason: string, words: RegExp][] = [
  ['a file', reply(200, { 'content-type': 'application/pdf' }, '%PDF-1.7'), 'refused', 'not-html', /not to a web page/],
  ['a page without text', htmlPage('<html><body><div id="app"></div><script src="app.js"></script></body></html>'),
    'refused', 'empty', /without scripts/],
  ['a page of more than 5 MiB', htmlPage(' '.repeat(5 * 1024 * 1024 + 1)), 'refused', 'too-large', /too large/],
  ['a refusal of the server', reply(403, {}, 'no'), 'failed', 'bad-answer', /127\.0\.0\.1:\d+ answered with status 403/],
];

test('a page that is no article leaves the teaser, and the reader is told why in plain words', async (t) => {
  const pages = Object.fromEntries(REFUSED.map(([, handler], index) => [`p${index}`, handler]));
  const { hub, ada, posts } = await hubWithTeasers(t, pages);
  for (const id of posts) await askFor(ada, id);
  await hub.work();
  for (const [index, id] of posts.entries()) {
    const [what, , state, reason, words] = REFUSED[index] ?? assert.fail();
    const shown = await fullTextOf(ada, id);
    assert.deepEqual([shown.state, shown.reason, shown.contentHtml], [state, reason, undefined], what);
    assert.match(shown.explanation ?? '', words);
    const { text } = await ada.page(`/posts/${id}?text=full`);
    assert.match(text, words);
    assert.match(text, /As in the feed[^]*No full text\. /);
    assert.match(text, /hunts voles/, 'the teaser stays');
  }
  assert.match((await hub.anybody.get('/api/metrics')).text, /service_full_texts_total\{result="refused"\} 3\n/);
});

test('a failed fetch is repeated once, a day later; nothing but a new version of the post makes the hub ask again', async (t) => {
  const { hub, ada, routes, feed, publisher, asked, posts: [id = 0] } = await hubWithTeasers(t, { a: reply(500, {}, '') });
  await askFor(ada, id);
  await hub.work();
  const first = await fullTextOf(ada, id);
  assert.deepEqual([first.state, first.reason], ['failed', 'bad-answer']);
  assert.match(first.explanation ?? '', /once more after a day/);
  assert.equal((await askFor(ada, id)).status, 200, 'the button does not ask again');
  await hub.fetchFullTexts(DAY - MINUTE);
  assert.deepEqual(asked(), ['/a']);
  await hub.fetchFullTexts(MINUTE);
  for (let days = 0; days < 3; days++) await hub.fetchFullTexts(DAY);
  await askFor(ada, id);
  await hub.work();
  assert.deepEqual(asked(), ['/a', '/a']);
  assert.doesNotMatch((await fullTextOf(ada, id)).explanation ?? '', /once more/);
  routes['/a'] = htmlPage(articlePage('Tyto alba'));
  feed.items = [teaser(publisher.url, 'a', { title: 'Barn owls again' })];
  await hub.work(DAY);
  assert.equal((await fullTextOf(ada, id)).state, 'waiting');
  await hub.fetchFullTexts();
  assert.equal((await fullTextOf(ada, id)).state, 'ready');
  assert.deepEqual(asked(), ['/a', '/a', '/robots.txt', '/a'], 'the hub asks by itself, and so for the rules of the site');
});

test('a full text that was fetched for an older version of a post is not stored', async (t) => {
  const held = Promise.withResolvers<void>();
  const { hub, ada, publisher } = await hubWithTeasers(t, {
    a: (_, response) => void held.promise.then(() => htmlPage(articlePage('Tyto alba'))(_, response)),
  });
  const { id: sourceId, secret } = await makeWebhook(ada);
  const publish = (type: string, title: string) => sendEvent(hub.address, sourceId,
    eventOf(hub, secret, type, { id: 'x', title, url: `${publisher.url}/a`, content_html: '<p>Barn owls…</p>' }));
  await publish('post.published', 'Barn owls');
  const [post] = (await ada.get(`/api/posts?source=${sourceId}`)).json<{ items: { id: number }[] }>().items;
  await askFor(ada, post?.id ?? 0);
  const working = hub.work();
  await waitUntil('the page is asked for', () => publisher.requests.some(({ path }) => path === '/a'));
  await publish('post.updated', 'Barn owls again');
  held.resolve();
  await working;
  assert.equal((await fullTextOf(ada, post?.id ?? 0)).state, 'waiting');
  await hub.fetchFullTexts(MINUTE);
  assert.equal((await fullTextOf(ada, post?.id ?? 0)).state, 'ready');
});

test('a full text of a post that was taken back is not stored for the post that has the same id later', async (t) => {
  const held = Promise.withResolvers<void>();
  const { hub, ada, publisher } = await hubWithTeasers(t, {
    a: (request, response) => void held.promise.then(() => htmlPage(articlePage('Tyto alba'))(request, response)),
    b: htmlPage(articlePage('Strix aluco')),
  });
  const sourceId = await addNotes(ada, 'Notes', 'public');
  const values = { title: 'Barn owls', content: 'Barn owls hunt voles.' };
  const { id } = (await ada.post('/api/posts', { ...values, sourceId, contentType: 'text/plain', url: `${publisher.url}/a` })).json<{ id: number }>();
  await askFor(ada, id);
  const working = hub.work();
  await waitUntil('the page is asked for', () => publisher.requests.some(({ path }) => path === '/a'));
  const form = (await ada.form(`/posts/${id}/withdraw`)).headers.get('location')?.replace(/\?.*/, '') ?? '';
  hub.passTime(MINUTE);
  assert.equal((await submitForm(hub, ada, form, { ...values, sourceId: String(sourceId), url: `${publisher.url}/b` }, [])).status, 303);
  assert.deepEqual((await askFor(ada, id)).state, 'waiting');
  held.resolve();
  await working;
  assert.doesNotMatch((await fullTextOf(ada, id)).contentHtml ?? '', /Tyto/);
  await hub.fetchFullTexts(HOUR);
  assert.match((await fullTextOf(ada, id)).contentHtml ?? '', /Strix/);
});

test('a member may have at most 60 pages fetched in any hour by the button; texts that are there cost nothing', async (t) => {
  const names = Array.from({ length: 72 }, (_, n) => `p${n}`);
  const { hub, ada, bob, posts } = await hubWithTeasers(t, Object.fromEntries(names.map((name) => [name, htmlPage(articlePage(name))])));
  const [last = 0, ...others] = posts;
  const ask = async (first: number, end: number): Promise<void> => {
    for (const id of others.slice(first, end)) assert.equal((await askFor(ada, id)).status, 202);
  };
  const refused = async (): Promise<void> => assert.equal((await ada.post(`/api/posts/${last}/full-text`)).status, 429);
  await ask(0, 50);
  hub.passTime(30 * MINUTE);
  await ask(50, 60);
  await refused();
  assert.equal((await askFor(ada, others[0] ?? 0)).status, 202, 'that page is being fetched already');
  hub.passTime(29 * MINUTE);
  await refused();
  assert.equal((await askFor(bob, last)).status, 202, 'the limit is of each member');
  hub.passTime(MINUTE);
  await ask(60, 71);
});

test('full texts count with their words in the search index, as much as the index takes on the disk', async (t) => {
  const words = (name: string): string => Array.from({ length: 3_000 }, (_, n) => `${name}${(n * 7919).toString(36)}`).join(' ');
  const names = Array.from({ length: 12 }, (_, n) => `p${n}`);
  const { hub, ada, posts } = await hubWithTeasers(t, Object.fromEntries(names.map((name) => [name, htmlPage(articlePage(words(name)))])));
  const counted = async (): Promise<number> =>
    Number(/service_full_text_bytes (\d+)/.exec((await hub.anybody.get('/api/metrics')).text)?.[1]);
  for (const id of posts) await askFor(ada, id);
  await hub.work();
  const { text, index } = sizeOfFullTexts(hub);
  const sum = await counted();
  assert.ok(sum >= text + 0.6 * index && sum <= text + 1.6 * index, `${sum} counted, ${text} of texts, ${index} of the index`);
  for (const id of posts) await ada.delete(`/api/posts/${id}`);
  assert.equal(await counted(), 0);
});

test('a text that is larger than all full texts may be is fetched again by itself once the limit is raised', async (t) => {
  const { hub, ada, asked, posts: [id = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) }, { env: { FULL_TEXT_MAX_BYTES: '2000' } });
  await askFor(ada, id);
  await hub.work(MINUTE);
  const { state, reason, explanation = '' } = await fullTextOf(ada, id);
  assert.deepEqual([state, reason], ['refused', 'no-room']);
  assert.match(explanation, /larger than all the room that this hub has/);
  await askFor(ada, id);
  await hub.fetchFullTexts(DAY);
  assert.deepEqual(asked(), ['/a'], 'the limit is the same');
  hub.handle.config = { ...hub.config, fullTextMaxBytes: 20_000 };
  await hub.work(MINUTE);
  await hub.fetchFullTexts();
  assert.deepEqual([(await fullTextOf(ada, id)).state, asked()], ['ready', ['/a', '/a']]);
});

test('robots.txt keeps the hub from fetching pages by itself, and a member’s button fetches the page all the same', async (t) => {
  const robots = 'User-agent: *\nDisallow: /\n\nUser-agent: ContentHub\nDisallow: /a # not this page\n';
  const { hub, ada, routes, asked, sourceId, posts: [a = 0, b = 0] } = await hubWithTeasers(t,
    { a: htmlPage(articlePage('Tyto alba')), b: htmlPage(articlePage('Strix')) });
  routes['/robots.txt'] = reply(200, {}, robots);
  await ada.patch(`/api/sources/${sourceId}`, { fullText: 'always', fullTextOfLast: true });
  await hub.fetchFullTexts();
  const shown = await fullTextOf(ada, a);
  assert.deepEqual([shown.state, shown.reason, (await fullTextOf(ada, b)).state], ['refused', 'robots', 'ready']);
  assert.deepEqual(asked(), ['/robots.txt', '/b'], 'the rules are asked for once');
  assert.equal((await askFor(ada, a)).status, 202);
  await hub.work();
  assert.equal((await fullTextOf(ada, a)).state, 'ready');
});

test('a site whose robots.txt cannot be had is asked a day later, and a site without the file allows all pages', async (t) => {
  const { hub, ada, routes, asked, sourceId, posts: [id = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) });
  routes['/robots.txt'] = reply(503, {}, '');
  await ada.patch(`/api/sources/${sourceId}`, { fullText: 'always', fullTextOfLast: true });
  await hub.fetchFullTexts();
  assert.deepEqual([(await fullTextOf(ada, id)).state, asked()], ['failed', ['/robots.txt']]);
  delete routes['/robots.txt'];
  await hub.fetchFullTexts(DAY);
  assert.equal((await fullTextOf(ada, id)).state, 'ready');
});

test('“always” fetches new posts and, on request, the last 20; only the owner may choose it', async (t) => {
  const names = Array.from({ length: 25 }, (_, n) => `p${n}`);
  const all = [...names, 'new'];
  const { hub, ada, bob, feed, publisher, sourceId, postIds } = await hubWithTeasers(t,
    Object.fromEntries(all.map((name) => [name, htmlPage(articlePage(name))])),
    { items: (url) => names.map((name) => teaser(url, name)) });
  const path = `/api/sources/${sourceId}`;
  assert.equal((await bob.patch(path, { fullText: 'always' })).status, 403);
  assert.equal((await ada.patch(path, { fullText: 'sometimes' })).status, 422);
  assert.equal((await ada.patch(path, { fullText: 'always' })).json<{ fullText: string }>().fullText, 'always');
  await hub.fetchFullTexts();
  const ready = async (): Promise<number> => (await Promise.all((await postIds()).map((id) => fullTextOf(ada, id))))
    .filter(({ state }) => state === 'ready').length;
  assert.equal(await ready(), 0, 'old posts stay as they are');
  feed.items = ['new', ...names].map((name) => teaser(publisher.url, name));
  await hub.work(DAY);
  await hub.fetchFullTexts();
  assert.equal(await ready(), 1);
  await ada.patch(path, { fullText: 'always', fullTextOfLast: true });
  await hub.fetchFullTexts();
  assert.equal(await ready(), 20);
  const [newest = 0] = await postIds();
  assert.match((await bob.page(`/posts/${newest}`)).text, /<span class="tag">Full text<\/span>/, 'for every reader of the source');
  await ada.patch(path, { fullText: 'asked' });
  assert.match((await bob.page(`/posts/${newest}`)).text, /<span class="tag">As in the feed<\/span>/);
});

test('apps get the full text of sources that always have it, and the pictures in it at signed addresses', async (t) => {
  const picture = png({ width: 640, height: 360 });
  const { hub, ada, routes, sourceId, posts: [a = 0, b = 0] } = await hubWithTeasers(t,
    { a: htmlPage(articlePage('Tyto alba', '<p><img src="/owl.png" alt="An owl"></p>')), b: reply(404, {}, '') });
  routes['/owl.png'] = reply(200, { 'content-type': 'image/png' }, picture);
  await askFor(ada, a);
  await hub.work();
  const app = appOf(hub, 'ada');
  const contentOf = async (id: number): Promise<string> => (await app.get(`stream/items/contents?i=${itemId(id)}`))
    .json<{ items: { summary: { content: string } }[] }>().items[0]?.summary.content ?? '';
  assert.doesNotMatch(await contentOf(a), /Tyto alba/, 'the button alone changes nothing for apps');
  await ada.patch(`/api/sources/${sourceId}`, { fullText: 'always' });
  assert.match(await contentOf(a), /Tyto alba/);
  assert.match(await contentOf(b), /hunts voles/, 'the teaser, as there is no full text');
  const [, signed = ''] = /<img src="http:\/\/[^/"]+([^"]+)"/.exec(await contentOf(a)) ?? [];
  assert.equal((await hub.anybody.get(signed.replaceAll('&amp;', '&'))).status, 200);
  const [, shown = ''] = /<img src="(\/full-texts\/[^"]+)"/.exec((await ada.page(`/posts/${a}?text=full`)).text) ?? [];
  assert.deepEqual([(await ada.get(shown)).status, (await hub.anybody.get(shown)).status], [200, 404], shown);
  assert.equal((await ada.get(shown.replace(/.$/, (end) => end === '0' ? '1' : '0'))).status, 404);
  assert.doesNotMatch((await hub.anybody.page('/')).text, /owl\.png|full-texts/);
});

test('the longest unread full texts go first, and 0 turns full texts off and removes them', async (t) => {
  const names = ['a', 'b', 'c'];
  const { hub, ada, sourceId, posts } = await hubWithTeasers(t, Object.fromEntries(names.map((name) => [name, htmlPage(articlePage(name))])),
    { env: { FULL_TEXT_MAX_BYTES: '10500' } });
  const [a = 0, b = 0, c = 0] = posts;
  for (const id of [a, b]) {
    await askFor(ada, id);
    await hub.work(HOUR);
  }
  await ada.page(`/posts/${a}?text=full`);
  await askFor(ada, c);
  await hub.work(HOUR);
  const states = async (): Promise<string[]> => Promise.all(posts.map(async (id) => (await fullTextOf(ada, id)).state));
  assert.deepEqual(await states(), ['ready', 'none', 'ready'], 'a was read after b was fetched');
  hub.handle.config = { ...hub.config, fullTextMaxBytes: 0 };
  await hub.work(MINUTE);
  assert.deepEqual(await states(), ['none', 'none', 'none']);
  assert.deepEqual(await foundTitles(ada, 'voles listens'), []);
  assert.equal((await ada.post(`/api/posts/${a}/full-text`)).status, 409);
  assert.doesNotMatch((await ada.page(`/posts/${a}`)).text, /text-switch/);
  assert.doesNotMatch((await ada.page(`/sources/${sourceId}/settings`)).text, /id="full-text"/);
});

test('a full text that an app or a program fetches counts as read, and a second fetch on the same day writes nothing', async (t) => {
  const names = ['a', 'b', 'c'];
  const { hub, ada, sourceId, posts } = await hubWithTeasers(t, Object.fromEntries(names.map((name) => [name, htmlPage(articlePage(name))])),
    { env: { FULL_TEXT_MAX_BYTES: '10500' } });
  const [a = 0, b = 0, c = 0] = posts;
  await ada.patch(`/api/sources/${sourceId}`, { fullText: 'always' });
  for (const id of [a, b]) {
    await askFor(ada, id);
    await hub.work(HOUR);
  }
  hub.passTime(DAY);
  const app = appOf(hub, 'ada');
  const reads = async (): Promise<number> => {
    assert.match((await app.get(`stream/items/contents?i=${itemId(a)}`)).text, /listens/);
    return keptFullTexts(hub)?.lastUse ?? 0;
  };
  const before = keptFullTexts(hub)?.lastUse;
  const first = await reads();
  assert.notEqual(first, before, 'by an app');
  hub.passTime(DAY - 1);
  assert.equal(await reads(), first);
  hub.passTime(DAY);
  await fullTextOf(ada, a);
  assert.notEqual(keptFullTexts(hub)?.lastUse, first, 'by the API');
  await askFor(ada, c);
  await hub.work();
  const states = await Promise.all(posts.map(async (id) => (await fullTextOf(ada, id)).state));
  assert.deepEqual(states, ['ready', 'none', 'ready'], 'a was read after b was fetched');
});

test('a full text goes with its post and its source, with the words in the search index', async (t) => {
  const { hub, ada, sourceId, posts } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto')), b: htmlPage(articlePage('Tyto')) });
  for (const id of posts) await askFor(ada, id);
  await hub.work();
  assert.partialDeepStrictEqual(keptFullTexts(hub), { texts: 2, words: 2 });
  await ada.delete(`/api/posts/${posts[0]}`);
  assert.partialDeepStrictEqual(keptFullTexts(hub), { texts: 1, words: 1 });
  await ada.delete(`/api/sources/${sourceId}`);
  await hub.work();
  assert.partialDeepStrictEqual(keptFullTexts(hub), { texts: 0, words: 0 });
});

test('when a source becomes private or public, its full texts are found by its readers and by nobody else', async (t) => {
  const { hub, ada, bob, sourceId, posts: [id = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tytonidae')) });
  await askFor(bob, id);
  await hub.work();
  const found = async (): Promise<number[]> => [(await foundTitles(ada, 'Tytonidae')).length, (await foundTitles(bob, 'Tytonidae')).length];
  assert.deepEqual(await found(), [1, 1]);
  for (const [visibility, expected] of [['private', [1, 0]], ['public', [1, 1]]] as const) {
    await ada.patch(`/api/sources/${sourceId}`, { visibility });
    await hub.work(MINUTE);
    assert.deepEqual(await found(), expected, visibility);
  }
});

test('when a member leaves, the words of their full texts leave the database’s files too', async (t) => {
  const names = Array.from({ length: 20 }, (_, n) => `p${n}`);
  const pages = Object.fromEntries(names.map((name) => [name, htmlPage(articlePage(`Tytonidae${name}`))]));
  const { hub, ada, bob, publisher, routes, posts } = await hubWithTeasers(t, { ...pages, bobs: htmlPage(articlePage('Qxstrigidae')) }, {
    visibility: 'private', items: (url) => names.map((name) => teaser(url, name)),
  });
  routes['/other'] = serving(() => rss('Bob', [teaser(publisher.url, 'bobs')]));
  const { id } = (await bob.post('/api/sources', { kind: 'feed', url: `${publisher.url}/other`, visibility: 'private' })).json<{ id: number }>();
  const [own = 0] = (await bob.get(`/api/posts?source=${id}`)).json<{ items: { id: number }[] }>().items.map((post) => post.id);
  for (const [client, postId] of [...posts.slice(0, 10).map((post) => [ada, post] as const), [bob, own] as const, ...posts.slice(10).map((post) => [ada, post] as const)]) {
    await askFor(client, postId);
    await hub.work();
  }
  const isStored = (word: string): boolean => ['', '-wal'].some((end) =>
    readFileSync(hub.config.databasePath + end, 'latin1').toLowerCase().includes(word));
  assert.ok(isStored('strigidae'));
  await bob.delete(`/api/sources/${id}`);
  await leave(hub, bob);
  for (let hours = 0; hours < 3; hours++) await hub.work(HOUR);
  assert.deepEqual([isStored('strigidae'), isStored('tytonidaep7')], [false, true]);
});
