// Protects the reading of feeds from documents with too much of one thing: linear time and bounded results.
import assert from 'node:assert/strict';
import test from 'node:test';
import { growthOf, numbered, repeated } from '../../support/growth.ts';
import { atom, entry, json, jsonItem, parse, rssItem } from '../../support/written-feeds.ts';

/** Documents of a given length that have much of one thing. */
const HOSTILE: Record<string, (length: number) => string> = {
  'namespaces declared once and again': (length) => {
    const declared = numbered((index) => ` xmlns:a${index}="${index}"`, length / 2);
    return channel(`<x${declared}>${repeated('<i xmlns:q="1"/>', length / 2)}</x>`);
  },
  'namespaces that mean something new': (length) =>
    channel(repeated('<i xmlns:q="http://purl.org/dc/elements/1.1/"><q:date/></i>', length)),
  'enclosures': (length) => item(numbered((index) => `<enclosure url="/${index}"/>`, length)),
  'media groups': (length) =>
    item(numbered((index) => `<media:group><media:content url="/${index}"/></media:group>`, length)),
  'the same enclosure': (length) => item(repeated('<enclosure url="/a"/><media:content url="/a"/>', length)),
  'authors of an entry': (length) =>
    `<feed><entry>${numbered((index) => `<author><name>${index}</name></author>`, length)}</entry></feed>`,
  'the same author': (length) => `<feed><entry>${repeated('<author><name>a</name></author>', length)}</entry></feed>`,
  'creators of an item': (length) => item(numbered((index) => `<dc:creator>${index}</dc:creator>`, length)),
  'an author of at signs': (length) => item(`<author>${repeated('a@', length)}</author>`),
  'an author of brackets': (length) => item(`<author>a@b ${repeated('(a', length)}</author>`),
  'an author of open tags': (length) => item(`<author>${repeated('a &lt;@', length)}</author>`),
  'an author for many entries': (length) =>
    `<feed><author>${repeated('a', length / 2)}</author>${repeated('<entry><id>1</id></entry>', length / 2)}</feed>`,
  'a title of open tags': (length) => item(`<title>${repeated('&lt;/a ', length)}</title>`),
  'a title of white space': (length) => item(`<title>a${repeated(' \u00a0', length)}a</title>`),
  'an HTML title of open tags': (length) =>
    `<feed><entry><title type="html">${repeated('&lt;p ', length)}</title></entry></feed>`,
  'stray end tags far inside': (length) => item(`${'<a>'.repeat(200)}${repeated('</b>', length)}`),
  'sections': (length) => item(`<description>${repeated('<![CDATA[x]]><i/><!-- x -->', length)}</description>`),
  'unreadable dates': (length) => item(repeated('<pubDate>1 12:00 No/Where</pubDate>', length)),
  'items with unreadable dates': (length) =>
    channel(repeated('<item><title>a</title><pubDate>1 12:00 No/Where</pubDate></item>', length)),
  'an author in brackets of at signs': (length) => item(`<author>a (${repeated('@', length)}</author>`),
  'unreadable links': (length) => item(repeated('<link>http://[</link><link href="http://["/>', length)),
  'contents': (length) => `<feed><entry>${repeated('<content> </content>', length)}</entry></feed>`,
  'items of one id': (length) =>
    channel(numbered((index) => `<item><guid>a</guid><link>/${index}</link></item>`, length)),
  'authors in JSON': (length) => jsonDocument(`"authors":[${numbered((index) => `"${index}",`, length)}"a"]`),
  'attachments in JSON': (length) =>
    jsonDocument(`"attachments":[${numbered((index) => `{"url":"${index}"},`, length)}{}]`),
};

function channel(inner: string): string {
  return `<rss version="2.0"><channel>${inner}</channel></rss>`;
}

function item(inner: string): string {
  return channel(`<item>${inner}</item>`);
}

function jsonDocument(members: string): string {
  return `{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"1",${members}}]}`;
}

for (const [shape, textOf] of Object.entries(HOSTILE)) {
  test(`the time to read a feed with very many of one thing grows with its length: ${shape}`, () => {
    const growth = growthOf(parse, textOf);
    assert.ok(growth < 2, `eight times the length takes ${growth.toFixed(1)} times as many steps per character`);
  });
}

test('an item has at most a hundred files, the first ones', () => {
  const last = (files: { url: string }[]): unknown[] => [files.length, files.at(-1)?.url];
  const listed = rssItem(numbered((index) => `<enclosure url="/${index}"/>`, 5_000));
  assert.deepEqual(last(listed.attachments), [100, 'https://site.example/99']);
  const attachments = Array.from({ length: 200 }, (_, index) => ({ url: `/${index}` }));
  assert.deepEqual(last(jsonItem({ id: '1', attachments }).attachments), [100, 'https://example.org/99']);
  const links = numbered((index) => `<link rel="enclosure" href="/${index}"/>`, 8_000);
  const elsewhere = entry(`${links}<content type="audio/ogg" src="/other"/>`);
  assert.deepEqual(last(elsewhere.attachments), [100, 'https://example.org/99']);
});

test('four dates of an item are tried, in the order in which they count', () => {
  const after = (unreadable: number): number | null =>
    rssItem(`<guid>1</guid><dc:date>2020-01-02</dc:date>${'<pubDate>soon</pubDate>'.repeat(unreadable)}`).publishedAt;
  assert.deepEqual([after(3), after(4)], [Date.UTC(2020, 0, 2), null]);
});

test('at most twenty authors are named, each once, and none at great length', () => {
  const authors = numbered((index) => `<author><name>A${index % 30}</name></author>`, 10_000);
  const twenty = Array.from({ length: 20 }, (_, index) => `A${index}`).join(', ');
  assert.equal(entry(`<id>1</id>${authors}`).author, twenty);
  const creators = authors.replaceAll(/<\/?author>/g, '').replaceAll('name>', 'dc:creator>');
  assert.equal(rssItem(`<guid>1</guid>${creators}`).author, twenty);
  assert.equal(json({ authors: [...Array(40).keys()], items: [{ id: '1' }] }).items[0]?.author?.split(', ').length, 20);
  const long = atom(`<author><name>${'Ann '.repeat(1_000)}</name></author><entry><id>1</id></entry>`);
  assert.match(long.items[0]?.author ?? '', /^(?:Ann ){40,49}Ann…$/);
  const same = '<dc:creator>a@example.org (Ann)</dc:creator><dc:creator>Ann</dc:creator>';
  assert.equal(rssItem(`<guid>1</guid>${same}`).author, 'Ann');
});
