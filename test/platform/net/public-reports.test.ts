// Protects what people reported of other programs about fetching: cookies of redirects, odd packings, loose HTTP.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { test } from 'node:test';
import { createCookies } from '../../../src/platform/net/redirect-cookies.ts';
import { fakeLookup } from '../../support/fake-lookup.ts';
import { rawReply, reply, startOrigin, startRawOrigin, type OriginHandler } from '../../support/origin.ts';
import { failure, openFetch } from '../../support/outbound.ts';

const FEED = '<rss><channel><title>Loose</title></channel></rss>';
const LENGTH = FEED.length;

/** Redirects to `location` with a cookie until the cookie comes back, then serves the feed. */
const gate = (location: string, cookie = 'seen=1'): OriginHandler => ({ headers }, response) => {
  const isKnown = headers.cookie?.includes('seen=1');
  response.writeHead(isKnown ? 200 : 302, isKnown ? {} : { location, 'set-cookie': cookie }).end(isKnown ? FEED : '');
};

const COOKIES: [id: string, what: string, routes: Record<string, OriginHandler>][] = [
  ['B01a', '(FreshRSS#4470, commafeed#2198): a redirect to the same address with a cookie is followed',
    { '/f': gate('/f') }],
  ['B01b', '(miniflux#1512, miniflux-legacy#411): a gate that sets a cookie and sends back lets the hub in', {
    '/f': ({ headers }, response) => reply(headers.cookie ? 200 : 302, { location: '/gate' }, FEED)(
      { method: 'GET', path: '/f', headers, body: Buffer.alloc(0) }, response),
    '/gate': reply(302, { 'location': '/f', 'set-cookie': 'seen=1; Path=/; HttpOnly; SameSite=Lax' }),
  }],
  ['B01c', ': a cookie is there at the address that checks it', {
    '/f': reply(302, { 'location': '/f?check=1', 'set-cookie': 'seen=1' }),
    '/f?check=1': ({ headers }, response) => void response.writeHead(headers.cookie ? 200 : 403).end(FEED),
  }],
];

for (const [id, what, routes] of COOKIES) {
  test(`${id} ${what}`.replace(' :', ':'), async (t) => {
    const origin = await startOrigin(t, routes);
    const response = await openFetch()({ url: `${origin.url}/f`, maxBytes: 999 });
    assert.deepEqual([response.status, String(response.body)], [200, FEED]);
  });
}

test('B01d: redirects to the same address without a cookie, or with one that never comes to an end, are refused', async (t) => {
  let n = 0;
  const origin = await startOrigin(t, {
    '/none': reply(302, { location: '/none' }), '/same': reply(302, { 'location': '/same', 'set-cookie': 'a=b' }),
    '/new': (_request, response) => void response.writeHead(302, { 'location': '/new', 'set-cookie': `a=${n++}` }).end(),
  });
  const ends = [['none', /in a loop$/], ['same', /in a loop$/], ['new', /more than 5 times$/]] as const;
  for (const [path, said] of ends) {
    assert.match((await failure(openFetch()({ url: `${origin.url}/${path}`, maxBytes: 999 }))).message, said);
  }
  assert.deepEqual(origin.requests.slice(0, 3).map(({ path, headers }) => [path, headers.cookie]),
    [['/none', undefined], ['/same', undefined], ['/same', 'a=b']]);
});

test('a cookie goes to no other host or port, whatever its Domain says, and is forgotten after the fetch', async (t) => {
  const { lookup } = fakeLookup({ 'a.example': ['127.0.0.1'], 'b.a.example': ['127.0.0.1'] });
  const cookie = 'seen=1; Domain=a.example; Path=/';
  const other = await startOrigin(t, {});
  const origin = await startOrigin(t, {
    '/to-host': (_request, response) => void response.writeHead(302, {
      'location': `http://b.a.example:${origin.port}/there`, 'set-cookie': cookie,
    }).end(),
    '/to-port': reply(302, { 'location': `http://a.example:${other.port}/there`, 'set-cookie': cookie }),
    '/there': reply(200, {}),
  });

  const get = openFetch({ lookup });
  for (const path of ['to-host', 'to-port', 'there']) {
    await get({ url: `http://a.example:${origin.port}/${path}`, maxBytes: 9 });
  }
  const cookies = [...origin.requests, ...other.requests].map(({ headers }) => headers.cookie);
  assert.deepEqual(cookies, Array(5).fill(undefined));
});

