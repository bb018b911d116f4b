// Protects an attempt to deliver an alert: taken or not, when the next one comes, and nothing of its address leaks.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { ALERT_FORMATS, type AlertFormat } from '../../../src/features/hub/settings.ts';
import { HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { pauseAfter, sendAlert, type SendResult } from '../../../src/features/alerts/send-alert.ts';
import { addressFor, alertWith } from '../../support/alerts.ts';
import { hubEnvironment, temporaryDataDir } from '../../support/hub-process.ts';
import { putDatabase } from '../../support/migrated-database.ts';
import { openHandles } from '../../support/open-handles.ts';
import { rawReply, reply, startOrigin, startRawOrigin, type OriginHandler } from '../../support/origin.ts';
import { PROJECT_ROOT, runProgram } from '../../support/run-program.ts';
import { makeSelfSigned } from '../../support/self-signed.ts';
import { waitUntil } from '../../support/wait-until.ts';

const NOW = Date.UTC(2026, 0, 31, 12);

type Options = { format?: AlertFormat | 'auto'; timeoutMs?: number; signal?: AbortSignal };

function send(url: string, { format = 'json', timeoutMs = 20_000, signal }: Options = {}): Promise<SendResult> {
  const receiver = { url, format, userAgent: 'ContentHub/1', clock: () => NOW, timeoutMs };
  return sendAlert(receiver, alertWith(), signal);
}

async function sendTo(t: TestContext, handler: OriginHandler, options: Options = {}): Promise<SendResult> {
  const { url } = await startOrigin(t, handler);
  return send(url, options);
}

for (const [format, status, headers, body] of [
  ['slack', 200, {}, 'ok'], ['slack', 200, {}, ' ok\n'], ['mattermost', 200, {}, 'ok'],
  ['rocketchat', 200, {}, '{"success":true}'], ['discord', 204, {}, ''], ['discord', 200, {}, '{"id":"1"}'],
  ['googlechat', 200, {}, '{"name":"spaces/x"}'], ['teams', 202, {}, ''], ['teams', 200, {}, '1'],
  ['ntfy', 200, {}, '{"id":"x","event":"message"}'], ['gotify', 200, {}, '{"id":1}'], ['json', 200, {}, ''],
  ['json', 201, {}, 'x'], ['json', 204, {}, ''], ['json', 200, { 'content-type': 'text/html' }, '<p>thanks</p>'],
] as const) {
  test(`${format} took the alert when it answers ${status} ${body}`, async (t) => {
    const { isDelivered, status: told } = await sendTo(t, reply(status, headers, body), { format });
    assert.deepEqual([isDelivered, told], [true, status]);
  });
}

for (const [format, headers, body] of [
  ['slack', {}, 'no_text'], ['slack', {}, ''], ['slack', {}, '{"ok":true}'],
  ['rocketchat', {}, '{"success": false,"error":"x"}'],
  ['ntfy', { 'content-type': 'text/html; charset=utf-8' }, '<title>Sign in</title>'],
  ['teams', { 'content-type': 'text/html' }, '<title>Sign in</title>'],
] as const) {
  test(`${format} did not take the alert when it answers 200 ${body}`, async (t) => {
    const { isDelivered, detail } = await sendTo(t, reply(200, headers, body), { format });
    assert.equal(isDelivered, false);
    assert.match(detail, /^127\.0\.0\.1:\d+ answered 200.* \(not what this kind of receiver answers\)$/);
  });
}

for (const status of [400, 404, 410, 429, 500, 503]) {
  test(`no kind of receiver took the alert when it answers ${status}, and its Retry-After counts`, async (t) => {
    for (const format of ALERT_FORMATS) {
      const result = await sendTo(t, reply(status, { 'retry-after': '10' }, 'channel_is_archived'), { format });
      const detail = `${result.detail.split(' ')[0]} answered ${status}: channel_is_archived`;
      assert.deepEqual(result, { isDelivered: false, status, retryAfterMs: 10_000, detail }, format);
    }
  });
}

for (const [value, expected] of [
  ['120', 120_000], ['0', 0], [new Date(NOW + 90_000).toUTCString(), 90_000], [new Date(NOW - 90_000).toUTCString(), 0],
  ['99999999999999999999', 2 ** 31 * 1_000],
  ['soon', undefined], ['-5', undefined], ['1.5', undefined], ['', undefined],
] as const) {
  test(`Retry-After: ${value} asks for ${expected ?? 'no'} ms`, async (t) => {
    const result = await sendTo(t, reply(429, { 'retry-after': value }, '{"message":"limited"}'));
    assert.deepEqual([result.isDelivered, result.retryAfterMs], [false, expected]);
  });
}

test('a redirect is a failure and is not followed', async (t) => {
  const elsewhere = await startOrigin(t, reply(200, {}, 'ok'));
  for (const status of [301, 302, 303, 307, 308]) {
    const { isDelivered, detail } = await sendTo(t, reply(status, { location: `${elsewhere.url}/secret` }, 'ok'));
    assert.equal(isDelivered, false);
    assert.match(detail, new RegExp(`^127\\.0\\.0\\.1:\\d+ answered ${status}, a redirect, which is not followed$`));
  }
  assert.equal(elsewhere.requests.length, 0);
});

test('a receiver that hangs, or reads nothing, is left after the time limit', async (t) => {
  const result = await sendTo(t, () => {}, { timeoutMs: 200 });
  assert.deepEqual([result.isDelivered, result.status], [false, null]);
  assert.match(result.detail, /^127\.0\.0\.1:\d+ gave no answer within 0\.2 s$/);
  const { url } = await startRawOrigin(t, (socket) => void socket.pause());
  assert.equal((await send(url, { timeoutMs: 200 })).isDelivered, false);
});

test('a receiver whose answer comes drop by drop or never ends is judged by what has come', async (t) => {
  const dripping: OriginHandler = (_request, response) => {
    response.writeHead(200);
    const drops = setInterval(() => response.write('.'), 5);
    response.once('close', () => clearInterval(drops));
  };
  const flooding: OriginHandler = (_request, response) => {
    response.writeHead(200).on('drain', flood);
    let left = 64 * 1024 * 1024;
    function flood(): void {
      while (!response.destroyed && left > 0 && response.write(Buffer.alloc(65_536, 'x'))) left -= 65_536;
      if (left <= 0) assert.fail('a flood is read to its end');
    }
    flood();
  };
  for (const [handler, timeoutMs] of [[dripping, 300], [flooding, 200_000]] as const) {
    assert.equal((await sendTo(t, handler, { format: 'gotify', timeoutMs })).isDelivered, true);
    const { isDelivered, detail } = await sendTo(t, handler, { format: 'slack', timeoutMs });
    assert.equal(isDelivered, false);
    assert.match(detail, /answered 200.*\(the answer broke off\)$/s);
    assert.ok(detail.length < 300, detail);
  }
});

for (const [title, onSocket, status] of [
  ['before a byte of the answer', (socket: Socket) => void socket.once('data', () => socket.destroy()), null],
  ['by a reset', (socket: Socket) => void socket.once('data', () => socket.resetAndDestroy()), null],
  ['with nothing at all', (socket: Socket) => void socket.once('data', () => socket.end()), null],
  ['within the status line', rawReply('HTTP/1.1 200'), null],
  ['within the headers', rawReply('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n'), null],
  ['with something that is not HTTP', rawReply('ok'), null],
  ['with another protocol', rawReply('HTTP/1.1 101 Other\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nok'), null],
  ['within a body that would have to say ok', rawReply('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no'), 200],
  ['within a chunked body', rawReply('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n'), 200],
  ['by a reset after a body of unknown length', (socket: Socket) => void socket.once('data', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\no', () => setImmediate(() => socket.resetAndDestroy()));
  }), undefined], // the reset may overtake what was sent
] as const) {
  test(`not delivered: the connection ends ${title}`, async (t) => {
    const { url } = await startRawOrigin(t, onSocket);
    const result = await send(url, { format: 'slack' });
    assert.deepEqual([result.isDelivered, status === undefined ? status : result.status], [false, status], result.detail);
    assert.match(result.detail, /127\.0\.0\.1:\d+/);
  });
}

