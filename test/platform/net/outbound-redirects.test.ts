// Protects redirects: each step is checked as the first was, and no secret goes along.
import assert from 'node:assert/strict';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { test } from 'node:test';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import type { Lookup } from '../../../src/platform/net/outbound-target.ts';
import { fakeLookup } from '../../support/fake-lookup.ts';
import { reply, startOrigin, startRawOrigin, type OriginHandler } from '../../support/origin.ts';
import { failure, openFetch } from '../../support/outbound.ts';
import { makeSelfSigned } from '../../support/self-signed.ts';

const ONE = parseCidrs('127.0.0.1');

const redirect = (status: number, location: string): OriginHandler => reply(status, { location }, 'moved');

test('redirects are followed, and reported as permanent only when every one of them is', async (t) => {
  const target = await startOrigin(t, { '/new': reply(200, {}, 'here'), '/410': reply(410, {}) });
  const origin = await startOrigin(t, {
    '/a/old': redirect(301, '../hop?a=1#frag'), '/hop?a=1': redirect(308, `${target.url}/new#frag`),
    '/first': redirect(302, '/a/old'), '/last': redirect(301, '/other'), '/other': redirect(303, '/same'),
    '/same': redirect(307, `${target.url.slice('http:'.length)}/new`), '/gone': redirect(301, `${target.url}/410`),
  });
  const cases: [path: string, status: number, end: string, movedTo: string | null][] = [
    ['/a/old', 200, '/new', '/new'], ['/first', 200, '/new', null], ['/last', 200, '/new', null],
    ['/gone', 410, '/410', '/410'],
  ];

  for (const [path, status, end, movedTo] of cases) {
    const response = await openFetch({ allow: ONE })({ url: origin.url + path, maxBytes: 9 });
    assert.equal(response.status, status, path);
    assert.equal(response.url, target.url + end, path);
    assert.equal(response.movedPermanentlyTo, movedTo && target.url + movedTo, path);
  }
});

test('a choice (300) with a Location is followed for now; without a Location its list is the body', async (t) => {
  const origin = await startOrigin(t, { '/one': redirect(300, '/f'), '/f': reply(200, {}, 'here'), '/all': reply(300, {}, 'list') });

  const one = await openFetch({ allow: ONE })({ url: `${origin.url}/one`, maxBytes: 9 });
  const all = await openFetch({ allow: ONE })({ url: `${origin.url}/all`, maxBytes: 9 });

  assert.deepEqual([one.url, one.movedPermanentlyTo, String(one.body)], [`${origin.url}/f`, null, 'here']);
  assert.deepEqual([all.status, String(all.body)], [300, 'list']);
});

test('validators go along a redirect, secrets do not', async (t) => {
  const target = await startOrigin(t, reply(304, {}));
  const origin = await startOrigin(t, redirect(301, `${target.url}/feed`));
  const headers = { 'If-None-Match': '"v"', 'If-Modified-Since': 'x', 'Authorization': 'Bearer x', 'Cookie': 'a=b' };

  const response = await openFetch({ allow: ONE })({ url: origin.url, headers, maxBytes: 9 });
  assert.equal(response.status, 304);
  const sent = target.requests[0]?.headers ?? {};
  assert.deepEqual([sent['if-none-match'], sent['if-modified-since']], ['"v"', 'x']);
  assert.deepEqual([sent.authorization, sent.cookie, sent.referer], [undefined, undefined, undefined]);
});

test('a redirect to a private address, scheme or credentials is refused before anything is sent', async (t) => {
  const inside = await startRawOrigin(t, (socket) => socket.destroy());
  const { lookup } = fakeLookup({ 'inside.example': ['127.0.0.2'] });
  const cases: [location: string, reason: string][] = [
    [`http://127.0.0.2:${inside.port}/`, 'blocked'], [`http://[::ffff:7f00:2]:${inside.port}/`, 'blocked'],
    [`http://inside.example:${inside.port}/`, 'blocked'], ['http://169.254.169.254/latest/meta-data/', 'blocked'],
    ['http://1.1.1.1:25/', 'blocked'], ['file:///etc/passwd', 'bad-url'], ['gopher://127.0.0.1/', 'bad-url'],
    [`http://a:b@127.0.0.1:${inside.port}/`, 'bad-url'], ['http://[', 'bad-url'],
  ];

  for (const [location, reason] of cases) {
    const origin = await startOrigin(t, redirect(302, location));
    const error = await failure(openFetch({ allow: ONE, lookup })({ url: origin.url, maxBytes: 9 }));
    assert.equal(error.reason, reason, location);
    assert.match(error.message, /redirected from 127\.0\.0\.1|127\.0\.0\.1:\d+ redirects to/);
  }
  assert.equal(inside.connections(), 0);
});