test('Secure, Path, Max-Age and Expires of a cookie are honoured, and a request does not grow with cookies', async (t) => {
  const sent: [written: string[], header: string | undefined][] = [
    [['a=b; Secure'], undefined], [['a=b; Path=/elsewhere'], undefined], [['a=b; Path=/dir'], 'a=b'],
    [['a=b; Path=/di'], undefined], [['a=b; path=/'], 'a=b'], [['a=b; Max-Age=0'], undefined],
    [['a=b; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT'], 'a=b'],
    [['a=b; Expires=Thu, 01-Jan-1970 00:00:00 GMT'], undefined], [['a=b', 'a=; Max-Age=-1', 'c="d e"'], 'c="d e"'],
    [['=b', 'b', ''], undefined], [[`a=${'b'.repeat(2_000)}`], undefined], [['a=b', 'a=c'], 'a=c'],
    [Array.from({ length: 90 }, (_, n) => `a${n}=b`), Array.from({ length: 20 }, (_, n) => `a${n}=b`).join('; ')],
  ];
  for (const [written, header] of sent) {
    const origin = await startOrigin(t, {
      '/dir/from': (_request, response) =>
        void response.writeHead(302, { 'location': '/dir/to', 'set-cookie': written }).end(),
    });
    await openFetch()({ url: `${origin.url}/dir/from`, maxBytes: 9 });
    assert.equal(origin.requests[1]?.headers.cookie, header, written[0]);
  }
});

test('what https set does not go out by http; a time long ago takes a cookie back where the server has no clock', () => {
  const cookies = createCookies();
  const [https, http] = [new URL('https://a.example/x'), new URL('http://a.example/x')];
  cookies.take(https, { 'set-cookie': ['a=b'] });
  assert.deepEqual([cookies.headerFor(http), cookies.headerFor(https)], [undefined, 'a=b']);
  cookies.take(https, { 'set-cookie': ['a=; expires=Thu, 01 Jan 1970 00:00:00 GMT'] });
  assert.equal(cookies.headerFor(https), undefined);
});

const PACKED: [id: string, report: string, coding: string | undefined, body: Buffer][] = [
  ['B05', 'FreshRSS#3543', undefined, gzipSync(FEED)],
  ['B06-0', 'aws-release-notes-rss#6', 'UTF-8', Buffer.from(FEED)],
  ['B06-18', 'aws-release-notes-rss#6', 'UTF-8,gzip', gzipSync(FEED)],
  ['B06-19', 'aws-release-notes-rss#6', 'gzip, identity', gzipSync(FEED)],
  ['B06-5', 'aws-release-notes-rss#6', 'none', Buffer.from(FEED)],
  ['B06-6', 'aws-release-notes-rss#6', 'identity', Buffer.from(FEED)],
  ['B08e', 'with bytes behind its end', 'gzip', Buffer.concat([gzipSync(FEED), Buffer.alloc(9)])],
];

for (const [id, report, coding, body] of PACKED) {
  test(`${id} (${report}): an answer whose Content-Encoding is ${coding ?? 'missing'} is unpacked by what it is`, async (t) => {
    const origin = await startOrigin(t, reply(200, coding ? { 'content-encoding': coding } : {}, body));
    assert.equal(String((await openFetch()({ url: origin.url, maxBytes: 9_999, gunzip: true })).body), FEED);
  });
}

const answer = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines, `Content-Length: ${LENGTH}`, '', FEED].join('\r\n');
const chunked = (...lines: string[]): string =>
  ['HTTP/1.1 200 OK', ...lines, '', LENGTH.toString(16), FEED, '0', '', ''].join('\r\n');

