// Protects the HTTP server: refusals, limits, timeouts, security headers, logging and a graceful stop.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { MAX_PAGE_BYTES } from '../../../src/platform/http/answer-request.ts';
import { createBodyMemory, readBody, readForm, readJson } from '../../../src/platform/http/body.ts';
import { html, trusted } from '../../../src/platform/http/html.ts';
import { HttpError, invalid, tryLater } from '../../../src/platform/http/http-error.ts';
import { json, noContent, page, seeOther, text } from '../../../src/platform/http/reply.ts';
import { createResponseCache } from '../../../src/platform/http/response-cache.ts';
import { route, type Route } from '../../../src/platform/http/router.ts';
import { closeServer } from '../../../src/platform/http/connections.ts';
import { type ServerOptions } from '../../../src/platform/http/server.ts';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { startBareServer } from '../../support/bare-server.ts';
import { createClient } from '../../support/client.ts';
import type { RawConnection } from '../../support/raw-exchange.ts';
import { waitUntil } from '../../support/wait-until.ts';

const ROUTES: Route[] = [
  route('GET /page', 'public', 'a page', () => page({ title: 'A page', main: html`<h1>A page</h1>` })),
  route(
    'GET /kept', 'public', 'a kept page', () => page({ title: 'Kept', main: html`<h1>Kept</h1>` }), { cached: [] },
  ),
  route('GET /data', 'public', 'data', () => json({ answer: 42 })),
  route(
    'GET /asset', 'public', 'a file',
    () => text('body{}', 'text/css', { 'cache-control': 'public, max-age=31536000, immutable' }),
  ),
  route('GET /stream', 'public', 'a stream', () => ({ status: 200, headers: {}, body: Readable.from(['one', 'two']) })),
  route('GET /endless', 'public', 'a stream without end', () => ({ status: 200, headers: {}, body: endless() })),
  route('GET /secret', 'public', 'a secret', () => text('s3cret '.repeat(500), 'text/plain', { 'cache-control': 'no-store' })),
  route('GET /away', 'public', 'a redirect', () => seeOther('/page')),
  route('GET /broken', 'public', 'a fault', () => { throw new TypeError('the secret place of the fault'); }),
  route('GET /broken-header', 'public', 'a header that cannot be written', () => seeOther('/漢字')),
  route(
    'GET /broken-page', 'public', 'a page that cannot be rendered', () => page({ title: 'unrenderable', main: html`` }),
  ),
  route('GET /full', 'public', 'a full disk', () => { throw Object.assign(
    new Error('disk'), { code: 'SQLITE_FULL' },
  ); }),
  route('GET /teapot', 'public', 'refused', () => { throw new HttpError(
    409, 'Not now.', { members: { sourceId: 7 } },
  ); }),
  route('GET /mine', 'member', 'for members', (req) => json({ name: req.viewer.username })),
  route('GET /theirs', 'admin', 'for admins', () => json({})),
  route('POST /json', 'public', 'takes JSON', async (req) => json(await readJson(req))),
  route('POST /form', 'public', 'takes a form', async (req) => json(await readForm(req))),
  route('POST /patient', 'public', 'waits 50 ms for its body', async (req) => {
    return json({ bytes: (await readBody(req, 1000, 50)).length });
  }),
  route('POST /small', 'public', 'takes ten bytes', async (req) => json({ bytes: (await readBody(req, 10)).length })),
  route('POST /invalid', 'public', 'finds mistakes', () => { throw invalid(
    [{ pointer: '/a', detail: 'A is wrong.' }],
  ); }),
  route('POST /refused', 'member', 'never reads its body', () => noContent()),
  route('GET /api/broken', 'public', 'a fault in the API', () => { throw new Error('the secret place of the fault'); }),
];

function endless(): Readable {
  return new Readable({ read() { this.push(Buffer.alloc(65_536)); } });
}

const startServer = (t: TestContext, options: Partial<ServerOptions> = {}) =>
  startBareServer(t, { routes: ROUTES, ...options });

const HTML = { accept: 'text/html,*/*;q=0.8' };
const JSON_BODY = { body: '{}', headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' } };

test('a write that the hub does not take now is refused before its handler, a read is not', async (t) => {
  const admitWrite = (): void => { throw tryLater(503, 7, 'Not now.'); };
  const { client } = await startServer(t, { admitWrite });

  const refused = await client.send('POST', '/json', JSON_BODY);
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('retry-after'), '7');
  assert.equal((await client.send('POST', '/refused', JSON_BODY)).status, 401, 'nobody is told before they are known');
  assert.equal((await client.get('/data')).status, 200);
});

test('a page that is too large is not sent: it is a fault of the hub’s own', async (t) => {
  const long = (bytes: number) => page({ title: 'Long', main: trusted('x'.repeat(bytes)) });
  const routes = [
    route('GET /longest', 'public', 'as long as may be', () => long(MAX_PAGE_BYTES - 100)),
    route('GET /too-long', 'public', 'too long', () => long(MAX_PAGE_BYTES)),
  ];
  const { client, faults } = await startServer(t, { routes });

  assert.equal((await client.get('/longest', HTML)).status, 200);
  const refused = await client.get('/too-long', HTML);
  assert.deepEqual([refused.status, refused.text.length < 1_000], [500, true]);
  assert.match(String(faults), /^Error: the page has \d+ bytes, more than any page may have$/);
});

