import { gzipSync } from 'node:zlib';
import { rss } from './feeds.ts';

/** The answer of one path of a site: a body, or headers, a status and a body. */
type Answer = string | { status?: number; headers?: Record<string, string>; body?: string | Buffer };

/** A site, the address that is asked, and the paths of its feeds: the first is taken, all of them are offered. */
export type Shape = { name: string; site: Record<string, Answer>; at?: string; finds: string | null; offers?: string[] };

const FEED = rss('Owls', [{ guid: 'a' }]);
const link = (href: string, more = 'type="application/rss+xml"'): string => `<link rel="alternate" ${more} href="${href}">`;
const page = (head: string, body = ''): string =>
  `<!doctype html><html><head><title>Owls</title>${head}</head><body>${body}</body></html>`;
const filler = (bytes: number): string => `<script>${'var a = "</b>";'.repeat(bytes / 15)}</script>`;
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const named = (name: string, head: string, finds = '/f', body = ''): Shape =>
  ({ name, site: { '/': page(head, body), [finds]: FEED }, finds });
const anchor = (name: string, html: string, finds = '/f'): Shape => named(`an anchor: ${name}`, '', finds, html);
const usual = (path: string, at = '/'): Shape =>
  ({ name: `no link, but ${path} for ${at}`, site: { [at]: page(''), [path]: FEED }, at, finds: path });

