// Protects the hub’s memory: answers that nobody reads have a budget, and only the requests of their reader wait.
import assert from 'node:assert/strict';
import { openSync } from 'node:fs';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { HttpError, tryLater } from '../../../src/platform/http/http-error.ts';
import { json, type Reply } from '../../../src/platform/http/reply.ts';
import { route, type Viewer } from '../../../src/platform/http/router.ts';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { ADA, startBareServer } from '../../support/bare-server.ts';
import type { RawConnection } from '../../support/raw-exchange.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** As much as one client may leave unread, and more than the system takes of an answer that nobody reads. */
const LARGE = Buffer.alloc(8 * 1024 * 1024);

/** A server whose account is named by the cookie `s`, with what it handled for each, and which limits were met. */
async function serverOfLargeAnswers(t: TestContext) {
  const handled: string[] = [];
  const met: string[] = [];
  const left = new Set<string>();
  const large = (name: string): Reply => {
    handled.push(name);
    return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body: LARGE };
  };
  const server = await startBareServer(t, {
    routes: [
      route('GET /large', 'member', 'a large answer', ({ viewer }) => large(viewer.username)),
      route('GET /large-for-all', 'public', 'the same for anybody', ({ query }) => large(query.get('as') ?? '')),
      route('GET /stream', 'member', 'a stream', ({ viewer }) => {
        handled.push(viewer.username);
        return { status: 200, headers: {}, body: new Readable({ read() { this.push(LARGE.subarray(0, 65_536)); } }) };
      }),
      route('GET /file', 'member', 'a file', ({ viewer }) => {
        handled.push(viewer.username);
        return { status: 200, headers: {}, body: { fd: openSync('/dev/zero', 'r'), start: 0, length: 1e9 } };
      }),
      route('GET /small', 'public', 'a small answer', ({ query }) => json({ hello: handled.push(query.get('as') ?? '') })),
      route('POST /small', 'member', 'a write', ({ viewer }) => json({ hello: handled.push(viewer.username) })),
      route('GET /health', 'public', 'health', () => json({}), { anyHost: true }),
    ],
    metLimit: (limit, seconds, reason) => {
      met.push(limit);
      return limit === 'body-size' ? new HttpError(413, reason) : tryLater(503, seconds, reason);
    },
    trustedProxies: parseCidrs('127.0.0.0/8'),
    authenticate: ({ headers: { cookie = '' } }) =>
      ({ viewer: left.has(cookie) ? null : viewerOf(cookie), hasCookie: cookie !== '' }),
  });
  return { ...server, handled, met, left, handledFor: (name: string) => handled.filter((one) => one === name).length };
}

function viewerOf(cookie: string): Viewer | null {
  const id = Number(/^s=(\d+)$/.exec(cookie)?.[1]);
  return id > 0 ? { ...ADA, id, username: String(id) } : null;
}

type Server = Awaited<ReturnType<typeof serverOfLargeAnswers>>;

async function ask(server: Server, path: string, headers: string, method = 'GET'): Promise<RawConnection> {
  const raw = await server.connect();
  raw.socket.pause();
  raw.write(`${method} ${path} HTTP/1.1\r\nHost: h\r\nSec-Fetch-Site: same-origin\r\n${headers}\r\n\r\n`);
  return raw;
}

function untilHandled(server: Server, name: string, count: number): Promise<void> {
  return waitUntil(`${count} of ${name} are handled`, () => server.handledFor(name) === count);
}

/** What was sent before has been handled by then, unless it waits. */
async function othersAreAnswered(server: Server): Promise<void> {
  const before = server.handledFor('somebody');
  for (let n = 1; n <= 3; n++) {
    const other = await ask(server, '/small?as=somebody', 'Cookie: s=99');
    other.socket.resume();
    assert.equal((await other.answer()).status, 200);
  }
  assert.equal(server.handledFor('somebody'), before + 3);
}

for (const [what, path, me, other] of [
  ['an account', '/large', 'Cookie: s=1', 'Cookie: s=2'],
  ['an address', '/large-for-all?as=1', 'X-Forwarded-For: 203.0.113.7', 'X-Forwarded-For: 203.0.113.8'],
] as const) {
  test(`${what} that does not read waits with its next request, others and health do not, until it has read`, async (t) => {
    const server = await serverOfLargeAnswers(t);
    const unread = await ask(server, path, me);
    await untilHandled(server, '1', 1);
    const next = await ask(server, '/small?as=1', me);
    await othersAreAnswered(server);
    assert.equal(server.handledFor('1'), 1, 'it waits');
    for (const [address, headers] of [['/health', me], [path.replace('as=1', 'as=2'), other]] as const) {
      const answered = await ask(server, address, headers);
      answered.socket.resume();
      assert.equal((await answered.answer()).status, 200);
    }
    assert.equal(server.handledFor('1'), 1, 'it still waits');

    unread.socket.resume();
    assert.equal((await unread.answer()).body.length, LARGE.length);
    next.socket.resume();
    assert.equal((await next.answer()).status, 200);
  });
}