test('a name is asked again after a redirect and its new answer checked', async (t) => {
  const origin = await startOrigin(t, redirect(302, '/second'));
  const answers = ['127.0.0.1', '127.0.0.2'];
  const lookup: Lookup = (_name, _options, callback) => callback(null, [{ address: answers.shift() ?? '', family: 4 }]);
  const url = `http://moves.example:${origin.port}/`;

  const error = await failure(openFetch({ allow: ONE, lookup })({ url, maxBytes: 9 }));
  assert.equal(error.reason, 'blocked');
  assert.equal(origin.requests.length, 1);
});

test('http to https to http works, each with its own kind of connection', async (t) => {
  const tls = makeSelfSigned('feeds.example');
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, tls.cert]);
  t.after(() => setDefaultCACertificates(before));
  const { lookup, asked } = fakeLookup({ 'feeds.example': ['127.0.0.1'] });
  const last = await startOrigin(t, reply(200, {}, 'end'));
  const middle = await startOrigin(t, redirect(301, `http://feeds.example:${last.port}/end`), { tls });
  const first = await startOrigin(t, redirect(301, `https://feeds.example:${middle.port}/middle`));

  const response = await openFetch({ allow: ONE, lookup })({ url: first.url, maxBytes: 9 });
  assert.equal(response.body.toString(), 'end');
  assert.equal(response.movedPermanentlyTo, `http://feeds.example:${last.port}/end`);
  assert.deepEqual(asked, ['feeds.example', 'feeds.example']);
});

test('a Location in raw UTF-8 is followed', async (t) => {
  const raw = Buffer.from('HTTP/1.1 302 Found\r\nLocation: /größe\r\nContent-Length: 0\r\n\r\n');
  const paths: string[] = [];
  const origin = await startRawOrigin(t, (socket) => {
    socket.once('data', (request) => {
      paths.push(request.toString().split(' ')[1] ?? '');
      socket.end(paths.length === 1 ? raw : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });

  assert.equal((await openFetch({ allow: ONE })({ url: `${origin.url}/`, maxBytes: 9 })).status, 200);
  assert.deepEqual(paths, ['/', '/gr%C3%B6%C3%9Fe']);
});

test('five redirects are followed, a sixth is not', async (t) => {
  const origin = await startOrigin(t, ({ path }, response) => {
    const left = Number(path.slice(1));
    const answer = left === 0 ? reply(200, {}, 'end') : redirect(302, `/${left - 1}`);
    answer({ method: 'GET', path, headers: {}, body: Buffer.alloc(0) }, response);
  });

  assert.equal((await openFetch({ allow: ONE })({ url: `${origin.url}/5`, maxBytes: 9 })).status, 200);
  const error = await failure(openFetch({ allow: ONE })({ url: `${origin.url}/6`, maxBytes: 9 }));
  assert.equal(error.reason, 'redirects');
  assert.match(error.message, /redirects more than 5 times$/);
  assert.equal(origin.requests.length, 12);
});

test('a circle of redirects and one that leads nowhere end in a clear error', async (t) => {
  const origin = await startOrigin(t, {
    '/self': redirect(301, '/self#again'), '/a': redirect(302, '/b'), '/b': redirect(302, '/a'),
    '/nowhere': reply(301, {}),
  });

  for (const path of ['/self', '/a']) {
    const error = await failure(openFetch({ allow: ONE })({ url: origin.url + path, maxBytes: 9 }));
    assert.equal(error.reason, 'redirects');
    assert.match(error.message, /^127\.0\.0\.1:\d+ redirects in a loop$/);
  }
  assert.equal(origin.requests.length, 3);
  const error = await failure(openFetch({ allow: ONE })({ url: `${origin.url}/nowhere`, maxBytes: 9 }));
  assert.match(error.message, /redirects \(301\) without a Location$/);
});