test('HEAD answers as GET does, without the body', async (t) => {
  const { client } = await startServer(t);

  for (const path of [
    '/page', '/kept', '/kept', '/data', '/asset', '/stream', '/away', '/nowhere', '/mine', '/broken', '/teapot',
  ]) {
    const [got, head] = [await client.get(path), await client.send('HEAD', path)];
    assert.equal(head.status, got.status, path);
    assert.equal(head.text, '', path);
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary', 'location']) {
      assert.equal(head.headers.get(name), got.headers.get(name), `${name} of ${path}`);
    }
  }
});

test('an address that exists for other methods answers 405 and names them, one that does not 404', async (t) => {
  const { client, connect } = await startServer(t);

  const wrong = await client.send('DELETE', '/page');
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get('allow'), 'GET, HEAD');
  assert.equal((await client.send('PUT', '/json')).headers.get('allow'), 'POST');
  assert.equal((await client.send('OPTIONS', '/page')).status, 405);
  assert.equal((await client.send('POST', '/nowhere')).status, 404);
  for (const path of ['/page/', '//page', '/PAGE', '/page%00', '/../page/x', '/%E0%A4%A']) {
    const raw = await connect();
    raw.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
    assert.equal((await raw.answer()).status, 404, path);
  }
});

test('problems are application/problem+json with type, title, status and detail', async (t) => {
  const { client } = await startServer(t);
  const cases: [method: string, path: string, problem: Record<string, unknown>][] = [
    ['GET', '/nowhere', {
      type: 'about:blank', title: 'Not Found', status: 404, detail: 'There is nothing at this address.',
    }],
    ['GET', '/teapot', { type: 'about:blank', title: 'Conflict', status: 409, detail: 'Not now.', sourceId: 7 }],
    ['GET', '/mine', { type: 'about:blank', title: 'Unauthorized', status: 401, detail: 'Sign in first.' }],
    ['POST', '/invalid', {
      type: 'about:blank', title: 'Unprocessable Entity', status: 422, detail: 'A is wrong.',
      errors: [{ pointer: '/a', detail: 'A is wrong.' }],
    }],
  ];
  for (const [method, path, problem] of cases) {
    const answer = await client.send(method, path);
    assert.equal(answer.headers.get('content-type'), 'application/problem+json', path);
    assert.equal(answer.status, problem['status']);
    assert.deepEqual(answer.json(), problem);
  }
});

test('whoever asks for a page gets the problem as a page, except under /api', async (t) => {
  const { client } = await startServer(t);

  for (const [path, status] of [['/nowhere', 404], ['/teapot', 409], ['/broken', 500], ['/full', 503], [
    '/broken-page', 500,
  ]] as const) {
    const answer = await client.get(path, HTML);
    assert.equal(answer.status, status, path);
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(answer.text, /<h1>/);
  }
  assert.equal((await client.send('POST', '/page', { headers: HTML })).headers.get('allow'), 'GET, HEAD');
  assert.equal((await client.get('/api/nothing', HTML)).headers.get('content-type'), 'application/problem+json');
  assert.equal((await client.get('/api/broken', HTML)).headers.get('content-type'), 'application/problem+json');
});

test('a fault of the hub is noted once with its place, and the answer says nothing of it', async (t) => {
  const { client, logged, faults } = await startServer(t);

  for (const [path, accept] of [['/broken', '*/*'], ['/broken', 'text/html'], ['/api/broken', '*/*']] as const) {
    const answer = await client.get(path, { accept });
    assert.equal(answer.status, 500);
    assert.doesNotMatch(answer.text, /secret place|TypeError|\bat \S+:\d+|server\.test/);
  }
  assert.equal(faults.length, 3);
  const line = logged().find(({ event }) => event === 'request failed');
  assert.match(String(line?.['stack']), /secret place of the fault[\s\S]+server\.test\.ts/);
  assert.equal(typeof line?.['requestId'], 'string');
});

test('storage that is full or locked is 503 and says when to come back', async (t) => {
  const answer = await (await startServer(t)).client.get('/full');

  assert.equal(answer.status, 503);
  assert.equal(answer.headers.get('retry-after'), '30');
});

test('nobody is left waiting when an answer cannot be written or its page not be rendered', async (t) => {
  const { client, address, faults } = await startServer(t, { errorPage: () => { throw new Error(
    'the error page fails too',
  ); } });

  for (const [path, accept] of [[
    '/broken-header', '*/*',
  ], ['/broken-page', '*/*'], ['/broken', 'text/html'], ['/nowhere', 'text/html']] as const) {
    const answer = await client.get(path, { accept });
    assert.equal(answer.status, 500, path);
    assert.equal(answer.json()['title'], 'Internal Server Error');
    assert.equal(answer.headers.get('location'), null);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  }
  assert.equal((await fetch(`${address}/broken-header`)).statusText, 'Internal Server Error');
  assert.ok(faults.length >= 4);
});

test('an authentication that fails is a refusal or a fault like any other', async (t) => {
  const refusing = await startServer(t, { authenticate: () => { throw new HttpError(401, 'Unknown token.'); } });
  const failing = await startServer(t, { authenticate: () => { throw new Error('no database'); } });

  assert.equal((await refusing.client.get('/data')).status, 401);
  assert.equal((await failing.client.get('/data')).status, 500);
});

test('a version of the content that cannot be asked stops the cache, not the answers', async (t) => {
  const { client } = await startServer(t, { cache: createResponseCache(() => { throw new Error('unreadable'); }) });

  for (let n = 0; n < 3; n++) assert.equal((await client.get('/kept')).status, 200);
});

