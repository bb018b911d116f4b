// Protects the reading of every version of RSS, field by field, with guids that do not wander.
import assert from 'node:assert/strict';
import test from 'node:test';
import { entry, first, parse, rss, rssItem } from '../../support/written-feeds.ts';

test('an RSS 2.0 feed is read with all its fields', () => {
  const feed = rss(`
    <title>A &amp; B</title><description>About &lt;b&gt;things&lt;/b&gt;</description>
    <ttl>60</ttl><image><url>/logo.png</url><title>x</title></image>
    <item><title>One</title><link>/1</link><guid isPermaLink="false">id-1</guid><author>a@example.org (Ann Lee)</author>
      <description>&lt;p&gt;Hello&lt;/p&gt;</description><pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate>
      <enclosure url="/a.mp3" length="123" type="audio/mpeg"/><itunes:image href="/art.jpg"/></item>`);
  assert.deepEqual({ ...feed, items: [] }, {
    title: 'A & B', description: 'About things', siteUrl: 'https://site.example/', iconUrl: 'https://example.org/logo.png', ttl: 3_600_000, items: [],
    deleted: [], cut: null, hidesItems: false,
  });
  assert.deepEqual(first(feed), {
    guid: 'id-1', title: 'One', url: 'https://site.example/1', author: 'Ann Lee', language: null, contentHtml: '<p>Hello</p>',
    baseUrl: 'https://site.example/1', summary: null, publishedAt: Date.UTC(2004, 0, 1, 19, 48, 21), updatedAt: null,
    picture: 'https://site.example/art.jpg',
    attachments: [{
      url: 'https://site.example/a.mp3', mediaType: 'audio/mpeg', bytes: 123, title: null, durationSeconds: null,
    }],
  });
});

test('every version of RSS is read', () => {
  const rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"';
  const items = '<channel><title>C</title></channel><item><title>I</title><link>https://x.example/1</link></item>';
  for (const text of [
    '<rss version="0.91"><channel><title>C</title><item><title>I</title></item></channel></rss>',
    '<rss version="0.92"><channel><title>C</title><item><title>I</title></item></channel></rss>',
    '<rss><channel><title>C</title><item><title>I</title></item></channel></rss>',
    '<RSS VERSION="2.0"><CHANNEL><TITLE>C</TITLE><ITEM><TITLE>I</TITLE></ITEM></CHANNEL></RSS>',
    `<rdf:RDF ${rdf} xmlns="http://purl.org/rss/1.0/">${items}</rdf:RDF>`,
    `<rdf:RDF ${rdf} xmlns="http://my.netscape.com/rdf/simple/0.9/">${items}</rdf:RDF>`,
    `<r:RDF ${rdf.replace('xmlns:rdf', 'xmlns:r')} xmlns="http://purl.org/rss/1.0/">${items}</r:RDF>`,
  ]) {
    const feed = parse(text);
    assert.deepEqual([feed.title, first(feed).title], ['C', 'I'], text);
  }
});

test('content:encoded or fullitem is the content and the description the summary', () => {
  for (const full of [
    '<content:encoded><![CDATA[<p>Long &amp; full</p>]]></content:encoded>',
    '<fullitem>&lt;p&gt;Long &amp;amp; full&lt;/p&gt;</fullitem>',
  ]) {
    const item = rssItem(`<description>Short</description>${full}`);
    assert.deepEqual([item.contentHtml, item.summary], ['<p>Long &amp; full</p>', 'Short']);
  }
});

test('HTML that nobody escaped is content, and its elements are no fields of the item', () => {
  const html = '<p>a <title>no</title><br/>b &amp; c<img src="x.png"></p>';
  const item = rssItem(`<title>T</title><description>${html}</description>`);
  assert.deepEqual([item.title, item.contentHtml], ['T', '<p>a <title>no</title><br>b &amp; c<img src="x.png"></p>']);
});

test('titles are one line of plain text, decoded as often as they were encoded', () => {
  const cases: [string, string][] = [
    ['AT&amp;T', 'AT&T'], ['AT&amp;amp;T', 'AT&T'], ['R&D', 'R&D'], ['<![CDATA[Tom &amp; Jerry]]>', 'Tom & Jerry'],
    ['&lt;b&gt;Bold&lt;/b&gt; move', 'Bold move'], ['<b>Bold</b> move', 'Bold move'],
    ['H&lt;sub&gt;2&lt;/sub&gt;O', 'H2O'], ['The &lt;b&gt; tag', 'The <b> tag'],
    ['1 &lt; 2 and 3 &gt; 2', '1 < 2 and 3 > 2'], ['&amp;lt;video&amp;gt;', '<video>'],
    [' a \n\t b&nbsp;c ', 'a b c'], ['caf&eacute; &#8211; &unknown;', 'café – &unknown;'], ['a\u0008b', 'ab'],
    ['one&lt;br/&gt;two', 'one two'], ['?a=1&amp;copy=2', '?a=1&copy=2'], ['<![CDATA[ ]]>', ''],
  ];
  for (const [written, expected] of cases) {
    assert.equal(rssItem(`<guid>1</guid><title>${written}</title>`).title, expected, written);
  }
});

