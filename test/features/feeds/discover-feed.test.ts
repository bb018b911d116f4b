// Protects how the feed of a page is found: for each shape of page, within few requests, and with a helpful refusal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { discoverFeed } from '../../../src/features/feeds/discover-feed.ts';
import { largeFeedTurns } from '../../../src/features/feeds/fetch-feed.ts';
import { rss, serving } from '../../support/feeds.ts';
import { RetryLaterError } from '../../../src/platform/jobs/run-job.ts';
import { startHub } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';

/** The answer of one path of a site: a body, or headers, a status and a body. */
type Answer = string | { status?: number; headers?: Record<string, string>; body?: string | Buffer };

/** A site, the address that is asked, and the paths of its feeds: the first is taken, all of them are offered. */
type Shape = { name: string; site: Record<string, Answer>; at?: string; finds: string | null; offers?: string[] };

const FEED = rss('Owls', [{ guid: 'a' }]);
const feed = (href: string, more = 'type="application/rss+xml"'): string => `<link rel="alternate" ${more} href="${href}">`;
const page = (head: string, body = ''): string =>
  `<!doctype html><html><head><title>Owls</title>${head}</head><body>${body}</body></html>`;
const filler = (bytes: number): string => `<script>${'var a = "</b>";'.repeat(bytes / 15)}</script>`;
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const named = (name: string, head: string, finds = '/f', body = ''): Shape =>
  ({ name, site: { '/': page(head, body), [finds]: FEED }, finds });
const anchor = (name: string, html: string, finds = '/f'): Shape => named(`an anchor: ${name}`, '', finds, html);
const usual = (path: string, at = '/'): Shape =>
  ({ name: `no link, but ${path} for ${at}`, site: { [at]: page(''), [path]: FEED }, at, finds: path });