test('who may not is told: 401 with a challenge for nobody, 403 for a member at what is for admins', async (t) => {
  const { client } = await startServer(t);
  const cookie = { cookie: 's=ada' };

  const nobody = await client.get('/mine');
  assert.equal(nobody.status, 401);
  assert.match(nobody.headers.get('www-authenticate') ?? '', /^Bearer realm=/);
  assert.equal((await client.get('/theirs')).status, 401);
  assert.equal((await client.get('/theirs', cookie)).status, 403);
  assert.deepEqual((await client.get('/mine', cookie)).json(), { name: 'ada' });
});

test('a body that is too long is refused while it is read, with or without its length', async (t) => {
  const { client, connect } = await startServer(t);

  assert.deepEqual((await client.send('POST', '/small', { body: '0123456789' })).json(), { bytes: 10 });
  assert.equal((await client.send('POST', '/small', { body: '01234567890' })).status, 413);
  const told = await connect();
  told.write('POST /small HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n');
  assert.equal((await told.answer()).status, 413, 'before a byte of it has come');
  told.socket.destroy();
  const chunked = await connect();
  chunked.write('POST /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n');
  chunked.write('5\r\nghijk\r\n');
  assert.equal((await chunked.answer()).status, 413, 'before its end has come');
  chunked.socket.destroy();
});

test('a client that goes on sending after it was answered is cut off at once', { timeout: 20_000 }, async (t) => {
  const { client, connect } = await startServer(t);
  await client.get('/kept');
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);

  for (const [head, status] of [['POST /small', 413], ['GET /kept', 200], ['POST /refused', 401]] as const) {
    const raw = await connect();
    const expectation = status === 401 ? 'Expect: a miracle\r\n' : '';
    raw.write(`${head} HTTP/1.1\r\nHost: hub.example\r\n${expectation}Transfer-Encoding: chunked\r\n\r\n`);
    for (let n = 0; n < 100; n++) raw.write(chunk);
    assert.equal((await raw.answer()).status, status);
    await raw.ended();
  }
});

test('a body in very many tiny pieces is cut off, whoever reads it, and pieces count towards the memory', async (t) => {
  const met: string[] = [];
  const { connect } = await startServer(t, {
    routes: [...ROUTES, route('POST /large', 'public', 'takes much', async (req) => {
      return json({ bytes: (await readBody(req, 20 * 1024 * 1024)).length });
    })],
    metLimit: (limit, seconds, reason) => (met.push(limit), tryLater(503, seconds, reason)),
  });
  const send = async (path: string, bytes: number, pieces: number): Promise<RawConnection> => {
    const raw = await connect();
    raw.write(`POST ${path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n`);
    raw.write(`${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`.repeat(pieces) + '0\r\n\r\n');
    return raw;
  };

  assert.equal((await (await send('/large', 1, 256)).answer()).body, '{"bytes":256}');
  assert.equal((await (await send('/large', 40, 10_000)).answer()).body, '{"bytes":400000}');
  assert.deepEqual(met, []);
  for (const path of ['/large', '/refused', '/nothing']) await (await send(path, 1, 20_000)).ended();
  assert.deepEqual(met, ['body-pieces', 'body-pieces', 'body-pieces']);
  assert.equal((await (await send('/large', 40, 60_000)).answer()).status, 503);
  assert.deepEqual(met.slice(3), ['bodies']);
});

test('the answer to a refused request is seen, and its connection serves the next one', async (t) => {
  const raw = await (await startServer(t)).connect();
  const body = Buffer.alloc(300_000, 'x');

  raw.write(`POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n`);
  assert.equal((await raw.answer()).status, 401);
  raw.write(body);
  raw.write('GET /data HTTP/1.1\r\nHost: h\r\n\r\n');
  assert.equal((await raw.answer()).body, '{"answer":42}');
  raw.write(
    'POST /small HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n0123456789ab\r\n0\r\n\r\n'
      + 'GET /data HTTP/1.1\r\nHost: h\r\n\r\n',
  );
  assert.equal((await raw.answer()).status, 413);
  assert.equal((await raw.answer()).body, '{"answer":42}');
});

test('of many bodies that were refused sixteen are read at a time, and each connection serves again', async (t) => {
  const { server, connect } = await startServer(t);
  const received: Socket[] = [];
  server.on('connection', (socket) => received.push(socket));
  const body = Buffer.alloc(1024 * 1024, 'x');
  const senders = await Promise.all(Array.from({ length: 40 }, connect));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const { write } of senders) {
    write(`POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length + 1}\r\n\r\n`);
    write(body);
  }
  for (const { answer } of senders) assert.equal((await answer()).status, 401);

  const readWhole = (): Socket[] => received.filter(({ bytesRead }) => bytesRead > body.length);
  await waitUntil('sixteen are read', () => readWhole().length === 16);
  await Promise.all(senders.slice(0, 4).map(({ socket }) => once(socket.destroy(), 'close')));
  await waitUntil('others have their turn', () => readWhole().length === 20);
  const unread = received.filter((socket) => !readWhole().includes(socket));
  assert.ok(unread.every(({ bytesRead }) => bytesRead <= 2 * 65_536), 'what came with the head, and no more');

  for (const { write } of senders.slice(4)) write('xGET /data HTTP/1.1\r\nHost: h\r\n\r\n');
  for (const { answer } of senders.slice(4)) assert.equal((await answer()).body, '{"answer":42}');
});

