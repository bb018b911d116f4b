// Protects the reading of Atom feeds, old and new, field by field.
import assert from 'node:assert/strict';
import test from 'node:test';
import { atom, entry, first, parse } from '../../support/written-feeds.ts';

test('an Atom 1.0 feed is read with all its fields', () => {
  const feed = parse(`<a:feed xmlns:a="http://www.w3.org/2005/Atom">
    <a:title type="html">A &amp;amp; &lt;b&gt;B&lt;/b&gt;</a:title><a:subtitle>S</a:subtitle>
    <a:icon>/icon.png</a:icon><a:link rel="self" href="/self"/><a:link href="/home"/><a:author><a:name>Feed Author</a:name></a:author>
    <a:entry><a:id>urn:1</a:id><a:title>T</a:title><a:updated>2003-12-13T18:30:02Z</a:updated>
      <a:published>2003-12-12T18:30:02Z</a:published><a:link rel="alternate" href="1"/>
      <a:link rel="enclosure" href="a.mp3" type="audio/mpeg" length="5"/>
      <a:summary>Short &lt; long</a:summary><a:content type="html">&lt;p&gt;x&lt;/p&gt;</a:content>
    </a:entry></a:feed>`);
  assert.deepEqual({ ...feed, items: [] }, {
    title: 'A & B', description: 'S', siteUrl: 'https://example.org/home', iconUrl: 'https://example.org/icon.png', ttl: null, items: [],
    deleted: [], cut: null, hidesItems: false,
  });
  assert.deepEqual(first(feed), {
    guid: 'urn:1', title: 'T', url: 'https://example.org/blog/1', author: 'Feed Author', language: null, contentHtml: '<p>x</p>',
    baseUrl: 'https://example.org/blog/1', summary: 'Short &lt; long', publishedAt: Date.UTC(2003, 11, 12, 18, 30, 2),
    updatedAt: Date.UTC(2003, 11, 13, 18, 30, 2),
    attachments: [{
      url: 'https://example.org/blog/a.mp3', mediaType: 'audio/mpeg', bytes: 5, title: null, durationSeconds: null,
    }],
  });
});

test('Atom content means what its type says', () => {
  const xhtml = '<div xmlns="http://www.w3.org/1999/xhtml"><p>a<br/>&amp; &lt;b></p></div>';
  const cases: [string, string][] = [
    ['<content>1 &lt; 2 &amp;amp; 3</content>', '1 &lt; 2 &amp;amp; 3'],
    ['<content type="text">&lt;p&gt;</content>', '&lt;p&gt;'],
    ['<content type="html">&lt;p&gt;x</content>', '<p>x'],
    ['<content type="html"><![CDATA[<p>x]]></content>', '<p>x'],
    ['<content type="html"><p>unescaped</p></content>', '<p>unescaped</p>'],
    [`<content type="xhtml">${xhtml}</content>`, '<p>a<br>&amp; &lt;b></p>'],
    [`<content type="application/xhtml+xml">${xhtml}</content>`, '<p>a<br>&amp; &lt;b></p>'],
    ['<content type="xhtml" xmlns:h="http://www.w3.org/1999/xhtml"><h:div><h:i/>x</h:div></content>', '<i></i>x'],
    ['<content type="image/png">iVBORw0KGgo=</content><summary>alt</summary>', 'alt'],
    ['<summary type="html">&lt;i&gt;s&lt;/i&gt;</summary>', '<i>s</i>'],
  ];
  for (const [written, expected] of cases) assert.equal(entry(`<id>1</id>${written}`).contentHtml, expected, written);
});

test('an HTML title is what a reader would see, on one line', () => {
  const title = '&lt;p&gt;A&lt;/p&gt;&lt;script&gt;no&lt;/script&gt;\nB &amp;amp;lt;';
  assert.equal(entry(`<id>1</id><title type="html">${title}</title>`).title, 'A B &lt;');
});

