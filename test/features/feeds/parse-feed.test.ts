// Protects feeds that are damaged, wrapped or none at all: read as far as they make sense, or refused with a reason.
import assert from 'node:assert/strict';
import test from 'node:test';
import { absoluteUrl, NotAFeedError } from '../../../src/features/feeds/feed-values.ts';
import { XmlLimitError } from '../../../src/platform/markup/xml-tokenizer.ts';
import { first, json, parse, rss, URL_OF_FEED } from '../../support/written-feeds.ts';

test('the usual faults of feeds do not lose an item', () => {
  const good = '<item><title>Good</title><link>/g</link></item>';
  const cases: [string, string][] = [
    ['bare ampersand and less-than', `<item><title>A & B < C</title></item>${good}`],
    ['undeclared entity', `<item><title>A &foo; B</title></item>${good}`],
    ['undeclared prefix', `<item><title>x</title><foo:bar>y</foo:bar></item>${good}`],
    ['mismatched end tag', `<item><title>x</title><b><i>y</b></i></item>${good}`],
    ['missing end tag of an item', `<item><title>x</title>${good}`],
    ['control characters', `<item><title>x\u0000\u0007</title></item>${good}`],
    ['unquoted and duplicate attributes', `<item><guid isPermaLink=false isPermaLink=true>1</guid></item>${good}`],
  ];
  for (const [fault, inner] of cases) {
    assert.deepEqual(rss(inner).items.map((item) => item.title).slice(1), ['Good'], fault);
  }
});

test('what surrounds a feed is ignored, and a cut feed gives what is there', () => {
  const feed = '<rss version="2.0"><channel><title>T</title><item><title>1</title></item><item><title>2</title></item>';
  const whole = `${feed}</channel></rss>`;
  for (const text of [
    `\n\n<?xml version="1.0"?>${whole}`, `<br />\n<b>Warning</b>: mysql_connect() in <b>x.php</b><br />${whole}`,
    `${whole}<script>track()</script></html>`, `\ufeff${whole}`, `${feed}</channel>`, feed, `junk ${whole} junk`,
    `<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">${whole}`,
  ]) assert.deepEqual(parse(text).items.map((item) => item.title), ['1', '2'], text);
  assert.deepEqual(parse(feed.slice(0, -12)).items.map((item) => item.title), ['1', '2']);
});

