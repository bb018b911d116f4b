// Protects sites from requests that their robots.txt forbids, and owners from waiting for the pages of other owners.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchPage } from '../../../src/features/full-text/fetch-page.ts';
import { planFullTexts } from '../../../src/features/full-text/fetch-full-text.ts';
import { DAY, MINUTE } from '../../../src/platform/clock.ts';
import { rss, serving } from '../../support/feeds.ts';
import { articlePage, askFor, fullTextOf, htmlPage, hubWithTeasers, teaser } from '../../support/full-texts.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';
import { waitUntil } from '../../support/wait-until.ts';

const ALWAYS = { fullText: 'always', fullTextOfLast: true };
const FORBIDDEN = reply(200, {}, 'User-agent: *\nDisallow: /');

test('a redirect leads the hub to no page that robots.txt forbids: the page is not asked for at all', async (t) => {
  const { hub, ada, routes, asked, sourceId, posts: [a = 0, b = 0] } = await hubWithTeasers(t,
    { a: reply(302, { location: '/private/a' }, ''), b: htmlPage(articlePage('Strix')) });
  const other = await startOrigin(t, { '/robots.txt': FORBIDDEN, '/b': htmlPage(articlePage('Strix')) });
  routes['/robots.txt'] = reply(200, {}, 'User-agent: *\nDisallow: /private');
  routes['/b'] = reply(301, { location: `${other.url}/b` }, '');
  await ada.patch(`/api/sources/${sourceId}`, ALWAYS);
  await hub.fetchFullTexts();
  assert.deepEqual(asked().sort(), ['/a', '/b', '/robots.txt']);
  assert.deepEqual(other.requests.map(({ path }) => path), ['/robots.txt']);
  for (const id of [a, b]) assert.equal((await fullTextOf(ada, id)).reason, 'robots');
});

test('after a failure of robots.txt, the button fetches the page, and a failed page is still fetched once more', async (t) => {
  const { hub, ada, routes, asked, sourceId, posts: [a = 0, b = 0] } = await hubWithTeasers(t,
    { a: htmlPage(articlePage('Tyto alba')), b: reply(500, {}, '') });
  routes['/robots.txt'] = reply(503, {}, '');
  await ada.patch(`/api/sources/${sourceId}`, ALWAYS);
  await hub.fetchFullTexts();
  const { state, reason, explanation = '' } = await fullTextOf(ada, a);
  assert.deepEqual([state, reason], ['failed', 'robots']);
  assert.match(explanation, /status 503 for its robots\.txt\. It is tried once more after a day\./);
  for (const id of [a, b]) assert.equal((await askFor(ada, id)).status, 202);
  await hub.work();
  assert.equal((await fullTextOf(ada, a)).state, 'ready');
  await hub.fetchFullTexts(DAY);
  assert.deepEqual(asked().filter((path) => path === '/b'), ['/b', '/b']);
});

test('a member who presses the button while the hub waits for robots.txt gets the page', async (t) => {
  const held = Promise.withResolvers<void>();
  const { hub, ada, routes, publisher, sourceId, posts: [id = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) });
  routes['/robots.txt'] = (request, response) => void held.promise.then(() => FORBIDDEN(request, response));
  await ada.patch(`/api/sources/${sourceId}`, ALWAYS);
  const working = hub.fetchFullTexts();
  await waitUntil('robots.txt is asked for', () => publisher.requests.some(({ path }) => path === '/robots.txt'));
  assert.equal((await askFor(ada, id)).status, 202);
  held.resolve();
  await working;
  assert.equal((await fullTextOf(ada, id)).state, 'ready');
});

test('the hub reads the beginning of a large robots.txt, and keeps the rules of few sites with large files', async (t) => {
  const hub = await startHub(t);
  const large = `User-agent: *\nDisallow: /private\n${`Allow: /${'x'.repeat(80)}\n`.repeat(20_000)}`;
  const robots = reply(200, { 'content-length': String(large.length) }, large);
  const sites = await Promise.all(Array.from({ length: 10 }, () =>
    startOrigin(t, { '/robots.txt': robots, '/a': htmlPage(articlePage('Tyto alba')) })));
  const fetchFrom = (site: { url: string } | undefined, path: string) =>
    fetchPage(hub.handle, `${site?.url}${path}`, { isAsked: () => false, signal: t.signal });
  for (const site of sites) assert.equal((await fetchFrom(site, '/a')).status, 200);
  await assert.rejects(fetchFrom(sites[9], '/private'), { reason: 'robots' });
  await assert.rejects(fetchFrom(sites[0], '/private'), { reason: 'robots' });
  const timesAsked = sites.map(({ requests }) => requests.filter(({ path }) => path === '/robots.txt').length);
  assert.deepEqual([timesAsked[0], timesAsked[9]], [2, 1], 'the rules of the first site were forgotten');
});

test('an owner with very many due posts does not keep the hub from the posts of other owners', async (t) => {
  const { hub, ada, bob, feed, publisher, routes, sourceId } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) });
  routes['/other'] = serving(() => rss('Bob', [teaser(publisher.url, 'bobs')]));
  await ada.patch(`/api/sources/${sourceId}`, ALWAYS);
  feed.items = Array.from({ length: 600 }, (_, n) => teaser(publisher.url, `p${n}`));
  await hub.work(DAY);
  const { id } = (await bob.post('/api/sources', { kind: 'feed', url: `${publisher.url}/other` })).json<{ id: number }>();
  await bob.patch(`/api/sources/${id}`, ALWAYS);
  await hub.fetchFullTexts(MINUTE);
  const pages = publisher.requests.map(({ path }) => path).filter((path) => /^\/p\d/.test(path)).length;
  assert.ok(publisher.requests.some(({ path }) => path === '/bobs'), `after ${pages} pages of ada`);
  assert.ok(pages > 0 && pages < 100, 'most posts of ada are still waiting');
});

test('while the pages of an owner wait for their turn, the hub plans the pages of other owners', async (t) => {
  const { hub, ada, bob, publisher, routes, asked, sourceId } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')) });
  routes['/other'] = serving(() => rss('Bob', [teaser(publisher.url, 'bobs')]));
  const { id } = (await bob.post('/api/sources', { kind: 'feed', url: `${publisher.url}/other` })).json<{ id: number }>();
  await ada.patch(`/api/sources/${sourceId}`, ALWAYS);
  planFullTexts(hub.handle);
  hub.passTime(MINUTE);
  await bob.patch(`/api/sources/${id}`, ALWAYS);
  publisher.requests.length = 0;
  await hub.fetchFullTexts();
  assert.deepEqual(asked().sort(), ['/a', '/bobs', '/robots.txt']);
});
