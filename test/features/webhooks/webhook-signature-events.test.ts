// Protects the reading of webhook events: what is no event is refused with its place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IncomingPost } from '../../../src/features/posts/post-store.ts';
import { readEvent, type WebhookEvent } from '../../../src/features/webhooks/read-event.ts';
import { HttpError } from '../../../src/platform/http/http-error.ts';

const BASE = 'https://hub.example.org/';
const TIMESTAMP = '2026-01-31T12:00:00.250Z';

function read(event: unknown): WebhookEvent {
  return readEvent(Buffer.from(JSON.stringify(event)), BASE);
}

function readItem(data: Record<string, unknown>): IncomingPost {
  const event = read({ type: 'post.published', timestamp: TIMESTAMP, data: { id: '1', title: 'T', ...data } });
  return event.kind === 'publish' ? event.item : assert.fail(event.kind);
}

function refusal(work: () => unknown): HttpError {
  try {
    return assert.fail(`read: ${JSON.stringify(work())}`);
  } catch (error) {
    return error instanceof HttpError ? error : assert.fail(String(error));
  }
}

function wrongIn(data: Record<string, unknown>): string[] {
  const { status, errors } = refusal(() => readItem(data));
  assert.equal(status, 400);
  return errors.map(({ pointer }) => pointer);
}

test('an item is read in the shape that posts come in by', () => {
  const data = {
    id: ' tag:example.org,2026:1 ', url: 'https://example.org/1?utm_source=x', title: ' An\nowl ',
    content_html: '<p>Hoo</p>',
    summary: 'a < b', date_published: '2026-01-31T13:00:00+01:00', date_modified: '2026-01-31T12:30:00Z',
    authors: [{ name: 'Ada' }, { name: 'Bob', url: 'https://bob.example' }, { name: 'Ada' }],
    attachments: [{
      url: 'https://example.org/owl.mp3', mime_type: 'Audio/MPEG; x=y', size_in_bytes: 1234, title: 'Hoo',
      duration_in_seconds: 61.6,
    }],
    _extension: { of: 'somebody' },
  };
  assert.deepEqual(read({ type: 'post.published', timestamp: TIMESTAMP, data }), {
    kind: 'publish',
    type: 'post.published',
    at: Date.parse(TIMESTAMP),
    item: {
      guid: 'tag:example.org,2026:1', title: 'An owl', url: 'https://example.org/1', author: 'Ada, Bob', language: null,
      contentHtml: '<p>Hoo</p>', baseUrl: 'https://example.org/1', summary: 'a &lt; b',
      publishedAt: Date.UTC(2026, 0, 31, 12), updatedAt: Date.UTC(2026, 0, 31, 12, 30),
      attachments: [{
        url: 'https://example.org/owl.mp3', mediaType: 'audio/mpeg', bytes: 1234, title: 'Hoo', durationSeconds: 62,
      }],
    },
  });
});

test('an item needs little: what is missing is null, text becomes HTML', () => {
  assert.deepEqual(readItem({ title: null, content_text: '1 < 2\r\n& so on', url: null, attachments: null }), {
    guid: '1', title: '', url: null, author: null, language: null, contentHtml: '1 &lt; 2<br>\n&amp; so on', baseUrl: BASE,
    summary: null, publishedAt: null, updatedAt: null, attachments: [],
  });
  assert.equal(readItem({ summary: 'only this' }).contentHtml, 'only this');
  assert.equal(readItem({ summary: 'only this' }).summary, null);
  assert.equal(readItem({ external_url: 'https://example.org/x' }).url, 'https://example.org/x');
  assert.equal(readItem({ author: { name: 'Ada' } }).author, 'Ada');
  assert.equal(readItem({ authors: [{ url: 'https://ada.example' }] }).author, 'https://ada.example');
  assert.equal(readItem({ id: 17 }).guid, '17');
  assert.equal(readItem({ date_modified: TIMESTAMP }).publishedAt, Date.parse(TIMESTAMP));
});

