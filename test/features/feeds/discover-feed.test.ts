// Protects how the feed of a page is found: for each shape of page, within few requests, and with a helpful refusal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discoverFeed } from '../../../src/features/feeds/discover-feed.ts';
import { largeFeedTurns } from '../../../src/features/feeds/fetch-feed.ts';
import { rss, serving } from '../../support/feeds.ts';
import { RetryLaterError } from '../../../src/platform/jobs/run-job.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';
import { SHAPES, type Shape } from '../../support/page-shapes.ts';

const HTML = { 'content-type': 'text/html' };
const link = (href: string): string => `<!doctype html><link rel="alternate" type="application/rss+xml" href="${href}">`;

function handlersOf({ site }: Shape, url: () => string): Record<string, OriginHandler> {
  return Object.fromEntries(Object.entries(site).map(([path, answer]): [string, OriginHandler] => {
    const { status = 200, headers = {}, body = '' } = typeof answer === 'string' ? { body: answer } : answer;
    return [path, (request, response) => {
      const sent = typeof body === 'string' ? body.replace('HOST', url()) : body;
      reply(status, headers, sent)(request, response);
    }];
  }));
}

test('the feed of each shape of page is found', async (t) => {
  const { handle } = await startHub(t);
  const missed: unknown[] = [];
  for (const shape of SHAPES) {
    const origin = await startOrigin(t, handlersOf(shape, () => origin.url));
    const found = await discoverFeed(handle, origin.url + (shape.at ?? '/'), { guess: true })
      .catch((error: Error) => ({ url: null, advertised: [], error }));
    const wanted = shape.finds === null ? null : origin.url + shape.finds;
    const offered = found.advertised?.map(({ url }) => url.slice(origin.url.length));
    const isRight = found.url === wanted && (!shape.offers || String(offered) === String(shape.offers));
    if (!isRight || origin.requests.length > 12) missed.push({ name: shape.name, found, offered });
    await origin.close();
  }

  assert.deepEqual(missed, []);
  assert.ok(SHAPES.length >= 60, String(SHAPES.length));
});

test('a refusal names each address with its answer, and what to try; at most 12 documents are asked for', async (t) => {
  const { handle } = await startHub(t);
  const many = Array.from({ length: 30 }, (_, at) => link(`/f${at}?key=secret`)).join('');
  const origin = await startOrigin(t, { '/': reply(200, HTML, many), '/feed': reply(500, {}), '/rss.xml': reply(200, {}, 'x') });

  await assert.rejects(discoverFeed(handle, `${origin.url}/`, { guess: true }), (error: Error) => {
    assert.match(error.message, /^No feed was found at 127\.0\.0\.1:\d+\/: the document is an HTML page, not a feed\. /);
    assert.match(error.message, /also tried \/f0, [^(]*\/atom\.xml[^(]*\(127\.0\.0\.1:\d+ answered 404: [^)]+\); /);
    assert.match(error.message, /\/feed \([^)]*internal error\); \/rss\.xml \(the document is text, but not a feed\)/);
    assert.match(error.message, /Look for a link named “RSS” or “Feed” on the site/);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
  assert.equal(origin.requests.length, 12);
  const typed = discoverFeed(handle, `${origin.url}/gone`, { guess: true });
  await assert.rejects(typed, /^Error: No feed was found at [^/]*\/gone: 127[^/]* answered 404: [^.]*\. Look for a link/);
  const anchors = ['/1.xml', '/2.xml', '/3.xml', '/4.xml'].map((path) => `<a href="${path}">RSS</a>`).join('');
  const large = await startOrigin(t, { '/blog/': reply(200, HTML, many + anchors) });
  await assert.rejects(discoverFeed(handle, `${large.url}/blog/`, { guess: true }), /\/blog\/feed, \/blog\/index\.xml, \/feed \(/);
  assert.equal(large.requests.length, 12);
});

test('usual paths are tried only while a person waits, and a host that asks to wait gets no further request', async (t) => {
  const { handle } = await startHub(t);
  const bare = await startOrigin(t, { '/': reply(200, HTML, '<!doctype html>'), '/feed': serving(() => rss('Owls', [])) });
  const busy = await startOrigin(t, { '/': reply(200, HTML, link('/a') + link('/b')), '/a': reply(429, { 'retry-after': '60' }) });

  await assert.rejects(discoverFeed(handle, `${bare.url}/`, {}), /No feed was found/);
  const look = discoverFeed(handle, `${busy.url}/`, { guess: true });
  await assert.rejects(look, (error) => error instanceof RetryLaterError && error.at === handle.clock() + 60_000
    && /also tried \/a \([^)]*asks the hub to wait \(429\)\)/.test(error.message));

  assert.deepEqual([bare, busy].map(({ requests }) => requests.map(({ path }) => path)), [['/'], ['/', '/a']]);
  const page = await startOrigin(t, { '/': reply(200, HTML, link(`${busy.url}/a`) + link(`${bare.url}/feed`)) });
  assert.equal((await discoverFeed(handle, `${page.url}/`, {})).url, `${bare.url}/feed`, 'other hosts are asked');
});

test('a page with a password names no feed of another origin, and the refusal says so', async (t) => {
  const { handle } = await startHub(t);
  const other = await startOrigin(t, { '/f': serving(() => rss('Owls', [])) });
  const origin = await startOrigin(t, { '/': reply(200, HTML, link(`${other.url}/f`)) });

  const look = discoverFeed(handle, `${origin.url}/`, { authorization: 'Basic eDp5' });
  await assert.rejects(look, /where the hub does not send your password/);
  assert.equal(other.requests.length, 0);
});

test('a synchronisation that reads a large page and then a large feed does not wait for itself, but others wait', async (t) => {
  const { handle } = await startHub(t);
  const turns = largeFeedTurns(handle, new AbortController().signal);
  const others = largeFeedTurns(handle, new AbortController().signal);
  const order: string[] = [];

  await turns.read(2_000_000);
  const other = others.read(2_000_000).then(() => order.push('another feed'));
  await turns.read(2_000_000);
  order.push('the feed of the page');
  turns.end();
  await other;
  others.end();

  assert.deepEqual(order, ['the feed of the page', 'another feed']);
});