test('the description of a feed is one line of text, whether it was HTML or plain', () => {
  const cases: [string, string][] = [
    ['&lt;p&gt;One&lt;/p&gt;&lt;style&gt;no&lt;/style&gt;\n two &amp;amp; three', 'One two & three'],
    ['Why a &lt;b and no end, 1 &lt; 2', 'Why a <b and no end, 1 < 2'],
  ];
  for (const [written, expected] of cases) {
    assert.equal(rss(`<description>${written}</description>`).description, expected, written);
  }
});

test('the link is the original one, the link, the alternate, or a guid that may be one', () => {
  const cases: [string, string | null][] = [
    ['<link>/p</link><feedburner:origLink>https://x.example/</feedburner:origLink>', 'https://x.example/'],
    ['<link/><atom:link href="/2"/>', 'https://site.example/2'],
    ['<link href="/3"/>', 'https://site.example/3'],
    ['<atom:link rel="self" href="/no"/><atom:link rel="alternate" href="/4"/>', 'https://site.example/4'],
    ['<link xmlns="http://www.w3.org/2005/Atom" rel="self" href="/no"/><link>/5</link>', 'https://site.example/5'],
    ['<guid>https://x.example/6</guid>', 'https://x.example/6'],
    ['<guid isPermaLink="false">https://x.example/7</guid>', null],
    ['<guid>7</guid>', null],
    ['<link>javascript:alert(1)</link><title>x</title>', null],
    ['<link>https://x.example/?a=1&copy=2&b=<![CDATA[&]]>c</link>', 'https://x.example/?a=1&copy=2&b=&c'],
  ];
  for (const [written, expected] of cases) assert.equal(rssItem(written).url, expected, written);
});

test('relative content resolves against xml:base, else the page of the item', () => {
  assert.equal(rssItem('<link>/p/1</link><description>x</description>').baseUrl, 'https://site.example/p/1');
  const based = entry(
    '<link href="1"/><content type="html" xml:base="c/">x</content>',
    'xmlns="http://www.w3.org/2005/Atom" xml:base="https://base.example/b/"',
  );
  assert.deepEqual([based.url, based.baseUrl], ['https://base.example/b/1', 'https://base.example/b/c/']);
  assert.equal(entry('<id>x</id><link href="../1"/>').url, 'https://example.org/1');
});

test('guids are unique, never empty, and do not wander when the list moves on', () => {
  const item = (n: number, guid = 'same'): string =>
    `<item><guid isPermaLink="false">${guid}</guid><link>/${n}</link></item>`;
  const before = rss(item(2) + item(1)).items.map((one) => one.guid);
  const after = rss(item(3) + item(2) + item(1)).items.map((one) => one.guid);
  assert.equal(new Set(after).size, 3);
  assert.deepEqual(after.slice(1), before);
  assert.deepEqual(rss(item(1, 'a') + item(2, 'b')).items.map((one) => one.guid), ['a', 'b']);
});

test('without a guid the link is the identity, without a link the content', () => {
  assert.equal(rssItem('<link>/1</link>').guid, 'https://site.example/1');
  const written = '<item><title>a</title></item><item><title>b</title></item>';
  const guids = rss(written).items.map((one) => one.guid);
  assert.equal(new Set(guids).size, 2);
  assert.ok(guids.every((guid) => guid.length > 0));
  assert.deepEqual(rss(written).items.map((one) => one.guid), guids);
});

test('exact repetitions and items that hold nothing are dropped', () => {
  const item = '<item><guid>g</guid><title>t</title></item>';
  const feed = rss(`${item}${item}<item></item><item><title>other</title><guid>g</guid></item>`);
  assert.deepEqual(feed.items.map((one) => one.title), ['t', 'other']);
  assert.equal(new Set(feed.items.map((one) => one.guid)).size, 2);
});

test('files are collected from all modules, once per address', () => {
  const item = rssItem(`
    <enclosure url="a.mp3" type="Audio/MPEG" length="garbage"/>
    <media:content url="https://site.example/a.mp3" fileSize="99"><media:title>A</media:title></media:content>
    <media:group><media:content url="b.mp4" type="video/mp4" duration="61"/><media:thumbnail url="t.jpg"/></media:group>
    <media:content><media:thumbnail url="t2.jpg"/></media:content>
    <atom:link rel="enclosure" href="c.pdf" type="application/pdf" length="7" title="C"/>
    <enclosure url="javascript:x"/><enclosure/><itunes:duration>1:01:01</itunes:duration>`);
  assert.deepEqual(item.attachments, [
    { url: 'https://site.example/a.mp3', mediaType: 'audio/mpeg', bytes: 99, title: 'A', durationSeconds: 3661 },
    { url: 'https://site.example/b.mp4', mediaType: 'video/mp4', bytes: null, title: null, durationSeconds: 61 },
    { url: 'https://site.example/t.jpg', mediaType: 'image/*', bytes: null, title: null, durationSeconds: null },
    { url: 'https://site.example/t2.jpg', mediaType: 'image/*', bytes: null, title: null, durationSeconds: null },
    { url: 'https://site.example/c.pdf', mediaType: 'application/pdf', bytes: 7, title: 'C', durationSeconds: null },
  ]);
});