/** Answers of loose HTTP that are read; the form's name is the id's end. */
const READ: [id: string, bytes: string][] = [
  ['B09-big', answer(`X: ${'a'.repeat(30_000)}`)],
  ['B09-both', chunked(`Content-Length: ${LENGTH}`, 'Transfer-Encoding: chunked')],
  ['B09-both, chunks first', chunked('Transfer-Encoding: chunked', 'Content-Length: 5')],
  ['B09-ctl', answer('X: a\x01\0b\x7f')],
  ['B09-empty', answer(': a')],
  ['B09-empty, no colon', answer('hello')],
  ['B09-fold', answer('X: a', ' b', '\tc')],
  ['B09-http10', `HTTP/1.0 200 OK\r\n\r\n${FEED}`],
  ['B09-latin', answer('X: caf\xe9')],
  ['B09-lf', answer('X: a').replaceAll('\r\n', '\n')],
  ['B09-many', answer(...Array.from({ length: 1_500 }, (_, n) => `X-${n}: ${'a'.repeat(50)}`))],
  ['B09-noreason', answer().replace(' OK', '')],
  ['B09-spacecolon', answer('X : a')],
  ['B09-spacename', answer('X y: a')],
  ['B09-twice', answer(`Content-Length: ${LENGTH}`)],
  ['B09-twice, as a list', answer().replace(/(Length: )(\d+)/, '$1$2, $2')],
  ['B09-chunk sizes with blanks', chunked('Transfer-Encoding: chunked').replaceAll(/^(32|0)\r/gm, '$1  \r')],
  ['B09-status line in small letters', answer().replace('HTTP/1.1', 'http/1.1 ')],
];

for (const [id, bytes] of READ) {
  test(`${id} (rss-parser#230): an answer of this form is read as browsers read it`, async (t) => {
    for (const pieces of [[bytes], [...bytes].slice(0, 200)]) {
      const origin = await startRawOrigin(t, (socket) => void socket.once('data', async () => {
        for (const piece of pieces) await new Promise((done) => socket.write(piece, 'latin1', done));
        socket.end(bytes.slice(pieces.join('').length), 'latin1');
      }));
      assert.equal(String((await openFetch()({ url: origin.url, maxBytes: 9_999 })).body), FEED);
    }
  });
}

test('a control character in a header comes to nobody, and bytes beyond ASCII stay', async (t) => {
  const origin = await startRawOrigin(t, rawReply(Buffer.from(answer('ETag: "a\x02b"', 'X: gr\xc3\x9f'), 'latin1')));
  const { headers } = await openFetch()({ url: origin.url, maxBytes: 999 });
  assert.deepEqual([headers.etag, headers['x']], ['"a b"', 'gr\xc3\x9f']);
});

/** Forms that stay refused, with the reason. */
const STAYS: [id: string, why: string, bytes: string][] = [
  ['B09-icy', 'an ICY answer is a radio stream without end', answer().replace('HTTP/1.1', 'ICY')],
  ['B09-twice, different', 'which length is right would decide what is missing', answer('Content-Length: 5')],
  ['B09-both, no chunks', 'a body that is not what its headers say is no feed', answer('Transfer-Encoding: chunked')],
  ['B09-length that is no number', 'a body that is cut would look whole', answer().replace('Length: ', 'Length: -')],
  ['B09-cr', 'neither curl nor browsers take lines that end with CR', answer('X: a').replaceAll('\r\n', '\r')],
  ['B09-nothing but a body', 'HTTP/0.9 has no status, so that an error page would be read', FEED],
];

for (const [id, why, bytes] of STAYS) {
  test(`${id} (rss-parser#230) stays refused, because ${why}`, async (t) => {
    const origin = await startRawOrigin(t, rawReply(bytes));
    const error = await failure(openFetch()({ url: origin.url, maxBytes: 999 }));
    assert.equal(error.reason, 'bad-response');
  });
}

test('a server that speaks something else is refused at once, although it says no more', async (t) => {
  const origin = await startRawOrigin(t, (socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n'));
  const error = await failure(openFetch()({ url: origin.url, maxBytes: 9 }));
  assert.equal(error.reason, 'bad-response');
});
