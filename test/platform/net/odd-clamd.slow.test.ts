// Protects the verdict on a file from a clamd that answers oddly, late or not at all: never clean by mistake.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { createClamdClient, type ClamdAddress } from '../../../src/platform/net/clamd-client.ts';
import { fileIn, onWholeStream } from '../../support/clamd.ts';
import { assertNotScanned, healthOf, startBridge } from '../../support/clamd-bridge.ts';
import { rawReply, startRawOrigin } from '../../support/origin.ts';
import { rawConnection } from '../../support/raw-exchange.ts';
import { waitUntil } from '../../support/wait-until.ts';

const MIB = 1024 * 1024;
const CLEAN = { clean: true };
const HEADERS = 'POST /scan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n';

const at = (port: number): { address: ClamdAddress } => ({ address: { host: '127.0.0.1', port } });

for (const [title, answer, reason] of [
  ['an error', 'stream: Can\'t allocate memory ERROR\0', /^clamd answered "stream: Can't allocate memory ERROR"$/],
  ['an unknown command', 'UNKNOWN COMMAND\0', /^clamd answered "UNKNOWN COMMAND"$/],
  ['nothing before the NUL', '\0', /^clamd answered ""$/],
  ['OK for another stream', 'file: OK\0', /^clamd answered "file: OK"$/],
  ['OK in another case', 'stream: ok\0', /^clamd answered/],
  ['OK and more', 'stream: OK \0', /^clamd answered/],
  ['a find without a name', 'stream:  FOUND\0', /^clamd answered/],
  ['two answers', 'stream: OK\0stream: X FOUND\0', /^clamd answered/],
  ['OK that is cut before the NUL', 'stream: OK', /^clamd closed the connection without an answer$/],
  ['OK with a line end', 'stream: OK\n', /^clamd closed the connection without an answer$/],
  ['nothing', '', /^clamd closed the connection without an answer$/],
  ['an answer without end', 'stream: '.repeat(10_000), /^clamd answered "stream: .{180,200}"$/],
  ['a limit', 'stream: Heuristics.Limits.Exceeded.MaxScanTime FOUND\0', /^clamd did not scan the whole file/],
] as const) {
  test(`not scanned: clamd answers with ${title}`, async (t) => {
    const { port } = await startRawOrigin(t, (socket) => onWholeStream(socket, () => void socket.end(answer)));
    const { post, log } = await startBridge(t, at(port));

    assertNotScanned(await post('Barn owls hunt at night.'), reason);
    assert.match(log(), /"level":"warn".*"event":"refused","path":"\/scan","status":503,"reason":"clamd /);
  });
}

for (const [title, answer, signature] of [
  ['a name', 'stream: Win.Test.EICAR_HDB-1 FOUND\0', 'Win.Test.EICAR_HDB-1'],
  ['a name with hash and size', 'stream: Eicar(44d88612fea8a8f36de82e1278abb02f:68) FOUND\0', 'Eicar'],
] as const) {
  test(`infected: clamd answers with ${title}`, async (t) => {
    const { port } = await startRawOrigin(t, (socket) => onWholeStream(socket, () => void socket.end(answer)));
    const { post } = await startBridge(t, at(port));
    assert.deepEqual((await post('x')).body, { clean: false, signature });
  });
}

test('an answer that comes piece by piece is put together', async (t) => {
  const { port } = await startRawOrigin(t, (socket) => {
    socket.setNoDelay();
    onWholeStream(socket, () => {
      [...'stream: OK\0'].forEach((letter, index) => setTimeout(() => socket.write(letter), index));
    });
  });
  const { post } = await startBridge(t, at(port));
  assert.deepEqual((await post('x')).body, CLEAN);
});

test('OK from a clamd that has not had the whole file is not believed', async (t) => {
  const { port } = await startRawOrigin(t, rawReply('stream: OK\0', { end: false }));
  const { post } = await startBridge(t, { ...at(port), maxBytes: 64 * MIB });
  assertNotScanned(await post(Buffer.alloc(64 * MIB)), /^clamd answered "stream: OK" before it had the whole file$/);
});

test('a clamd that says nothing, or takes nothing, is given up after its limit', async (t) => {
  const silent = await startRawOrigin(t, (socket) => void socket.resume());
  const limits = { idleMs: 200, answerMs: 300, maxBytes: 64 * MIB };
  const first = await startBridge(t, { ...at(silent.port), ...limits });
  assertNotScanned(await first.post('x'), /^clamd gave no verdict within 0\.3 s$/);
  assert.equal(await healthOf(first), 503);

  const stuck = await startRawOrigin(t, (socket) => void socket.pause());
  const second = await startBridge(t, { ...at(stuck.port), ...limits });
  assertNotScanned(await second.post(Buffer.alloc(64 * MIB)), /^clamd took no bytes within 0\.2 s$/);
});

test('the bridge takes bytes no faster than clamd does', async (t) => {
  const sockets: Socket[] = [];
  const { port } = await startRawOrigin(t, (socket) => void sockets.push(socket.pause()));
  const { post } = await startBridge(t, { ...at(port), maxBytes: 1024 * MIB, idleMs: 60_000 });
  let sent = 0;
  const chunk = Buffer.alloc(MIB);
  const upload = post(ReadableStream.from((async function* () {
    for (; sent < 512; sent += 1) yield chunk;
  })())).catch(() => undefined);

  let seen = -1;
  let still = 0;
  await waitUntil('the upload stands still', () => {
    still = sent > 0 && sent === seen ? still + 1 : 0;
    seen = sent;
    return still > 100;
  });
  assert.ok(sent < 64, `the bridge and four socket buffers hold ${sent} MiB`);
  for (const socket of sockets) socket.destroy();
  await upload;
});

test('a client that goes away ends the scan, and clamd never sees the end of its file', async (t) => {
  const received: Buffer[] = [];
  let closed = 0;
  const { port } = await startRawOrigin(t, (socket) => {
    socket.on('data', (chunk: Buffer) => void received.push(chunk)).once('close', () => (closed += 1));
  });
  const bridge = await startBridge(t, at(port));
  const half = await rawConnection(bridge.url);
  half.write(`${HEADERS}Content-Length: 1000\r\n\r\nhalf`);
  await waitUntil('clamd has the half', () => Buffer.concat(received).includes('half'));
  half.socket.destroy();

  await waitUntil('clamd is left', () => closed === 1);
  assert.equal(fileIn(Buffer.concat(received)), undefined);
  const whole = await rawConnection(bridge.url);
  whole.write(`${HEADERS}Content-Length: 5\r\n\r\nwhole`);
  await waitUntil('clamd has the whole', () => Buffer.concat(received).includes('whole'));
  whole.socket.destroy();
  await waitUntil('clamd is left again', () => closed === 2);
  assert.match(bridge.log(), /client disconnected.*\n.*client disconnected/);
});

test('a body that is malformed half-way has no verdict', async (t) => {
  const received: Buffer[] = [];
  const { port } = await startRawOrigin(t, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      if (fileIn(Buffer.concat(received))) socket.end('stream: OK\0');
    });
  });
  const { url } = await startBridge(t, at(port));
  const connection = await rawConnection(url);
  connection.write(`${HEADERS}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n`);

  assert.deepEqual(await connection.answer(), { status: 400, headers: new Map([['connection', 'close']]), body: '' });
  await connection.ended();
  assert.equal(fileIn(Buffer.concat(received)), undefined);
});