test('an error whose body breaks off is told by its status', async (t) => {
  const { url } = await startRawOrigin(t, rawReply('HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\nbye'));
  assert.equal((await send(url)).status, 410);
});

test('a receiver that is not there took nothing', async (t) => {
  const receiver = await startOrigin(t, {});
  await receiver.close();
  assert.deepEqual(await send(receiver.url), {
    isDelivered: false, status: null, detail: `the exchange with 127.0.0.1:${receiver.port} failed (ECONNREFUSED)`,
  });
});

test('a certificate that nobody vouches for gets no alert', async (t) => {
  const receiver = await startOrigin(t, reply(200, {}, 'ok'), { tls: makeSelfSigned('127.0.0.1') });
  const { isDelivered, detail } = await send(receiver.url);
  assert.equal(isDelivered, false);
  assert.match(detail, /failed \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/);
  assert.equal(receiver.requests.length, 0);
});

test('an attempt that is stopped ends at once', async (t) => {
  const stop = new AbortController();
  const receiver = await startOrigin(t, () => stop.abort());
  const result = await send(receiver.url, { signal: stop.signal });
  assert.deepEqual([result.isDelivered, result.status], [false, null]);
  assert.match(result.detail, /was stopped$/);

  assert.match((await send(receiver.url, { signal: stop.signal })).detail, /was stopped$/);
  assert.equal(receiver.requests.length, 1, 'stopped before it began');
});

