// Protects the reading of JSON Feed, also with members of the wrong type.
import assert from 'node:assert/strict';
import test from 'node:test';
import { NotAFeedError } from '../../../src/features/feeds/feed-values.ts';
import { first, json, jsonItem } from '../../support/written-feeds.ts';

test('a JSON Feed is read with all its fields', () => {
  const feed = json({
    home_page_url: 'https://site.example', description: 'D', icon: '/large.png', favicon: '/small.png',
    authors: [{ name: 'Feed Author' }],
    items: [{
      id: 'x', url: '/1', title: 'T', content_html: '<p>h</p>', content_text: 'no', summary: 'a\n<b>',
      date_published: '2020-01-02T03:04:05Z', date_modified: '2020-01-03T00:00:00+01:00', image: '/i.png', banner_image: '/b.png',
      attachments: [{
        url: '/a.mp3', mime_type: 'audio/mpeg', title: 'A', size_in_bytes: 5, duration_in_seconds: 61.4,
      }],
    }],
  });
  assert.deepEqual({ ...feed, items: [] }, {
    title: 'T', description: 'D', siteUrl: 'https://site.example/', iconUrl: 'https://example.org/small.png', ttl: null, items: [],
    deleted: [], cut: null, hidesItems: false,
  });
  assert.deepEqual(first(feed), {
    guid: 'x', title: 'T', url: 'https://site.example/1', author: 'Feed Author', language: null, contentHtml: '<p>h</p>',
    baseUrl: 'https://site.example/1', summary: 'a<br>\n&lt;b&gt;', publishedAt: Date.UTC(2020, 0, 2, 3, 4, 5),
    updatedAt: Date.UTC(2020, 0, 2, 23), picture: 'https://site.example/i.png',
    attachments: [{
      url: 'https://site.example/a.mp3', mediaType: 'audio/mpeg', bytes: 5, title: 'A', durationSeconds: 61,
    }],
  });
});

test('titles of a JSON Feed keep what stands in brackets, and character references in them are read', () => {
  const { title, items } = json({ title: 'Tom &amp; Jerry&#8217;s', items: [{ id: 'x', title: 'The <b> element is &lt;b&#62;' }] });
  assert.deepEqual([title, items[0]?.title], ['Tom & Jerry’s', 'The <b> element is &lt;b&#62;']);
});

test('members of a JSON Feed with the wrong type are read as meant or passed over', () => {
  assert.equal(jsonItem({ id: 42 }).guid, '42');
  assert.equal(jsonItem({ id: 'x', authors: { name: 'Obj' } }).author, 'Obj');
  assert.equal(jsonItem({ id: 'x', author: { name: 'One' } }).author, 'One');
  assert.equal(jsonItem({ id: 'x', authors: [null, 'Text', { name: 'Two' }] }).author, 'Text, Two');
  assert.equal(jsonItem({ id: 'x', content_text: '1 < 2\n3' }).contentHtml, '1 &lt; 2<br>\n3');
  assert.equal(jsonItem({ id: 'x', external_url: 'https://o.example/' }).url, 'https://o.example/');
  const odd = jsonItem({ id: 'x', title: ['no'], attachments: 'no', date_published: 1577934245 });
  assert.deepEqual([odd.title, odd.publishedAt], ['', 1577934245000]);
  assert.equal(jsonItem({ id: 'x', attachments: [{ url: 'ftp://x/y' }, { size_in_bytes: 1 }] }).attachments.length, 0);
  assert.deepEqual(json({ items: [null, 1, 'x', { id: 'y' }] }).items.map((item) => item.guid), ['y']);
  assert.deepEqual(json({ items: null }).items, []);
  assert.equal(json({ version: undefined, items: [] }).title, 'T');
});

test('a version that is only a number is one where the rest looks like a JSON Feed', () => {
  for (const version of ['1.0', '1', '1.1', 1]) {
    assert.equal(json({ version, title: undefined, items: [{ id: 'x' }] }).items.length, 1);
  }
  assert.throws(() => json({ version: '1.0', title: 'An oEmbed answer', items: undefined }), NotAFeedError);
  assert.throws(() => json({ version: '2.0', title: undefined }), NotAFeedError);
});