test('who sends no more of a refused body lets others have a turn; of very many that wait some are cut', async (t) => {
  const { connect } = await startServer(t);
  const body = Buffer.alloc(300_000, 'x');
  const send = async (): Promise<RawConnection> => {
    const raw = await connect();
    raw.write(`POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n`);
    raw.write(body.subarray(1));
    assert.equal((await raw.answer()).status, 401);
    return raw;
  };
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const idle = await Promise.all(Array.from({ length: 16 + 200 }, send));
  const late = await Promise.all([send(), send()]);

  for (const { write } of [...idle.slice(-2), ...late]) write('xGET /data HTTP/1.1\r\nHost: h\r\n\r\n');
  t.mock.timers.tick(249);
  assert.ok(late.every(({ socket }) => !socket.readableEnded), 'its answer is seen before a connection is cut');
  let answers: string[] | undefined;
  void Promise.all(idle.slice(-2).map(async ({ answer }) => (await answer()).body)).then((all) => (answers = all));
  await waitUntil('the last ones have their turn', () => (t.mock.timers.tick(250), answers !== undefined));
  assert.deepEqual(answers, ['{"answer":42}', '{"answer":42}']);
  for (const { answer } of late) await assert.rejects(answer(), /ended/);
  assert.ok(idle.every(({ socket }) => !socket.readableEnded), 'who came before is not cut');
});

test('JSON must be a JSON object in UTF-8, sent as application/json', async (t) => {
  const { client } = await startServer(t);
  const send = async (body: string, type: string | undefined = 'application/json') =>
    client.send('POST', '/json', { body, headers: type === undefined ? {} : { 'content-type': type } });

  assert.deepEqual((await send('{"a":"é"}')).json(), { a: 'é' });
  assert.deepEqual((await client.send('POST', '/json')).json(), {}, 'nothing sent is nothing said');
  assert.equal((await send('{"a":1}', 'Application/JSON; charset=utf-8')).status, 200);
  for (const body of ['', '{', '{"a":}', '{"a":1}x', 'nonsense', '[1]', 'null', '"text"', '7', 'true']) {
    assert.equal((await send(body)).status, 400, body);
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
    const refused = await send('{"a":1}', type);
    assert.equal(refused.status, 415, type);
    assert.equal(refused.headers.get('accept'), 'application/json');
  }
  assert.equal(
    (await client.send('POST', '/form', { body: '{}', headers: { 'content-type': 'application/json' } })).status, 415,
  );
});