test('a user name and a password go into a header, and an emoji in a title for ntfy as RFC 2047 has it', async (t) => {
  const receiver = await startOrigin(t, reply(200, {}, '{"id":"x"}'));
  const url = receiver.url.replace('//', '//:tk_%C3%A9@');
  const options = { url: `${url}/topic#x`, format: 'ntfy', userAgent: 'x', clock: () => NOW } as const;
  assert.equal((await sendAlert(options, alertWith({ title: 'Owls 🦉 fail' }))).isDelivered, true);
  const [{ path, headers } = assert.fail('nothing came')] = receiver.requests;
  assert.deepEqual([path, headers.authorization], ['/topic', `Basic ${Buffer.from(':tk_é').toString('base64')}`]);
  assert.equal(headers['title'], `=?UTF-8?B?${Buffer.from('Owls 🦉 fail').toString('base64')}?=`);
});

test('no result tells more of the address than its host, whatever a receiver repeats', async (t) => {
  const withUser = (origin: string) => origin.replace('//', '//userSECRET:passSECRET@');
  const echo: OriginHandler = ({ path, headers }, response) => {
    const { authorization } = headers;
    response.writeHead(404).end(`Cannot POST ${path} ${decodeURIComponent(path)} for ${authorization}`);
  };
  const echoWord: OriginHandler = ({ path }, response) => {
    const words = path.split(/[/?&=]/).filter((word) => /secret/i.test(word));
    response.writeHead(500).end(`{"message":"no such hook: …${words.at(-1)?.slice(-10).toUpperCase()}"}`);
  };
  const location = (_request: unknown, response: Parameters<OriginHandler>[1]) =>
    void response.writeHead(302, { location: '/SECRET' }).end();
  for (const handler of [echo, echoWord, location, reply(200, {}, 'x'), () => {}]) {
    const receiver = await startOrigin(t, handler);
    for (const format of ALERT_FORMATS) {
      const result = await send(addressFor(format, withUser(receiver.url)), { format, timeoutMs: 100 });
      assert.doesNotMatch(inspect(result), /secret/i, format);
      assert.doesNotMatch(result.detail, /[A-Za-z0-9+/]{20,}/, 'Basic credentials');
      assert.match(result.detail, /127\.0\.0\.1:\d+/);
    }
  }
});

test('a secret that is encoded in the address is kept back also when it is repeated decoded', async (t) => {
  const receiver = await startOrigin(t, reply(403, {}, 'unknown token SECRET-1'));
  const { detail } = await send(`${receiver.url}/hook?token=%53%45%43%52%45%54%2D1`);
  assert.equal(detail, `127.0.0.1:${receiver.port} answered 403`);
});