test('the syndication module counts where there is no ttl', () => {
  const period = (inner: string): number | null => rss(inner).ttl;
  assert.equal(period('<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>'), 900_000);
  assert.equal(period('<sy:updatePeriod>daily</sy:updatePeriod>'), 86_400_000);
  assert.equal(period('<ttl>soon</ttl>'), null);
  assert.equal(period('<ttl>0</ttl>'), null);
});

test('the description and author of Dublin Core are read where there are no others', () => {
  const item = rssItem('<dc:description>&lt;p&gt;Text&lt;/p&gt;</dc:description><dc:author>Ann</dc:author>');
  assert.deepEqual([item.contentHtml, item.author], ['<p>Text</p>', 'Ann']);
  assert.equal(rssItem('<guid>1</guid><dc:creator>Bo</dc:creator><dc:author>Ann</dc:author>').author, 'Bo');
  assert.equal(rss('<dc:description>About owls</dc:description>').description, 'About owls');
});

test('the author of a channel is the author of items without an author', () => {
  const items = '<item><guid>1</guid></item><item><guid>2</guid><author>Bo</author></item>';
  const authorsOf = (channel: string): (string | null)[] => rss(channel + items).items.map(({ author }) => author);
  const owner = '<itunes:owner><itunes:email>a@pod.example</itunes:email><itunes:name>Ann</itunes:name></itunes:owner>';
  for (const written of [
    '<dc:creator>Ann</dc:creator>', '<itunes:author>Ann</itunes:author>', '<googleplay:author>Ann</googleplay:author>',
    owner, '<managingEditor>ann@example.org (Ann)</managingEditor>',
    '<atom:author><atom:name>Ann</atom:name></atom:author>',
    `<managingEditor>ed@example.org</managingEditor>${owner}`,
  ]) assert.deepEqual(authorsOf(written), ['Ann', 'Bo'], written);
  const nameless = '<itunes:owner><itunes:email>a@pod.example</itunes:email></itunes:owner>';
  assert.deepEqual(authorsOf(nameless), ['a@pod.example', 'Bo']);
  assert.deepEqual(authorsOf('<webMaster>host@example.org</webMaster>'), [null, 'Bo'], 'the webmaster writes no posts');
  const mailed = rssItem('<guid>1</guid><atom:author><atom:email>ann@example.org</atom:email></atom:author>');
  assert.equal(mailed.author, 'ann@example.org');
});

test('the picture of a podcast stands for episodes without a picture of their own', () => {
  const items = ['<itunes:image href="/own.jpg"/>', '<description>&lt;img src="/a.png"&gt;</description>', ''];
  const channel = rss('<itunes:image href="https://pod.example/art.jpg"/>'
    + items.map((item, at) => `<item><guid>${at}</guid>${item}</item>`).join(''));
  assert.deepEqual(channel.items.map(({ picture }) => picture?.replace(/.*\//, '')), ['own.jpg', undefined, 'art.jpg']);
});

test('an address that stands beside a name is not published', () => {
  for (const written of [
    'Ann (ann@example.org)', 'Ann Lee (mailto:ann@example.org)', 'ann@example.org (Ann)', 'Ann &lt;ann@example.org&gt;',
  ]) assert.doesNotMatch(rssItem(`<guid>1</guid><author>${written}</author>`).author ?? '', /@|\(/, written);
  assert.equal(rssItem('<guid>1</guid><author>Ann Lee (ann@example.org)</author>').author, 'Ann Lee');
  assert.equal(rssItem('<guid>1</guid><author>Ann (Lee) O.</author>').author, 'Ann (Lee) O.');
  assert.equal(rssItem('<guid>1</guid><author>Ann Lee ann@example.org</author>').author, 'Ann Lee');
  assert.equal(rssItem('<guid>1</guid><author>Ann @ann@social.example</author>').author, 'Ann @ann@social.example');
});

test('media without a type are what they say or what they are called like', () => {
  const typeOf = (attributes: string): string | null | undefined =>
    rssItem(`<media:content ${attributes}/>`).attachments[0]?.mediaType;
  assert.equal(typeOf('url="/a" medium="image"'), 'image/*');
  assert.equal(typeOf('url="/a.JPG?w=10" medium="image"'), 'image/jpeg');
  assert.equal(typeOf('url="/a.png"'), 'image/png');
  assert.equal(typeOf('url="/a.webp" type="image/avif"'), 'image/avif');
  assert.equal(typeOf('url="/a.png" medium="video"'), null);
  assert.equal(typeOf('url="/a.mp4"'), 'video/mp4');
  assert.equal(typeOf('url="/a.bin"'), null);
  assert.equal(rssItem('<media:thumbnail url="/t"/>').attachments[0]?.mediaType, 'image/*');
});