const SHAPES: Shape[] = [
  // what a page advertises
  named('RSS', feed('/f')),
  named('Atom', feed('/f', 'type="application/atom+xml"')),
  named('JSON Feed', feed('/f', 'type="application/feed+json"')),
  named('JSON Feed of version 1', feed('/f', 'type="application/json"')),
  named('RDF', feed('/f', 'type="application/rdf+xml"')),
  named('type with charset', feed('/f', 'type="application/rss+xml; charset=utf-8"')),
  named('odd type rss+xml', feed('/f', 'type="text/rss+xml"')),
  named('odd type x-rss', feed('/f', 'type="application/x-rss+xml"')),
  named('odd type application/rss', feed('/f', 'type="application/rss"')),
  named('text/xml', feed('/f', 'type="text/xml"')),
  named('no type', feed('/feed.xml', ''), '/feed.xml'),
  named('no type, but a title', '<link rel="alternate" href="/f" title="RSS 2.0">'),
  named('odd type xml+rss', feed('/f', 'type="application/xml+rss"')),
  named('wrong type', feed('/feed/', 'type="text/html"'), '/feed/'),
  named('empty type', feed('/rss', 'type=""'), '/rss'),
  named('rel=feed without a type', '<link rel="feed" href="/f">'),
  named('several rels', '<link rel="home alternate" type="application/rss+xml" href="/f">'),
  named('upper case', '<LINK REL="ALTERNATE" TYPE="APPLICATION/RSS+XML" HREF="/f">'),
  named('unquoted', '<link rel=alternate type=application/rss+xml href=/f>'),
  named('single quotes', "<link rel='alternate' type='application/rss+xml' href='/f'>"),
  named('closed as XML', '<link rel="alternate" type="application/rss+xml" href="/f"/>'),
  named('line breaks', '<link\n rel="alternate"\n\ttype="application/rss+xml"\n href="/f"\n>'),
  named('white space around', '<link rel=" alternate " type=" application/rss+xml " href=" /f\n">'),
  named('href first', '<link href="/f" type="application/rss+xml" rel="alternate">'),
  named('relative', feed('f')),
  named('entities', feed('/f?a=1&amp;b=2'), '/f?a=1&b=2'),
  named('numeric references', feed('&#47;&#x66;')),
  named('base href', `<base href="/blog/">${feed('f')}`, '/blog/f'),
  named('base behind the link', `${feed('f')}<base href="/blog/">`, '/blog/f'),
  named('base with a target only', `<base target="_top">${feed('f')}`),
  named('link in the body', '', '/f', `<p>${feed('/f')}</p>`),
  named('link in noscript', `<noscript>${feed('/f')}</noscript>`),
  named('a comment before', `<!-- ${feed('/old')} -->${feed('/f')}`),
  named('an empty comment before', `<!-->${feed('/f')}<!-- -->`),
  named('conditional comments', `<!--[if IE]>${feed('/old')}<![endif]-->${feed('/f')}`),
  named('a script before', `<script>document.write('${feed('/old')}')</script>${feed('/f')}`),
  named('a template before', `<template>${feed('/old')}</template>${feed('/f')}`),
  named('an odd tag before', `<link ${'a '.repeat(3_000)}${'b'.repeat(9_000)}=1>${feed('/f')}`),
  named('after 600 kB of scripts', filler(600_000) + feed('/f')),
  named('after 1.9 MB', filler(1_900_000) + feed('/f')),
  named('after words of a script that end no head', `<script>"application/rss+xml </head><body>"</script>${
    filler(400_000)}${feed('/f')}`),
  ...['\ufeff', 'Notice: a warning of PHP\n', '<base href="/">', `<!--${'x'.repeat(200_000)}-->`].map((before): Shape => ({
    name: `after ${before.slice(0, 9)} and 700 kB`, site: { '/': { headers: { 'content-type': 'text/html' },
      body: before + page(filler(700_000) + feed('/f')) }, '/f': FEED }, finds: '/f' })),
  { name: 'after 700 kB in UTF-16', site: { '/': { headers: { 'content-type': 'text/html' },
    body: Buffer.from(`\ufeff${page(filler(350_000) + feed('/f'))}`, 'utf16le') }, '/f': FEED }, finds: '/f' },
  named('before a page larger than any limit', feed('/f'), '/f', 'x'.repeat(11_000_000)),
  named('comments of a post first', feed('/c/', 'type="application/rss+xml" title="Owls » Comments Feed"') + feed('/f')),
  named('comments in German first', feed('/k', 'type="application/rss+xml" title="Kommentar-Feed"') + feed('/f')),
  ...['kommenttien syöte', 'RSS komentářů', 'Стрічка коментарів', 'yorum beslemesi'].map((title) => (
    { ...named(`${title} first`, feed('/k', `type="application/rss+xml" title="Owls » ${title}"`) + feed('/f')),
      offers: ['/f', '/k'] })),
  named('comments in Japanese first', feed('/k', 'type="application/rss+xml" title="コメント"') + feed('/f')),
  named('data of WordPress first', feed('/wp-json/wp/v2/posts/1', 'type="application/json"') + feed('/f')),
  named('oEmbed first', feed('/oembed?url=feed', 'type="application/json+oembed"') + feed('/f')),
  named('other languages of the page first', feed('/de/', 'hreflang="de"') + feed('/f')),
  named('a search description first', '<link rel="search" type="application/opensearchdescription+xml" href="/o.xml">'
    + feed('/f')),
  named('the first of two is missing', feed('/gone') + feed('/f')),
  named('the first of two is a page', feed('/') + feed('/f')),
  named('the first five of six are missing', Array.from('12345f', (name) => feed(`/${name}`)).join('')),
  named('no head and no html', `${'<meta name=a>'}${feed('/f')}`),
  { name: 'all feeds are offered', finds: '/f', offers: ['/f', '/g', '/c'], site: { '/f': FEED,
    '/': page(feed('/c', 'type="application/rss+xml" title="Comments"') + feed('/f') + feed('/g') + feed('/f')) } },
  { name: 'feeds of several languages', finds: '/en', offers: ['/en', '/de', '/fr'], site: { '/en': FEED,
    '/': page(['en', 'de', 'fr'].map((name) => feed(`/${name}`, `type="application/atom+xml" hreflang="${name}"`)).join('')) } },
  { name: 'feed: in front', site: { '/': page('<link rel=alternate type=application/rss+xml href="feed:HOST/f">'), '/f': FEED },
    finds: '/f' },
  { name: 'a page without any start of a page', site: { '/': { headers: { 'content-type': 'text/html' }, body: `<main>${
    feed('/f')}` }, '/f': FEED }, finds: '/f' },
  { name: 'XHTML with a declaration', site: { '/': `<?xml version="1.0"?>${page(feed('/f'))}`, '/f': FEED }, finds: '/f' },
  // the header
  { name: 'Link header', site: { '/': { headers: { link: '</f>; rel="alternate"; type="application/rss+xml"' },
    body: page('') }, '/f': FEED }, finds: '/f' },
  { name: 'Link header of many, unquoted', site: { '/': { headers: { link: '</s.css>; rel=preload; as=style, '
    + '</f>; type=application/atom+xml; title="A; b, c"; rel=alternate' }, body: page('') }, '/f': FEED }, finds: '/f' },
  { name: 'Link header with brackets in a title', site: { '/': { headers: { link: '</f>; rel=alternate; title="a > b"; '
    + 'type="application/rss+xml"' }, body: page('') }, '/f': FEED }, finds: '/f' },
  { name: 'a page that sends browsers to another page', site: { '/': page('<meta http-equiv="Refresh" content="0; URL=\'/en/\'">'),
    '/en/': page(feed('f')), '/en/f': FEED }, finds: '/en/f' },
  { name: 'a page that renews itself in a while', site: { '/': page('<meta http-equiv=refresh content="300;url=/en/">'),
    '/en/': page(feed('f')), '/en/f': FEED }, finds: null },
  // anchors
  anchor('address and text', '<a href="/f">RSS feed</a>'),
  anchor('an address alone', '<a href="/posts.atom">Subscribe</a>', '/posts.atom'),
  anchor('an icon', '<a href="/f"><i class="fa fa-rss"></i></a>'),
  anchor('a picture', '<a href=/f><img src=a.png alt="Atom"></a>'),
  anchor('a label', '<a href="/f" aria-label="RSS"><svg xmlns="http://www.w3.org/2000/svg"/></a>'),
  anchor('in German', '<a href="/f">Newsfeed abonnieren</a>'),
  anchor('in Korean', '<a href="/f">구독</a>'),
  anchor('in Japanese', '<a href="/f">フィード</a>'),
  anchor('behind feedback and a sitemap', '<a href="/feedback">Feedback</a><a href="/sitemap.xml">XML</a><a href="/f">RSS</a>'),
  anchor('behind feeds of others', '<a href="https://a.invalid/rss.xml">A</a>'.repeat(4) + '<a href="/f.xml">XML</a>', '/f.xml'),
  { name: 'a page of feeds behind an anchor', site: { '/': page('', '<a href="/rss">RSS</a>'),
    '/rss': page('', '<a href="/news/all.xml">All</a>'), '/news/all.xml': FEED }, finds: '/news/all.xml' },
  // usual paths
  ...['/feed', '/rss.xml', '/atom.xml', '/rss', '/index.xml', '/feed.json'].map((path) => usual(path)),
  usual('/blog/feed', '/blog/'), usual('/blog/index.xml', '/blog'), usual('/rss.xml', '/2024/05/a-post/'),
  // bytes and answers
  ...['none', 'identity', 'utf-8', 'UTF-8', 'identity, None', 'binary'].map((coding): Shape => ({ name: `Content-Encoding: ${coding}`,
    site: { '/': { headers: { 'content-encoding': coding }, body: FEED } }, finds: '/' })),
  { name: 'a file in the gzip format', site: { '/f.xml.gz': { headers: { 'content-type': 'application/gzip' },
    body: gzipSync(FEED) } }, at: '/f.xml.gz', finds: '/f.xml.gz' },
  { name: 'Content-Encoding: utf-8, gzip', site: { '/': { headers: { 'content-encoding': 'utf-8, gzip' },
    body: gzipSync(FEED) } }, finds: '/' },
  { name: '300 with a feed', site: { '/': { status: 300, body: FEED } }, finds: '/' },
  { name: '300 with a Location', site: { '/': { status: 300, headers: { location: '/f' } }, '/f': FEED }, finds: '/' },
  { name: '300 with a list', site: { '/': { status: 300, headers: { 'content-type': 'text/html' },
    body: '<ul><li><a href="/a.html">a</a><li><a href="/f.atom">f</a>, type application/atom+xml</ul>' }, '/f.atom': FEED },
    finds: '/f.atom' },
  { name: 'a feed as text/html', site: { '/': { headers: { 'content-type': 'text/html' }, body: FEED } }, finds: '/' },
  { name: 'meta charset', site: { '/': { body: latin1(page(`<meta charset="windows-1252">${feed('/f',
    'type="application/rss+xml" title="B\xfccher"')}`)) }, '/f': FEED }, finds: '/f' },
  { name: 'meta http-equiv', site: { '/': { body: latin1(page('<meta http-equiv="Content-Type" content="text/html; '
    + `charset=windows-1251">${feed('/f', 'type="application/rss+xml" title="\xcd\xee\xe2\xee\xf1\xf2\xe8"')}`)) },
    '/f': FEED }, finds: '/f' },
  // nothing there
  { name: 'no feed anywhere', site: { '/': page('', '<a href="/about">We feed owls</a>') }, finds: null },
  { name: 'a feed only in a script', site: { '/': page(`<script>"${feed('/x')}"</script>`), '/x': FEED }, finds: null },
  { name: 'plain text', site: { '/': { headers: { 'content-type': 'text/plain' }, body: 'hello' }, '/feed': FEED },
    finds: null },
];

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
