// Protects the hub’s time: a request whose sender has gone is dropped before its handler, and before its page is made.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { connect, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { html } from '../../../src/platform/http/html.ts';
import { HttpError } from '../../../src/platform/http/http-error.ts';
import { json, page, type Reply } from '../../../src/platform/http/reply.ts';
import { route } from '../../../src/platform/http/router.ts';
import { startBareServer } from '../../support/bare-server.ts';
import { waitUntil } from '../../support/wait-until.ts';

const MANY = 1_000;

async function countingServer(t: TestContext) {
  const calls = { handled: 0, rendered: 0 };
  const gate = Promise.withResolvers<void>();
  const counted = (reply: () => Reply | Promise<Reply>) => () => {
    calls.handled++;
    return reply();
  };
  const shown = (): Reply => page({ title: 'A page', main: html`<h1>A page</h1>` });
  const slow = async (reply: Reply): Promise<Reply> => gate.promise.then(() => reply);
  const stream = Readable.from(['one']);
  const fd = openSync(import.meta.filename, 'r');
  const server = await startBareServer(t, {
    routes: [
      route('GET /page', 'public', 'a page', counted(shown)),
      route('GET /kept', 'public', 'a page that is kept', counted(shown), { cached: [] }),
      route('POST /page', 'public', 'a write', counted(() => json({}))),
      route('GET /slow', 'public', 'a page that takes long', counted(() => slow(shown()))),
      route('GET /slow-stream', 'public', 'a stream', counted(() => slow({ status: 200, headers: {}, body: stream }))),
      route('GET /slow-file', 'public', 'a file', counted(() =>
        slow({ status: 200, headers: {}, body: { fd, start: 0, length: 1 } }))),
      route('GET /slow-error', 'public', 'an error', counted(() =>
        gate.promise.then(() => { throw new HttpError(409, 'Not now.'); }))),
      route('GET /health', 'public', 'health', () => json({ handled: calls.handled }), { anyHost: true }),
    ],
    renderPage: ({ main }) => {
      calls.rendered++;
      return main;
    },
  });
  return { ...server, calls, release: gate.resolve, stream, fd };
}

async function openSockets(address: string, count: number): Promise<Socket[]> {
  const { port } = new URL(address);
  return Promise.all(Array.from({ length: count }, async () => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }));
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}

const GET = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: h\r\nAccept: text/html, */*\r\n\r\n`;
const POST = 'POST /page HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}';

for (const [what, request] of [['reads', GET('/page')], ['writes that came whole', POST]] as const) {
  test(`of a thousand ${what} whose senders have gone, nearly all are dropped before their handler`, async (t) => {
    const { address, calls, observed, faults } = await countingServer(t);
    const sockets = await openSockets(address, MANY);
    for (const socket of sockets) {
      socket.write(request);
      socket.destroy();
    }
    await waitUntil('all were seen', () => observed.length === MANY);

    assert.ok(calls.handled < 10, `${calls.handled} were handled`); // those that began before the end was there to read
    assert.ok(calls.rendered < 10, `${calls.rendered} were rendered`);
    assert.equal(observed.filter(({ status }) => status === 499).length, MANY - calls.handled);
    assert.deepEqual(faults, []);
  });
}

test('if a reader disconnects while a handler works, the page is not made, and its stream or file is closed', async (t) => {
  const { address, calls, observed, release, stream, fd, server } = await countingServer(t);
  const sockets = await openSockets(address, 40);
  const others = ['/slow-stream', '/slow-file', '/slow-error'];
  sockets.forEach((socket, index) => socket.write(GET(others[index] ?? '/slow')));
  await waitUntil('all are being handled', () => calls.handled === 40);
  for (const socket of sockets) socket.destroy();
  await waitUntil('the server knows', async () => (await connectionsOf(server)) === 0);
  release();
  await waitUntil('all were dropped', () => observed.length === 40);

  assert.deepEqual(observed.map(({ status }) => status).sort(), [409, ...Array(39).fill(499)]);
  assert.equal(calls.rendered, 0);
  assert.ok(stream.destroyed);
  assert.throws(() => closeSync(fd), { code: 'EBADF' });
});

test('requests that come together take turns: each is answered, health before all of them, a kept page is made once', async (t) => {
  const { address, connect: open, calls, observed, server } = await countingServer(t);
  const sockets = await openSockets(address, 200);
  const health = await open();
  await waitUntil('all are accepted', async () => (await connectionsOf(server)) === 201);
  for (const socket of sockets) socket.write(GET('/page'));
  health.write(GET('/health'));
  const { handled } = JSON.parse((await health.answer()).body) as { handled: number };
  assert.ok(handled < 100, `health waited for ${handled} others`);
  await waitUntil('all are answered', () => observed.filter(({ path }) => path === '/page').length === 200);
  assert.equal(calls.handled, 200);
  for (const socket of sockets) socket.write(GET('/kept'));
  await waitUntil('all are answered', () => observed.filter(({ path }) => path === '/kept').length === 200);
  assert.equal(calls.handled, 201);
});