test('only the bare bytes of a file are scanned, and only by POST to /scan', async (t) => {
  const { port } = await startRawOrigin(t, (socket) => onWholeStream(socket, () => void socket.end('stream: OK\0')));
  const { url, post } = await startBridge(t, at(port));

  assert.equal((await post('x', { 'content-type': 'multipart/form-data; boundary=x' })).status, 415);
  assert.equal((await post('x', { 'content-type': 'text/plain' })).status, 415);
  assert.equal((await post('x', { 'content-encoding': 'gzip' })).status, 415);
  assert.deepEqual((await post('x', { 'content-type': 'Application/Octet-Stream; x=y' })).body, CLEAN);
  const get = await fetch(`${url}/scan`);
  assert.deepEqual([get.status, get.headers.get('allow'), get.headers.get('connection')], [405, 'POST', 'close']);
  assert.equal((await fetch(`${url}/`, { method: 'POST', body: 'x' })).status, 404);
  assert.equal((await fetch(`${url}/constructor`)).status, 404);
});

test('a file declared too large is refused without asking clamd, also when the client sends all of it', async (t) => {
  const clamd = await startRawOrigin(t, () => {});
  const { url } = await startBridge(t, at(clamd.port));
  const { socket, write, answer } = await rawConnection(url);
  socket.pause();
  const size = 32 * MIB;
  write(`${HEADERS}Content-Length: ${size}\r\n\r\n`);
  write(Buffer.alloc(size));
  await once(socket, 'drain');
  socket.resume();

  const { status, body } = await answer();
  assert.equal(status, 503);
  assert.match(body, /larger than the scan limit of 1048576 bytes/);
  assert.equal(clamd.connections(), 0);
});

test('a chunk without bytes does not end the stream', async (t) => {
  const { promise: file, resolve } = Promise.withResolvers<Buffer>();
  const { port } = await startRawOrigin(t, (socket) => onWholeStream(socket, (whole) => {
    resolve(whole);
    socket.end('stream: OK\0');
  }));
  const clamd = createClamdClient({ ...at(port), maxBytes: 100 });
  const chunks = ReadableStream.from(['barn ', '', 'owls'].map((text) => Buffer.from(text)));

  assert.deepEqual(await clamd.scan(chunks, AbortSignal.timeout(10_000)), CLEAN);
  assert.equal(String(await file), 'barn owls');
});