test('entities of a document type are neither expanded nor fetched', () => {
  const feed = parse('<!DOCTYPE rss [<!ENTITY x "boom"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    + '<rss><channel><item><title>&x;&f;</title></item></channel></rss>');
  assert.equal(first(feed).title, '&x;&f;');
});

test('what is no feed is refused with what it is', () => {
  const cases: [string, RegExp][] = [
    ['', /empty/], ['  \n\ufeff', /empty/],
    ['<!doctype html><html><body><rss></rss></body></html>', /HTML page/],
    ['<head><title>Moved</title></head>', /HTML page/],
    ['<?xml version="1.0"?><opml version="2.0"><body/></opml>', /XML, but neither/],
    ['Not found', /text, but not a feed/], ['PK\u0003\u0004\0\0', /binary/],
    ['{"a":1}', /JSON, but not a JSON Feed/], ['[]', /JSON, but not a JSON Feed/], ['null', /JSON, but not a JSON Feed/], ['{"items":', /is not valid/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parse(text), (error) => error instanceof NotAFeedError && message.test(error.message), text);
  }
});

test('a feed beyond all bounds is refused as such', () => {
  assert.throws(() => rss('<x>'.repeat(300)), XmlLimitError);
});

test('addresses that are taken as they are equal what a browser makes of them', () => {
  for (const link of [
    'https://a.example/', 'https://a-b.example.org/x/y.html?a=1&b=[2]#c%20d', 'http://a.example/..',
    'https://a.example/a/../b',
    'https://a.example/%2E%2e/b', 'HTTPS://A.example/', 'https://a.example:443/', 'https://a.example', 'https://1.2.3/',
    'https://a.example/a b', 'https://a.example/é', 'https://xn--bcher-kva.example/', 'https://a.example/"<>\\^`{|}',
    "https://a.example/?q='x'", 'https://a.example/a//b', 'https://a.example/./b', 'https://a.example/?q=http://u:p@b/',
  ]) assert.equal(absoluteUrl(link, URL_OF_FEED), new URL(link).href, link);
});

test('no address of a feed carries credentials, and none is longer than 4,096 characters', () => {
  const address = 'https://bank.example:pw@evil.example/x';
  const long = `https://a.example/${'x'.repeat(4_096 - 18)}`;
  const link = (url: string): unknown[] => {
    const written = `<item><title>t</title><link>${url}</link><enclosure url="${url}"/></item>`;
    const feed = parse(`<rss><channel><link>${url}</link>${written}</channel></rss>`);
    return [feed.siteUrl, first(feed).url, first(feed).attachments[0]?.url ?? null];
  };
  const other = (url: string): unknown[] => [
    first(parse(`<feed><entry><id>1</id><link href="${url}"/></entry></feed>`)).url,
    first(parse(`<rss><channel><item><guid>${url}</guid></item></channel></rss>`)).url,
    first(json({ items: [{ id: '1', url }] })).url, absoluteUrl(url, URL_OF_FEED),
  ];
  for (const found of [...link(address), ...other(address)]) assert.equal(found, 'https://evil.example/x');
  for (const found of [...link(long), ...other(long)]) assert.equal(found, long);
  for (const found of [...link(`${long}x`), ...other(`${long}x`)]) assert.equal(found, null);
  const based = parse(`<feed xml:base="https://u:p@base.example/"><entry><id>1</id></entry></feed>`);
  assert.equal(first(based).baseUrl, 'https://base.example/');
});

test('a feed damaged at any place is read or refused, and never anything else', () => {
  const whole = '<?xml version="1.0"?><rss version="2.0"><channel><title>T</title><item><guid>1</guid>'
    + '<title><![CDATA[a]]></title><link>/1</link><pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate></item></channel>'
    + '</rss>';
  for (let at = 0; at < whole.length; at += 1) {
    for (const damage of ['<', '>', '"', '&', ']', '\0', '']) {
      const text = whole.slice(0, at) + damage + whole.slice(at + 1);
      try {
        assert.ok(parse(text).items.every((item) => item.guid !== ''), text);
      } catch (error) {
        assert.ok(error instanceof NotAFeedError, `${text}: ${String(error)}`);
      }
    }
  }
});

test('a feed behind a document type of HTML is a feed, and a page with such a type is none', () => {
  const feed = '<rss version="2.0"><channel><item><title>1</title></item></channel></rss>';
  for (const start of ['<!DOCTYPE html>', '<?xml version="1.0"?>\n<!doctype html >\n<!-- x -->']) {
    assert.equal(first(parse(start + feed)).title, '1', start);
  }
  for (const page of [`<!DOCTYPE html><title>x</title>${feed}`, `<!DOCTYPE html><html>${feed}</html>`]) {
    assert.throws(() => parse(page), NotAFeedError, page);
  }
});

test('a feed says when it was cut off, and whether the item that was cut still has its id', () => {
  const items = '<rss version="2.0"><channel><title>T</title><item><guid>1</guid><title>a</title></item>';
  const cases: [string, unknown][] = [
    [`${items}</channel></rss>`, null],
    [`${items}</channel></rss> junk`, null],
    [items, { lastIsSure: true }],
    [`${items}<item><guid>2</guid><description>half a te`, { lastIsSure: true }],
    [`${items}<item><guid>2`, { lastIsSure: false }],
    [`${items}<item><title>half a te`, { lastIsSure: false }],
    ['<feed><entry><id>1</id><content>half', { lastIsSure: true }],
    ['<feed><entry><title>x</title><content>half', { lastIsSure: false }],
  ];
  for (const [text, cut] of cases) assert.deepEqual(parse(text).cut, cut, text);
});

test('of more items than are read the newest count, in whatever order they come', () => {
  const day = (index: number): string => new Date(Date.UTC(2010, 0, 1 + index)).toUTCString();
  const numbers = (feed: { items: { title: string }[] }): number[] => feed.items.map(({ title }) => Number(title));
  const written = (dated: boolean, order: number[]): string => order.map((index) =>
    `<item><title>${index}</title>${dated ? `<pubDate>${day(index)}</pubDate>` : ''}</item>`).join('');
  const rising = Array.from({ length: 2_500 }, (_, index) => index);
  const newest = rising.slice(500);

  assert.deepEqual(numbers(rss(written(true, rising))), newest);
  assert.deepEqual(numbers(rss(written(true, rising.toReversed()))), newest.toReversed());
  assert.deepEqual(numbers(rss(written(false, rising))), rising.slice(0, 2_000), 'without dates the first ones');
  const entries = rising.map((index) => `<entry><title>${index}</title><updated>${day(index)}</updated></entry>`);
  assert.deepEqual(numbers(parse(`<feed>${entries.join('')}</feed>`)), newest);
  const items = rising.map((index) => ({ id: String(index), title: String(index), date_published: day(index) }));
  assert.deepEqual(numbers(json({ items })), newest);
});

test('deleted entries are read with the time of their deletion', () => {
  const at = 'xmlns:at="http://purl.org/atompub/tombstones/1.0"';
  const { deleted } = parse(`<feed xmlns="http://www.w3.org/2005/Atom" ${at}>
    <at:deleted-entry ref="urn:1" when="2020-01-02T00:00:00Z"/><at:deleted-entry ref="urn:2" when="soon"/>
    <at:deleted-entry when="2020-01-02T00:00:00Z"/></feed>`);
  assert.deepEqual(deleted, [{ guid: 'urn:1', deletedAt: Date.UTC(2020, 0, 2) }, { guid: 'urn:2', deletedAt: null }]);
});