test('waiting requests of a client, also writes, begin one after another, each when the client has read the previous answer', async (t) => {
  const server = await serverOfLargeAnswers(t);
  const first = await ask(server, '/large', 'Cookie: s=1');
  await untilHandled(server, '1', 1);
  const waiting = await Promise.all(Array.from({ length: 5 }, () => ask(server, '/large', 'Cookie: s=1')));
  const write = await ask(server, '/small', 'Cookie: s=1\r\nContent-Length: 0', 'POST');
  await othersAreAnswered(server);
  assert.equal(server.handledFor('1'), 1);

  first.socket.resume();
  await untilHandled(server, '1', 2);
  await othersAreAnswered(server);
  assert.equal(server.handledFor('1'), 2, 'the next one is not read yet');
  for (const one of [...waiting, write]) one.socket.resume();
  for (const one of [first, ...waiting]) assert.equal((await one.answer()).status, 200);
  assert.equal((await write.answer()).status, 200);
  assert.equal(server.handledFor('1'), 7);
});

test('a request that waits is dropped when its sender goes, and is nobody’s once the session has ended', async (t) => {
  const server = await serverOfLargeAnswers(t);
  const unread = await ask(server, '/large', 'Cookie: s=1');
  await untilHandled(server, '1', 1);
  const gone = await Promise.all(Array.from({ length: 20 }, () => ask(server, '/large', 'Cookie: s=1')));
  const late = await ask(server, '/large', 'Cookie: s=1');
  await othersAreAnswered(server);
  for (const { socket } of gone) socket.destroy();
  await waitUntil('they are dropped', () => server.observed.filter(({ status }) => status === 499).length === 20);
  server.left.add('s=1');
  unread.socket.destroy();
  late.socket.resume();
  assert.equal((await late.answer()).status, 401);
  assert.equal(server.handledFor('1'), 1);
  assert.deepEqual(server.faults, []);
});

test('a hundred requests of one client may wait, and one more is refused with 503', async (t) => {
  const server = await serverOfLargeAnswers(t);
  await ask(server, '/large', 'Cookie: s=1');
  await untilHandled(server, '1', 1);
  const asked = await Promise.all(Array.from({ length: 101 }, () => ask(server, '/large', 'Cookie: s=1')));
  await waitUntil('one is refused', () => server.observed.some(({ status }) => status === 503));
  await othersAreAnswered(server);
  assert.deepEqual(server.met, ['answers']);
  assert.equal(server.handledFor('1'), 1);
  for (const { socket } of asked) socket.destroy();
  await waitUntil('the others are dropped', () => server.observed.filter(({ status }) => status === 499).length === 100);
});

test('of what all clients leave unread the oldest is cut off, so that nobody else has to wait', async (t) => {
  const server = await serverOfLargeAnswers(t);
  const unread: RawConnection[] = [];
  for (let id = 1; id <= 13; id++) {
    unread.push(await ask(server, '/large', `Cookie: s=${id}`));
    await untilHandled(server, String(id), 1);
  }
  const [oldest, ...others] = unread;
  oldest?.socket.resume();
  await waitUntil('the oldest is cut off', () => oldest?.socket.destroyed === true);
  assert.ok(server.met.length > 0 && server.met.length <= 2, String(server.met)); // heads count too
  await othersAreAnswered(server);
  const newest = others.at(-1);
  newest?.socket.resume();
  assert.equal((await newest?.answer())?.body.length, LARGE.length);
});

test('streams that nobody reads count as they go on, files do not', async (t) => {
  const server = await serverOfLargeAnswers(t);
  for (let n = 0; n < 10; n++) await ask(server, '/file', 'Cookie: s=1');
  await untilHandled(server, '1', 10);
  for (let n = 0; n < 4; n++) await ask(server, '/stream', 'Cookie: s=1');
  await untilHandled(server, '1', 14);
  const [next] = await Promise.all([ask(server, '/small?as=1', 'Cookie: s=1'), othersAreAnswered(server)]);
  await othersAreAnswered(server);
  assert.equal(server.handledFor('1'), 14);
  next.socket.destroy();
});

test('a client that does not read at all is cut after the idle time, and what waited for it begins', async (t) => {
  const server = await serverOfLargeAnswers(t);
  server.server.timeout = 300;
  const unread = await ask(server, '/large', 'Cookie: s=1');
  await untilHandled(server, '1', 1);
  server.server.timeout = 60_000;
  const next = await ask(server, '/small?as=1', 'Cookie: s=1');
  next.socket.resume();
  assert.equal((await next.answer()).status, 200);
  unread.socket.resume();
  await assert.rejects(unread.answer(), /ended/);
});