test('what a receiver says of its refusal is told on one short line', async (t) => {
  const said = `{"code":42901,\n"error":"limit reached\u202e"} ${'x'.repeat(10_000)}`;
  const { detail } = await sendTo(t, reply(429, {}, said), { format: 'ntfy' });
  assert.match(detail, /answered 429: \{"code":42901, "error":"limit reached "\}/);
  assert.ok(detail.length < 220 && /^[^\p{Cc}\p{Cf}]*$/u.test(detail), detail);
});

test('an address that is not http or https is refused at once, and not repeated', async () => {
  for (const url of ['ftp://example.org/SECRET', 'SECRET', '', 'javascript:SECRET']) {
    const receiver = { url, format: 'auto', userAgent: 'x', clock: () => 0 } as const;
    await assert.rejects(sendAlert(receiver, alertWith()), (error: Error) =>
      error instanceof TypeError && !inspect(error).includes('SECRET'));
  }
});

test('no socket and no timer outlives an attempt, however it ended', async (t) => {
  const stop = new AbortController();
  const origins = await Promise.all([
    startOrigin(t, reply(200, {}, 'ok')), startOrigin(t, reply(500, {}, 'no')), startOrigin(t, () => {}),
    startRawOrigin(t, (socket) => void socket.destroy()),
    startRawOrigin(t, rawReply('HTTP/1.1 200 OK\r\n\r\no', { end: false })),
  ]);
  await waitUntil('what earlier tests left is gone', () => openHandles() === 0);
  const [first, ...others] = await Promise.all(origins.map(({ url }, index) =>
    send(url, { format: 'slack', timeoutMs: index < 2 ? 20_000 : 300, signal: stop.signal })));

  assert.equal(first?.isDelivered, true);
  assert.deepEqual(others.map(({ isDelivered }) => isDelivered), Array(4).fill(false));
  await waitUntil('sockets and timers are gone', () => openHandles() === 0);
});

test('a proxy named in the environment does not see the address', async (t) => {
  const proxy = await startOrigin(t, reply(200, {}, 'ok'));
  const receiver = await startOrigin(t, reply(202, {}, ''));
  const dataDir = temporaryDataDir(t);
  putDatabase(join(dataDir, 'hub.db'));
  const proxied = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, http_proxy: proxy.url };
  const env = hubEnvironment(dataDir, { ...proxied, ALERT_WEBHOOK_URL: receiver.url });
  const launch = [join(PROJECT_ROOT, 'src/bin/launch.ts'), 'hubctl', 'alerts', 'test'];
  const { stdout, stderr } = await runProgram(process.execPath, launch, { env });

  assert.match(stdout, /^delivered: .* answered 202/, stderr);
  assert.equal(proxy.requests.length, 0);
});

const MIDDLE = () => 0.5;

test('the pauses between the attempts of an alert grow, differ by chance, and none is longer than the next', () => {
  assert.deepEqual([1, 2, 3, 4].map((n) => pauseAfter(n, MIDDLE)), [30 * SECOND, 2 * MINUTE, 8 * MINUTE, 32 * MINUTE]);
  for (const attempts of [1, 2, 3, 4]) {
    const [shortest, longest] = [pauseAfter(attempts, () => 0), pauseAfter(attempts, () => 0.999_999)];
    assert.ok(shortest < longest && longest <= shortest * 2, `${shortest} to ${longest} ms`);
    if (attempts < 4) assert.ok(longest < pauseAfter(attempts + 1, () => 0));
  }
});

test('a Retry-After holds the next attempt back, never brings it forward, and counts for an hour at most', () => {
  for (const random of [() => 0, MIDDLE, () => 0.999_999]) {
    for (const asked of [5 * MINUTE, 45 * MINUTE, HOUR]) {
      const delay = pauseAfter(1, random, asked);
      assert.ok(delay >= asked && delay <= asked * 1.1, `${delay} ms for ${asked}`);
    }
    for (const asked of [0, 1, 10 * SECOND]) assert.equal(pauseAfter(2, random, asked), pauseAfter(2, random));
    for (const asked of [HOUR + 1, 24 * HOUR, 2 ** 31 * SECOND, Infinity]) {
      assert.equal(pauseAfter(1, random, asked), pauseAfter(1, random, HOUR));
    }
  }
});