export const SHAPES: Shape[] = [
  // what a page advertises
  named('RSS', link('/f')),
  named('Atom', link('/f', 'type="application/atom+xml"')),
  named('JSON Feed', link('/f', 'type="application/feed+json"')),
  named('JSON Feed of version 1', link('/f', 'type="application/json"')),
  named('RDF', link('/f', 'type="application/rdf+xml"')),
  named('type with charset', link('/f', 'type="application/rss+xml; charset=utf-8"')),
  named('odd type rss+xml', link('/f', 'type="text/rss+xml"')),
  named('odd type x-rss', link('/f', 'type="application/x-rss+xml"')),
  named('odd type application/rss', link('/f', 'type="application/rss"')),
  named('text/xml', link('/f', 'type="text/xml"')),
  named('no type', link('/feed.xml', ''), '/feed.xml'),
  named('no type, but a title', '<link rel="alternate" href="/f" title="RSS 2.0">'),
  named('odd type xml+rss', link('/f', 'type="application/xml+rss"')),
  named('wrong type', link('/feed/', 'type="text/html"'), '/feed/'),
  named('empty type', link('/rss', 'type=""'), '/rss'),
  named('rel=feed without a type', '<link rel="feed" href="/f">'),
  named('several rels', '<link rel="home alternate" type="application/rss+xml" href="/f">'),
  named('upper case', '<LINK REL="ALTERNATE" TYPE="APPLICATION/RSS+XML" HREF="/f">'),
  named('unquoted', '<link rel=alternate type=application/rss+xml href=/f>'),
  named('single quotes', "<link rel='alternate' type='application/rss+xml' href='/f'>"),
  named('closed as XML', '<link rel="alternate" type="application/rss+xml" href="/f"/>'),
  named('line breaks', '<link\n rel="alternate"\n\ttype="application/rss+xml"\n href="/f"\n>'),
  named('white space around', '<link rel=" alternate " type=" application/rss+xml " href=" /f\n">'),
  named('href first', '<link href="/f" type="application/rss+xml" rel="alternate">'),
  named('relative', link('f')),
  named('entities', link('/f?a=1&amp;b=2'), '/f?a=1&b=2'),
  named('numeric references', link('&#47;&#x66;')),
  named('base href', `<base href="/blog/">${link('f')}`, '/blog/f'),
  named('base behind the link', `${link('f')}<base href="/blog/">`, '/blog/f'),
  named('base with a target only', `<base target="_top">${link('f')}`),
  named('link in the body', '', '/f', `<p>${link('/f')}</p>`),
  named('link in noscript', `<noscript>${link('/f')}</noscript>`),
  named('a comment before', `<!-- ${link('/old')} -->${link('/f')}`),
  named('an empty comment before', `<!-->${link('/f')}<!-- -->`),
  named('conditional comments', `<!--[if IE]>${link('/old')}<![endif]-->${link('/f')}`),
  named('a script before', `<script>document.write('${link('/old')}')</script>${link('/f')}`),
  named('a template before', `<template>${link('/old')}</template>${link('/f')}`),
  named('an odd tag before', `<link ${'a '.repeat(3_000)}${'b'.repeat(9_000)}=1>${link('/f')}`),
  named('after 600 kB of scripts', filler(600_000) + link('/f')),
  named('after 1.9 MB', filler(1_900_000) + link('/f')),
  named('after words of a script that end no head', `<script>"application/rss+xml </head><body>"</script>${
    filler(400_000)}${link('/f')}`),
  ...['\ufeff', 'Notice: a warning of PHP\n', '<base href="/">', `<!--${'x'.repeat(200_000)}-->`].map((before): Shape => ({
    name: `after ${before.slice(0, 9)} and 700 kB`, site: { '/': { headers: { 'content-type': 'text/html' },
      body: before + page(filler(700_000) + link('/f')) }, '/f': FEED }, finds: '/f' })),
  { name: 'after 700 kB in UTF-16', site: { '/': { headers: { 'content-type': 'text/html' },
    body: Buffer.from(`\ufeff${page(filler(350_000) + link('/f'))}`, 'utf16le') }, '/f': FEED }, finds: '/f' },
  named('before a page larger than any limit', link('/f'), '/f', 'x'.repeat(11_000_000)),
  named('comments of a post first', link('/c/', 'type="application/rss+xml" title="Owls » Comments Feed"') + link('/f')),
  named('comments in German first', link('/k', 'type="application/rss+xml" title="Kommentar-Feed"') + link('/f')),
  ...['kommenttien syöte', 'RSS komentářů', 'Стрічка коментарів', 'yorum beslemesi'].map((title) => (
    { ...named(`${title} first`, link('/k', `type="application/rss+xml" title="Owls » ${title}"`) + link('/f')),
      offers: ['/f', '/k'] })),
  named('comments in Japanese first', link('/k', 'type="application/rss+xml" title="コメント"') + link('/f')),
  named('data of WordPress first', link('/wp-json/wp/v2/posts/1', 'type="application/json"') + link('/f')),
  named('oEmbed first', link('/oembed?url=feed', 'type="application/json+oembed"') + link('/f')),
  named('other languages of the page first', link('/de/', 'hreflang="de"') + link('/f')),
  named('a search description first', '<link rel="search" type="application/opensearchdescription+xml" href="/o.xml">'
    + link('/f')),
  named('the first of two is missing', link('/gone') + link('/f')),
  named('the first of two is a page', link('/') + link('/f')),
  named('the first five of six are missing', Array.from('12345f', (name) => link(`/${name}`)).join('')),
  named('no head and no html', `${'<meta name=a>'}${link('/f')}`),
  { name: 'all feeds are offered', finds: '/f', offers: ['/f', '/g', '/c'], site: { '/f': FEED,
    '/': page(link('/c', 'type="application/rss+xml" title="Comments"') + link('/f') + link('/g') + link('/f')) } },
  { name: 'feeds of several languages', finds: '/en', offers: ['/en', '/de', '/fr'], site: { '/en': FEED,
    '/': page(['en', 'de', 'fr'].map((name) => link(`/${name}`, `type="application/atom+xml" hreflang="${name}"`)).join('')) } },
  { name: 'feed: in front', site: { '/': page('<link rel=alternate type=application/rss+xml href="feed:HOST/f">'), '/f': FEED },
    finds: '/f' },
  { name: 'a page without any start of a page', site: { '/': { headers: { 'content-type': 'text/html' }, body: `<main>${
    link('/f')}` }, '/f': FEED }, finds: '/f' },
  { name: 'XHTML with a declaration', site: { '/': `<?xml version="1.0"?>${page(link('/f'))}`, '/f': FEED }, finds: '/f' },
  // the header
  { name: 'Link header', site: { '/': { headers: { link: '</f>; rel="alternate"; type="application/rss+xml"' },
    body: page('') }, '/f': FEED }, finds: '/f' },
  { name: 'Link header of many, unquoted', site: { '/': { headers: { link: '</s.css>; rel=preload; as=style, '
    + '</f>; type=application/atom+xml; title="A; b, c"; rel=alternate' }, body: page('') }, '/f': FEED }, finds: '/f' },
  { name: 'Link header with brackets in a title', site: { '/': { headers: { link: '</f>; rel=alternate; title="a > b"; '
    + 'type="application/rss+xml"' }, body: page('') }, '/f': FEED }, finds: '/f' },
  { name: 'a page that sends browsers to another page', site: { '/': page('<meta http-equiv="Refresh" content="0; URL=\'/en/\'">'),
    '/en/': page(link('f')), '/en/f': FEED }, finds: '/en/f' },
  { name: 'a page that renews itself in a while', site: { '/': page('<meta http-equiv=refresh content="300;url=/en/">'),
    '/en/': page(link('f')), '/en/f': FEED }, finds: null },
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
  { name: 'meta charset', site: { '/': { body: latin1(page(`<meta charset="windows-1252">${link('/f',
    'type="application/rss+xml" title="B\xfccher"')}`)) }, '/f': FEED }, finds: '/f' },
  { name: 'meta http-equiv', site: { '/': { body: latin1(page('<meta http-equiv="Content-Type" content="text/html; '
    + `charset=windows-1251">${link('/f', 'type="application/rss+xml" title="\xcd\xee\xe2\xee\xf1\xf2\xe8"')}`)) },
    '/f': FEED }, finds: '/f' },
  // nothing there
  { name: 'no feed anywhere', site: { '/': page('', '<a href="/about">We feed owls</a>') }, finds: null },
  { name: 'a feed only in a script', site: { '/': page(`<script>"${link('/x')}"</script>`), '/x': FEED }, finds: null },
  { name: 'plain text', site: { '/': { headers: { 'content-type': 'text/plain' }, body: 'hello' }, '/feed': FEED },
    finds: null },
];