test('Atom 0.3 is read in its three modes', () => {
  const old = 'version="0.3" xmlns="http://purl.org/atom/ns#"';
  const feed = atom('<tagline>S</tagline><entry><id>1</id></entry>', old);
  assert.deepEqual([feed.description, first(feed).guid], ['S', '1']);
  const xhtml = '<div xmlns="http://www.w3.org/1999/xhtml"><b>x</b></div>';
  const base64 = Buffer.from('<p>é</p>').toString('base64');
  const cases: [string, string][] = [
    ['<content type="text/html" mode="escaped">&lt;p&gt;x&lt;/p&gt;</content>', '<p>x</p>'],
    [`<content type="text/html" mode="base64">${base64}</content>`, '<p>é</p>'],
    [`<content type="application/xhtml+xml" mode="xml">${xhtml}</content>`, '<b>x</b>'],
    ['<content type="text/plain">1 &lt; 2</content>', '1 &lt; 2'],
    ['<content type="text/plain">t</content><content type="text/html" mode="escaped">&lt;i&gt;h</content>', '<i>h'],
  ];
  for (const [written, expected] of cases) {
    assert.equal(entry(`<id>1</id>${written}`, old).contentHtml, expected, written);
  }
  const dates = '<issued>2003-12-13T08:29:29-04:00</issued><modified>2003-12-14T00:00:00Z</modified>';
  const dated = entry(`<id>1</id>${dates}`, old);
  assert.deepEqual([dated.publishedAt, dated.updatedAt], [Date.UTC(2003, 11, 13, 12, 29, 29), Date.UTC(2003, 11, 14)]);
});

test('Atom content that is elsewhere is linked, and a file when it is no page', () => {
  const file = entry('<id>1</id><content type="audio/ogg" src="a.ogg"/><summary>s</summary>');
  assert.deepEqual([file.url, file.contentHtml, file.attachments.length], ['https://example.org/blog/a.ogg', 's', 1]);
  const page = entry('<id>1</id><content type="text/html" src="p.html"/><link href="q.html"/>');
  assert.deepEqual([page.url, page.attachments.length], ['https://example.org/blog/q.html', 0]);
});

test('an entry with only a time of change was published then', () => {
  const item = entry('<id>1</id><updated>2003-12-13T18:30:02Z</updated>');
  const changed = Date.UTC(2003, 11, 13, 18, 30, 2);
  assert.deepEqual([item.publishedAt, item.updatedAt], [changed, changed]);
  assert.equal(entry('<id>1</id><updated>soon</updated>').publishedAt, null);
});

test('the author of an Atom entry is its own, its source\'s or the feed\'s', () => {
  const author = '<author><name>Feed</name></author>';
  const read = (inner: string): string | null => first(atom(`${author}<entry><id>1</id>${inner}</entry>`)).author;
  assert.equal(read(''), 'Feed');
  assert.equal(read('<source><author><name>Source</name></author></source>'), 'Source');
  const two = '<author><name>A</name></author><author><email>b@example.org</email></author>';
  assert.equal(read(two), 'A, b@example.org');
  assert.equal(read('<author>Bare &amp; Name</author>'), 'Bare & Name');
});

test('escaped HTML within one div of type html is HTML, and among elements of its own it is text', () => {
  const read = (content: string): string => entry(`<id>1</id>${content}`).contentHtml;
  const div = (inner: string, type = 'html'): string =>
    `<content type="${type}"><div xmlns="http://www.w3.org/1999/xhtml">${inner}</div></content>`;
  assert.equal(read(div('&lt;p&gt;a &amp;amp; b&lt;/p&gt;')), '<p>a &amp; b</p>');
  assert.equal(read(div('<![CDATA[<p>a</p>]]>')), '<p>a</p>');
  assert.equal(read(div('<code>&lt;p&gt;</code> is a tag')), '<code>&lt;p&gt;</code> is a tag');
  assert.equal(read(div('&lt;p&gt;', 'xhtml')), '&lt;p&gt;');
});

test('the names of Dublin Core are read in Atom as in RSS', () => {
  const read = entry('<id>1</id><dc:author>Ann</dc:author><dc:description>1 &lt; 2</dc:description>');
  assert.deepEqual([read.author, read.contentHtml], ['Ann', '1 &lt; 2']);
});

test('an id that is a web address is the link of an entry without another address', () => {
  assert.equal(entry('<id>https://x.example/1</id>').url, 'https://x.example/1');
  assert.equal(entry('<id>https://x.example/1</id><link href="/2"/>').url, 'https://example.org/2');
  assert.equal(entry('<id>https://x.example/1</id><content type="text/html" src="/3"/>').url, 'https://example.org/3');
  for (const id of ['urn:uuid:1', 'tag:x.example,2024:1', 'mailto:a@x.example', '1']) {
    assert.equal(entry(`<id>${id}</id>`).url, null, id);
  }
});