test('an update is published like a new post, a deletion needs the id alone', () => {
  const updated = read({ type: 'post.updated', timestamp: TIMESTAMP, data: { id: 'x', title: 'T' } });
  assert.equal(updated.kind, 'publish');
  const expected = { kind: 'delete', type: 'post.deleted', at: Date.parse(TIMESTAMP), guid: 'x y' };
  assert.deepEqual(read({ type: 'post.deleted', timestamp: TIMESTAMP, data: { id: ' x  y' } }), expected);
  const guids = [readItem({ id: ' x  y' }).guid, expected.guid];
  assert.equal(guids[0], guids[1], 'a deletion finds what was published');
});

test('events of other types are heard, whatever else they hold', () => {
  for (const rest of [{}, { data: null }, { timestamp: 'later', data: 'x' }, { data: { id: {} } }]) {
    assert.deepEqual(read({ type: 'invoice.paid', ...rest }), { kind: 'other', type: 'invoice.paid' });
  }
  assert.equal(read({ type: 'post.Deleted' }).kind, 'other');
  assert.equal(read({ type: '__proto__' }).kind, 'other');
});

for (const [title, body] of [
  ['nothing', ''], ['text', 'hello'], ['half an object', '{"type":'], ['a list', '[{"type":"post.deleted"}]'],
  ['null', 'null'], ['a number', '1'], ['two objects', '{}{}'],
  ['bytes that are not UTF-8', Buffer.from('{"type":"\xff"}', 'latin1')],
  ['UTF-16', Buffer.from('{"type":"x"}', 'utf16le')], ['a million brackets', '['.repeat(1_000_000)],
] as const) {
  test(`a body with ${title} is malformed`, () => {
    assert.equal(refusal(() => readEvent(Buffer.from(body), BASE)).status, 400);
  });
}

test('a type is a name', () => {
  const wrong = [undefined, null, '', 7, ['post.deleted'], 'post deleted', 'post.deleted\n', 'é', 'x'.repeat(129)];
  for (const type of wrong) {
    const { status, errors } = refusal(() => read({ type, timestamp: TIMESTAMP, data: { id: '1' } }));
    assert.deepEqual([status, errors.map(({ pointer }) => pointer)], [400, ['/type']], JSON.stringify(type));
  }
});

test('an event about a post needs its time and its data', () => {
  const errorsOf = (event: object) => refusal(() => read({ type: 'post.deleted', ...event })).errors;
  const pointers = (event: object) => errorsOf(event).map((one) => one.pointer);
  const data = { id: '1' };
  assert.deepEqual(pointers({}), ['/timestamp', '/data']);
  assert.deepEqual(pointers({ timestamp: null, data }), ['/timestamp']);
  assert.deepEqual(pointers({ timestamp: 1_800_000_000, data }), ['/timestamp']);
  for (const wrong of [null, 'x', 7, [], [data]]) {
    assert.deepEqual(pointers({ timestamp: TIMESTAMP, data: wrong }), ['/data'], JSON.stringify(wrong));
  }
});

test('times are those of RFC 3339, with a zone, on days that exist', () => {
  for (const [text, at] of [
    ['2026-01-31T12:00:00Z', Date.UTC(2026, 0, 31, 12)], ['2024-02-29t00:00:00z', Date.UTC(2024, 1, 29)],
    ['2026-01-31T12:00:00.123456789-05:30', Date.UTC(2026, 0, 31, 17, 30, 0, 123)],
    ['2016-12-31T23:59:60Z', Date.UTC(2016, 11, 31, 23, 59, 59)],
    ['2026-01-31 12:00:00+00:00', Date.UTC(2026, 0, 31, 12)],
  ] as const) assert.equal(readItem({ date_published: text }).publishedAt, at, text);
  for (const text of [
    '2026-01-31', '2026-01-31T12:00Z', '2026-01-31T12:00:00', '2026-02-29T12:00:00Z', '2026-13-01T12:00:00Z',
    '2026-00-10T12:00:00Z', '2026-01-00T12:00:00Z', '2026-01-31T24:00:00Z', '2026-01-31T12:60:00Z', 'yesterday',
    '2026-01-31T12:00:61Z', '2026-01-31T12:00:00+24:00', '0099-01-31T12:00:00Z', '', ' 2026-01-31T12:00:00Z',
    'Sat, 31 Jan 2026 12:00:00 GMT',
  ]) assert.deepEqual(wrongIn({ date_published: text }), ['/data/date_published'], text);
});