test('what is no HTTP is refused and cut off, and the server goes on', async (t) => {
  const { connect, client } = await startServer(t);
  const cases: [bytes: string, status: number][] = [
    ['nonsense\r\n\r\n', 400],
    [`GET /data HTTP/1.1\r\nHost: h\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: h\r\n\r\n`, 431],
    ['GET /data HTTP/1.1\r\nHost: h\r\nBroken header\r\n\r\n', 400],
    ['POST /json HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['POST /json HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n\r\n', 400],
    ['POST /json HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n', 400],
  ];
  for (const [bytes, status] of cases) {
    const raw = await connect();
    raw.write(bytes);
    const refused = await raw.answer();
    assert.equal(refused.status, status, bytes.slice(0, 80));
    assert.equal(refused.headers.get('x-content-type-options'), 'nosniff');
    assert.match(refused.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
    assert.equal(refused.headers.get('connection'), 'close');
    await raw.ended();
  }
  const hostless = await connect();
  hostless.write('GET /data HTTP/1.1\r\n\r\n');
  const refused = await hostless.answer(); // Node's own; it has no body that security headers could protect
  assert.deepEqual([refused.status, refused.body], [400, '']);
  await hostless.ended();
  assert.equal((await client.get('/data')).status, 200);
});

test('garbage after a request does not take the place of its answer, which comes before the end', async (t) => {
  const slow = Promise.withResolvers<void>();
  const waits = route('GET /slow', 'public', 'waits', async () => slow.promise.then(() => json({ answer: 'slow' })));
  const { connect, observed } = await startServer(t, { routes: [...ROUTES, waits] });
  const raw = await connect();

  raw.write('GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /data HTTP/1.1\r\nHost: h\r\n\r\nnonsense\r\n\r\n');
  await waitUntil('what can be answered is ready', () => observed.some(({ path }) => path === '/data'));
  slow.resolve();
  assert.deepEqual([await raw.answer(), await raw.answer()].map(({ status, body }) => [status, body]), [
    [200, '{"answer":"slow"}'], [200, '{"answer":42}'],
  ]);
  await raw.ended();
  await assert.rejects(raw.answer(), /ended after ""/, 'and nothing after them');
});

test('a body that turns out to be garbage is refused in its own place or cut off, never in another\'s', async (t) => {
  const never = route('GET /never', 'public', 'never answers', () => new Promise<never>(() => {}));
  const { connect } = await startServer(t, { routes: [...ROUTES, never] });
  const head = 'Host: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

  const alone = await connect();
  alone.write(`POST /json HTTP/1.1\r\n${head}zz\r\n`);
  assert.equal((await alone.answer()).status, 400);
  await alone.ended();
  const behind = await connect();
  behind.write(`GET /never HTTP/1.1\r\nHost: h\r\n\r\nPOST /json HTTP/1.1\r\n${head}zz\r\n`);
  await assert.rejects(behind.answer(), /ended after ""/);
  const answered = await connect();
  answered.write(`POST /refused HTTP/1.1\r\n${head}`);
  assert.equal((await answered.answer()).status, 401);
  answered.write('zz\r\n');
  await assert.rejects(answered.answer(), /ended after ""/);
});

test('a client that does not read its answer is cut off, and what was made for it is let go', async (t) => {
  const { connect, observed, server } = await startServer(t, { idleMs: 300 });
  const raw = await connect();
  raw.socket.pause();

  raw.write('GET /endless HTTP/1.1\r\nHost: h\r\n\r\n');
  await waitUntil('the answer was given up', () => observed.some(({ path }) => path === '/endless'));
  const connections = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  await waitUntil('the connection is closed', async () => (await connections()) === 0);
});

test('a route that checks the bearer token itself is called whatever token there is', async (t) => {
  const own = route(
    'GET /own', 'public', 'own', ({ headers }) => json({ sent: headers.authorization }), { checksBearer: true },
  );
  const { client } = await startServer(t, {
    routes: [...ROUTES, own], authenticate: () => { throw new HttpError(401, 'Unknown token.'); },
  });

  const headers = { authorization: 'Bearer hub_of-another-kind' };
  assert.deepEqual((await client.get('/own', headers)).json(), { sent: headers.authorization });
  assert.equal((await client.get('/data', headers)).status, 401);
  assert.equal((await client.get('/nowhere', headers)).status, 401);
});

test('whoever sends slowly is cut off: heads within 15 seconds, requests with files within an hour', async (t) => {
  const { server } = await startServer(t);

  assert.equal(server.headersTimeout, 15_000);
  assert.equal(server.requestTimeout, 3_600_000);
  assert.equal(server.keepAliveTimeout, 65_000);
  assert.equal(server.timeout, 120_000);
});

test('a body that does not come in time is refused with 408, and its connection ends', async (t) => {
  const { connect, client, faults } = await startServer(t);
  const raw = await connect();

  raw.write('POST /patient HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf');
  const { status, headers } = await raw.answer();
  assert.deepEqual([status, headers.get('connection')], [408, 'close']);
  await raw.ended();

  const whole = await client.send('POST', '/patient', { body: 'x'.repeat(100) });
  assert.deepEqual([whole.status, whole.json()], [200, { bytes: 100 }]);
  assert.deepEqual(faults, []);
});

test('a client that goes away half-way leaves nothing behind but a line in the log', async (t) => {
  const { connect, client, observed, faults } = await startServer(t);

  const sender = await connect();
  sender.write('POST /json HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a"');
  assert.equal((await client.get('/data')).status, 200, 'requests begin in the order in which they came');
  sender.socket.end();
  await waitUntil('the cut request is counted', () => observed.some(({ path }) => path === '/json'));
  const reader = await connect();
  reader.write('GET /endless HTTP/1.1\r\nHost: h\r\n\r\n');
  await waitUntil('some of the stream has come', () => reader.socket.bytesRead > 100_000);
  reader.socket.destroy();
  await waitUntil('the stream has ended', () => observed.some(({ path }) => path === '/endless'));

  assert.equal((await client.get('/data')).status, 200);
  assert.deepEqual(faults, []);
  assert.equal(observed.find(({ path }) => path === '/json')?.status, 400);
});

test('every kind of answer carries the security headers', async (t) => {
  const { client, connect } = await startServer(t);
  await client.get('/kept');
  const etag = (await client.get('/kept')).headers.get('etag') ?? '';
  const answers = [
    await client.get('/page'), await client.get('/kept'), await client.get('/kept', { 'if-none-match': etag }),
    await client.get('/data', { 'if-none-match': '*' }), await client.get('/stream'), await client.get('/away'),
    await client.get('/nowhere'), await client.get('/nowhere', HTML), await client.get('/broken'),
    await client.get('/mine'),
    await client.send('HEAD', '/kept'), await client.send('HEAD', '/nowhere'), await client.send('PUT', '/page'),
    await client.send('POST', '/small', { body: 'x'.repeat(20) }),
    await client.send('POST', '/refused', { headers: { cookie: 's=ada' } }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 304, 304, 200, 303, 404, 404, 500, 401, 200, 404, 405, 413, 204],
  );
  const policy = "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; manifest-src 'self'; "
    + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
  for (const { status, headers } of answers) {
    assert.equal(headers.get('x-content-type-options'), 'nosniff', String(status));
    assert.equal(headers.get('content-security-policy'), policy);
    assert.equal(headers.get('referrer-policy'), 'same-origin');
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
    assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin');
    assert.equal(headers.get('strict-transport-security'), null, 'not over http');
    assert.equal(headers.get('x-powered-by'), null);
    assert.match(headers.get('x-request-id') ?? '', /^[\w-]+-[0-9a-z]+$/);
  }
  const raw = await connect();
  raw.write('GET /kept HTTP/1.1\r\nHost: h\r\n\r\n');
  assert.equal((await raw.answer()).headers.get('content-security-policy'), policy, 'of a kept answer too');
});

test('pages for members may run the one script and ask the hub, and nothing else of theirs or of visitors may', async (t) => {
  const { client } = await startServer(t);
  const policy = async (path: string, headers = {}) =>
    (await client.get(path, headers)).headers.get('content-security-policy') ?? '';
  const signedIn = { ...HTML, cookie: 's=ada' };

  const visitors = await policy('/page');
  for (const path of ['/page', '/kept', '/nowhere', '/broken']) {
    assert.equal(await policy(path, signedIn), `${visitors}; connect-src 'self'; script-src 'sha256-ofTheScript='`, path);
    assert.equal(await policy(path, HTML), visitors, path);
  }
  for (const path of ['/data', '/asset', '/stream', '/away']) assert.equal(await policy(path, signedIn), visitors, path);
  assert.doesNotMatch(visitors, /script-src|connect-src|unsafe|\*/);
});

test('a hub on https tells browsers to stay there', async (t) => {
  const { client } = await startServer(t, { baseUrl: 'https://hub.example' });

  for (const path of ['/kept', '/kept', '/nowhere', '/broken']) {
    assert.match((await client.get(path)).headers.get('strict-transport-security') ?? '', /^max-age=\d{7,}/, path);
  }
});

test('each request has an id of its own, in its answer and in its line of the log', async (t) => {
  const { client, logged } = await startServer(t);

  const ids = [];
  for (const path of ['/data?secret=1', '/kept', '/kept', '/nowhere']) {
    ids.push((await client.get(path)).headers.get('x-request-id'));
  }
  assert.equal(new Set(ids).size, 4);
  await waitUntil('all four are logged', () => logged().filter(({ event }) => event === 'request').length === 4);
  const lines = logged().filter(({ event }) => event === 'request');
  assert.deepEqual(lines.map((line) => line['requestId']), ids);
  assert.deepEqual(lines.map(({ method, path, status }) => `${method} ${path} ${status}`),
    ['GET /data 200', 'GET /kept 200', 'GET /kept 200', 'GET /nowhere 404'], 'queries are not logged');
});

test('an address that holds a secret is never logged, also where it was mistyped or is refused', async (t) => {
  const join = route('GET /join/:token', 'public', 'join', () => noContent());
  const { client, logged, observed } = await startServer(t, { routes: [join] });

  await client.get('/join/s3cret');
  await client.get('/join/s3cret/');
  await client.get('/join/s3cret', HTML);
  await client.send('PUT', '/join/s3cret');
  await waitUntil('all four are counted', () => observed.length === 4);
  assert.doesNotMatch(JSON.stringify(logged()), /s3cret/);
  assert.doesNotMatch(JSON.stringify(observed), /s3cret/);
});

test('a path that may hold a folder’s name, a feed’s address or a file’s name is logged as its route, however it is written', async (t) => {
  const { client, logged, observed } = await startServer(t, { routes: (['/folders/:name/posts/:id', '/stream/:stream*', '/files/:key/:filename', '/posts/:id', '/stream/list'] as const)
    .map((path) => route(`GET ${path}`, 'public', path, () => noContent())) });
  const paths = [
    '/folders/Secret/posts/3', '/stream/feed/https://Secret.example/a', '/files/k/Secret.pdf', // found
    '/folders/Secret', '/folders/Secret/posts/3/x', '//folders/Secret', '/FOLDERS/Secret/', '/%66olders/Secret', '/stream/', '/files/Secret', // not found
    '/posts/3', '/stream/list', '/posts', '/nowhere',
  ];
  for (const path of paths) await client.get(path);
  await client.send('PUT', '/folders/Secret/posts/3');
  await waitUntil('all are counted', () => observed.length === paths.length + 1);

  assert.doesNotMatch(JSON.stringify(logged()), /secret/i);
  assert.deepEqual(logged().filter(({ status }) => status === 204).map(({ path }) => path),
    ['/folders/:name/posts/:id', '/stream/:stream*', '/files/:key/:filename', '/posts/3', '/stream/list']);
});

test('of the refused requests of one client few a second have a line, and one line counts the others; other clients and answers have all theirs', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { client, server, logged, observed } = await startServer(t, { trustedProxies: parseCidrs('127.0.0.0/8') ?? [] });
  const from = (address: string) => ({ 'x-forwarded-for': address });
  for (let n = 0; n < 40; n++) await client.get(`/nowhere/${n}`, from('192.0.2.1'));
  for (let n = 0; n < 40; n++) await client.get(`/nowhere/${n}`, from(`2001:db8:1:${n}::1`)); // one customer's /48
  for (let n = 0; n < 3; n++) await client.get('/nowhere', from('192.0.2.2'));
  for (let n = 0; n < 40; n++) await client.get('/data', from('192.0.2.1'));
  assert.equal(observed.length, 123, 'metrics count all');
  const counted = () => logged().filter(({ event }) => event === 'requests refused').map(({ count }) => count);
  const refused = logged().filter(({ event, status }) => event === 'request' && status === 404);
  assert.deepEqual([refused.length, logged().filter(({ status }) => status === 200).length, counted()], [13, 40, []]);

  t.mock.timers.tick(1_000);
  assert.deepEqual(counted(), [35, 35]);
  for (let n = 0; n < 6; n++) await client.get('/nowhere', from('192.0.2.1'));
  server.emit('close');
  assert.deepEqual(counted(), [35, 35, 1], 'none is lost at the end');
});

test('answers are counted under the template of their route, kept ones too', async (t) => {
  const { client, observed } = await startServer(t);

  for (const path of ['/kept', '/kept?x=1', '/kept', '/nowhere/at/all']) await client.get(path);
  await waitUntil('all four are counted', () => observed.length === 4);
  assert.deepEqual(observed.map(({ path }) => path), ['/kept', '/kept', '/kept', undefined]);
});

test('a client that has the answer already gets 304 without a body', async (t) => {
  const { client, connect } = await startServer(t);

  for (const path of ['/data', '/kept', '/asset']) {
    const first = await client.get(path);
    const etag = first.headers.get('etag') ?? '';
    assert.match(etag, /^"[\w-]+"$/);
    for (const named of [etag, `W/${etag}`, `"other", ${etag}`, `"a,b" , W/"x",${etag}`, '*', ' * ']) {
      const again = await client.get(path, { 'if-none-match': named });
      assert.equal(again.status, 304, `${path} ${named}`);
      assert.equal(again.text, '');
      assert.equal(again.headers.get('etag'), etag);
      assert.equal(again.headers.get('cache-control'), first.headers.get('cache-control'));
      assert.equal(again.headers.get('vary'), first.headers.get('vary'));
    }
    for (const named of ['"other"', etag.slice(1, -1), `${etag}x`, '']) {
      assert.equal((await client.get(path, { 'if-none-match': named })).status, 200, `${path} ${named}`);
    }
  }
  const raw = await connect();
  raw.write('GET /data HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\nGET /data HTTP/1.1\r\nHost: h\r\n\r\n');
  const unmodified = await raw.answer();
  assert.deepEqual([unmodified.status, unmodified.headers.get('content-length')], [304, undefined]);
  assert.equal((await raw.answer()).body, '{"answer":42}', 'nothing stands between the two answers');
});

test('answers are kept by all if they are for all, by the browser if they are for one, and others by nobody', async (t) => {
  const { client } = await startServer(t);
  const caching = async (path: string, headers: Record<string, string> = {}) => (await client.get(
    path, headers,
  )).headers.get('cache-control');
  const signedIn = { cookie: 's=ada' };

  for (const path of ['/page', '/kept', '/data']) {
    assert.equal(await caching(path), 'public, max-age=0, must-revalidate', path);
    assert.match((await client.get(path)).headers.get('vary') ?? '', /Cookie/);
    assert.match((await client.get(path)).headers.get('vary') ?? '', /Authorization/);
    const own = await client.get(path, signedIn);
    assert.equal(own.headers.get('cache-control'), 'private, no-cache', path);
    assert.match(own.headers.get('vary') ?? '', /Cookie, Authorization/);
    const named = { ...signedIn, 'if-none-match': own.headers.get('etag') ?? '' };
    assert.equal((await client.get(path, named)).status, 304, path);
  }
  assert.equal(await caching('/asset'), 'public, max-age=31536000, immutable');
  assert.equal(await caching('/asset', signedIn), 'public, max-age=31536000, immutable');
  for (const path of ['/nowhere', '/broken', '/teapot', '/away', '/mine', '/full']) {
    assert.equal(await caching(path), 'no-store', path);
  }
  for (const path of ['/nowhere', '/broken', '/teapot', '/away', '/stream', '/secret']) {
    assert.equal(await caching(path, signedIn), 'no-store', path);
  }
  const unmodified = await client.get('/secret', { ...signedIn, 'if-none-match': '*' });
  assert.equal(unmodified.status, 200, 'what may not be kept is never unmodified');
  assert.equal((await client.send('POST', '/json', { ...JSON_BODY, headers: { ...JSON_BODY.headers, ...signedIn } }))
    .headers.get('cache-control'), 'no-store', 'what was sent');
  assert.equal(await caching('/mine', signedIn), 'private, no-cache');
});

test('a server that stops finishes the requests in hand and cuts what takes too long', async (t) => {
  const { server, connect } = await startServer(t);
  const [idle, slow] = [await connect(), await connect()];
  slow.write('POST /json HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a"');
  idle.write('GET /data HTTP/1.1\r\nHost: h\r\n\r\n');
  await idle.answer();

  const closed = closeServer(server, 10_000);
  await idle.ended();
  slow.write(':1}');
  assert.deepEqual(JSON.parse((await slow.answer()).body), { a: 1 });
  await closed;
});

test('a client that is refused and does not hang up in turn is cut off', async (t) => {
  const { server, address } = await startServer(t);
  const socket = connect({ port: Number(new URL(address).port), host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  let answer = '';
  socket.on('data', (chunk) => (answer += chunk));
  socket.on('error', () => {});
  socket.write('this is no HTTP\r\n\r\n');
  const open = () => new Promise<number>((done) => server.getConnections((_error, count) => done(count)));

  await waitUntil('the refusal', () => answer.startsWith('HTTP/1.1 400'));
  await waitUntil('the end of the connection', async () => (await open()) === 0);
});

test('a request that names its host twice is refused, and so is one under a name that is not the hub\'s', async (t) => {
  const { connect, observed } = await startServer(t, {
    hostNames: ['hub.example'],
    routes: [...ROUTES, route('GET /health', 'public', 'health', () => json({ ok: true }), { anyHost: true })],
  });
  const statusOf = async (target: string, ...hosts: string[]) => {
    const connection = await connect();
    const fields = hosts.map((host) => `Host: ${host}\r\n`).join('');
    connection.write(`GET ${target} HTTP/1.1\r\n${fields}Connection: close\r\n\r\n`);
    return (await connection.answer()).status;
  };

  for (const host of ['hub.example', 'HUB.example:8080', 'localhost', 'localhost:80', '127.0.0.1:1', '[::1]:8080']) {
    assert.equal(await statusOf('/kept', host), 200, host);
  }
  for (const host of ['evil.example', 'hub.example.evil', 'xhub.example', 'localhost.evil', '1.evil', '']) {
    for (const path of ['/kept', '/data', '/nothing']) assert.equal(await statusOf(path, host), 421, host);
    assert.equal(await statusOf('/health', host), 200, host);
  }
  assert.equal(await statusOf('http://evil.example/kept', 'hub.example'), 421);
  assert.equal(await statusOf('http://hub.example/kept', 'hub.example'), 200);
  for (const path of ['/kept', '/data', '/health']) {
    assert.equal(await statusOf(path, 'hub.example', 'hub.example'), 400);
    assert.equal(await statusOf(path, 'hub.example', 'evil.example'), 400);
  }
  await waitUntil('most are counted', () => observed.length > 20);
});

test('who accepts neither HTML nor JSON gets 406 from a page or the API, and a file all the same', async (t) => {
  const { client } = await startServer(t);
  const statusOf = async (path: string, accept: string) => (await client.get(path, { accept })).status;
  await client.page('/kept'); // and is kept

  for (const path of ['/page', '/kept', '/data']) {
    assert.equal(await statusOf(path, 'image/png'), 406, path);
    assert.equal(await statusOf(path, 'image/*, text/css;q=0.5'), 406, path);
    assert.equal(await statusOf(path, '*/*;q=0.1'), 200, path);
    assert.equal(await statusOf(path, ''), 200, `${path}: an empty Accept asks for nothing`);
  }
  assert.deepEqual([await statusOf('/page', 'text/*'), await statusOf('/page', 'text/html;q=0')], [200, 406]);
  assert.deepEqual([await statusOf('/data', 'application/json'), await statusOf('/data', 'text/html')], [200, 406]);
  assert.deepEqual([await statusOf('/asset', 'image/png'), await statusOf('/stream', 'image/png')], [200, 200]);
});

test('who is not signed in may send 16 KiB, members a megabyte of JSON or 64 KiB of a form', async (t) => {
  const { client, address } = await startServer(t);
  const member = createClient(address);
  member.keep('s=ada');
  const statusOf = async (as: typeof client, bytes: number) => (await as.post('/json', { a: 'x'.repeat(bytes) })).status;

  assert.deepEqual([await statusOf(client, 16_000), await statusOf(client, 16_384)], [200, 413]);
  assert.deepEqual([await statusOf(member, 1_000_000), await statusOf(member, 1_048_576)], [200, 413]);
  assert.equal((await client.form('/form', { a: 'x'.repeat(16_384) })).status, 413);
  const formOf = async (bytes: number) => (await member.form('/form', { a: 'x'.repeat(bytes) })).status;
  assert.deepEqual([await formOf(65_534), await formOf(65_535)], [200, 413]);
});

test('bodies that wait in memory share one budget: an address can fill only its own part, and gets this part back', () => {
  const met: string[] = [];
  const memory = createBodyMemory((limit, seconds, reason) => {
    met.push(limit);
    return tryLater(503, seconds, reason);
  });
  const [one, more, other, third, fourth] = ['a', 'a', 'b', 'c', 'd'].map((who) => memory([who]));
  const MIB = 1024 * 1024;

  one?.take(10 * MIB);
  assert.throws(() => more?.take(7 * MIB), { status: 503 });
  more?.take(6 * MIB);
  other?.take(16 * MIB);
  third?.take(16 * MIB);
  assert.throws(() => fourth?.take(1), { status: 503 });
  assert.deepEqual(met, ['bodies', 'bodies']);
  one?.free();
  one?.free();
  fourth?.take(10 * MIB);
  assert.throws(() => fourth?.take(1), { status: 503 });
});

test('a body that finds the memory for bodies full is refused with 503, until others have their answer', async (t) => {
  const MIB = 1024 * 1024;
  let received = 0;
  const large = route('POST /large', 'public', 'takes much', async (req) => {
    req.stream.on('data', (chunk: Buffer) => (received += chunk.length));
    return json({ bytes: (await readBody(req, 20 * MIB)).length });
  });
  const { client, connect } = await startServer(t, { routes: [...ROUTES, large] });
  const send = async () => (await client.send('POST', '/large', { body: 'x'.repeat(2 * MIB) })).status;
  const slow = await connect();

  slow.write(`POST /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${15 * MIB}\r\n\r\n`);
  slow.write(Buffer.alloc(15 * MIB - 1));
  await waitUntil('the memory is full', () => received === 15 * MIB - 1);
  assert.equal(await send(), 503);
  slow.write('x');
  assert.equal((await slow.answer()).status, 200);
  assert.equal(await send(), 200);
});

test('an address may have a hundred connections, and one more when one of them ends; a proxy as many as come', async (t) => {
  const met: string[] = [];
  const { server, connect } = await startServer(t, {
    trustedProxies: parseCidrs('198.51.100.1'),
    metLimit: (limit, seconds, reason) => (met.push(limit), tryLater(503, seconds, reason)),
  });
  let address = '203.0.113.7';
  server.prependListener('connection', (socket) => Object.defineProperty(socket, 'remoteAddress', { value: address }));
  const open = async () => {
    const connection = await connect();
    connection.write('GET /data HTTP/1.1\r\nHost: localhost\r\n\r\n');
    return { connection, status: (await connection.answer()).status };
  };

  const first = await open();
  for (let n = 1; n < 100; n++) assert.equal((await open()).status, 200);
  const refused = await open();
  assert.equal(refused.status, 503);
  await refused.connection.ended();
  for (address of ['203.0.113.8', '::ffff:203.0.113.9', '2001:db8::1']) assert.equal((await open()).status, 200);
  address = '203.0.113.7';
  first.connection.socket.destroy();
  await waitUntil('there is room again', async () => (await open()).status === 200);
  address = '198.51.100.1';
  for (let n = 0; n < 101; n++) assert.equal((await open()).status, 200);
  assert.ok(met.every((limit) => limit === 'connections'));
});