test('ids have 1 to 1,024 characters, no controls, and may be numbers', () => {
  assert.equal(readItem({ id: 'x'.repeat(1_024) }).guid.length, 1_024);
  for (const id of [undefined, null, '', '  ', true, {}, ['1'], 'x'.repeat(1_025), 'a\0b', 'a\nb', '\ud800']) {
    assert.deepEqual(wrongIn({ id }), ['/data/id'], JSON.stringify(id));
  }
});

test('whatever is too long, of the wrong type or no web address is told with its place', () => {
  const file = { url: 'https://example.org/a' };
  for (const [data, ...pointers] of [
    [{ title: 'x'.repeat(501) }, 'title'], [{ title: 7 }, 'title'],
    [{ content_html: 'x'.repeat(400_001) }, 'content_html'],
    [{ content_text: {} }, 'content_text'], [{ summary: 'x'.repeat(10_001) }, 'summary'],
    [{ url: '/relative' }, 'url'], [{ url: 'javascript:alert(1)' }, 'url'], [{ url: 'data:text/html,x' }, 'url'],
    [{ url: `https://example.org/${'x'.repeat(4_096)}` }, 'url'],
    [{ external_url: 'ftp://example.org/' }, 'external_url'],
    [{ authors: 'Ada' }, 'authors'], [{ authors: ['Ada'] }, 'authors'],
    [{ authors: Array(21).fill({ name: 'A' }) }, 'authors'],
    [{ author: 'Ada' }, 'author'], [{ authors: [{ name: 'x'.repeat(201) }] }, 'authors/0/name'],
    [{ attachments: {} }, 'attachments'], [{ attachments: [null] }, 'attachments'],
    [{ attachments: Array(101).fill(file) }, 'attachments'], [{ attachments: [file, {}] }, 'attachments/1/url'],
    [{ attachments: [{ url: 'file:///etc/passwd' }] }, 'attachments/0/url'],
    [{ attachments: [{ ...file, size_in_bytes: -1 }] }, 'attachments/0/size_in_bytes'],
    [{ attachments: [{ ...file, size_in_bytes: 1e300 }] }, 'attachments/0/size_in_bytes'],
    [{ attachments: [{ ...file, duration_in_seconds: '61' }] }, 'attachments/0/duration_in_seconds'],
    [{ title: 7, url: 7, id: 7.5, date_modified: 7 }, 'url', 'title', 'date_modified'],
  ] as const) {
    const { title, ...rest } = { title: 'T', ...data } as Record<string, unknown>;
    const expected = pointers.map((one) => `/data/${one}`);
    assert.deepEqual(wrongIn({ title, ...rest }), expected, JSON.stringify(data).slice(0, 80));
  }
});

test('a hundred mistakes are told as twenty', () => {
  const attachments = Array(100).fill({ url: 'x', size_in_bytes: -1 });
  assert.equal(wrongIn({ attachments }).length, 20);
});

test('an item that says nothing is refused', () => {
  assert.deepEqual(wrongIn({ title: '', content_html: ' ', url: 'https://example.org/' }), ['/data/content_html']);
});

test('credentials leave addresses, half characters leave texts, and a foreign prototype changes nothing', () => {
  assert.equal(readItem({ url: 'https://ada:secret@example.org/' }).url, 'https://example.org/');
  assert.equal(readItem({ title: 'half \ud83d' }).title, 'half \ufffd');
  const body = `{"type":"post.published","timestamp":"${TIMESTAMP}","data":{"__proto__":{"id":"1","title":"T"}}}`;
  assert.equal(refusal(() => readEvent(Buffer.from(body), BASE)).status, 400);
});
