// Protects the hub's time and memory from slow, endless, packed or broken answers of other servers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import zlib from 'node:zlib';
import { parseCidrs } from '../../../src/platform/net/address-guard.ts';
import { createOutboundFetch, OutboundError, type OutboundOptions } from '../../../src/platform/net/outbound-fetch.ts';
import { rawReply, reply, startOrigin, startRawOrigin } from '../../support/origin.ts';
import { failure } from '../../support/outbound.ts';

const MIB = 1024 * 1024;
const OK = 'HTTP/1.1 200 OK\r\n';

function fetchWith(limits: Partial<OutboundOptions> = {}) {
  return createOutboundFetch({ userAgent: 'Hub/1', allow: parseCidrs('127.0.0.1'), totalMs: 5_000, ...limits });
}

test('a server that never answers is left after the header limit', async (t) => {
  const origin = await startRawOrigin(t, () => {});

  const error = await failure(fetchWith({ headerMs: 100 })({ url: origin.url, maxBytes: 9 }));
  assert.equal(error.reason, 'timeout');
  assert.match(error.message, /did not begin to answer within 0\.1 s$/);
});

test('headers that trickle in, or informational answers without end, do not stretch the header limit', async (t) => {
  for (const piece of ['X-A: b\r\n', 'HTTP/1.1 103 Early Hints\r\n\r\n']) {
    const origin = await startRawOrigin(t, (socket) => {
      if (piece.startsWith('X')) socket.write(OK);
      drip(socket, piece);
    });
    assert.equal((await failure(fetchWith({ headerMs: 200 })({ url: origin.url, maxBytes: 9 }))).reason, 'timeout');
  }
});

test('a body that stalls is cut after the idle limit', async (t) => {
  for (const length of ['Content-Length: 9\r\n', '']) {
    const origin = await startRawOrigin(t, rawReply(`${OK}${length}\r\nabc`, { end: false }));
    const error = await failure(fetchWith({ idleMs: 100 })({ url: origin.url, maxBytes: 9 }));
    assert.equal(error.reason, 'idle');
    assert.doesNotMatch(error.message, /abc/);
  }
});

test('a body that trickles within the idle limit is cut at the deadline', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.write(`${OK}\r\n`);
    drip(socket, 'x');
  });

  const error = await failure(fetchWith({ totalMs: 600, idleMs: 400 })({ url: origin.url, maxBytes: MIB }));
  assert.equal(error.reason, 'timeout');
  assert.match(error.message, /did not finish answering within 0\.6 s$/);
});

test('the deadline covers a chain of slow redirects', async (t) => {
  const origin = await startOrigin(t, ({ path }, response) => {
    setTimeout(() => response.writeHead(302, { location: `${path}x` }).end(), 120);
  });

  assert.equal((await failure(fetchWith({ totalMs: 300 })({ url: origin.url, maxBytes: 9 }))).reason, 'timeout');
  assert.ok(origin.requests.length <= 3);
});

test('a body of exactly the limit is taken, one byte more is not, however its length is given', async (t) => {
  const body = Buffer.alloc(1000, 'x');
  const framings = [
    `${OK}Content-Length: 1000\r\n\r\n${body}`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n3e8\r\n${body}\r\n0\r\n\r\n`,
    `${OK}\r\n${body}`,
  ];
  for (const bytes of framings) {
    const origin = await startRawOrigin(t, rawReply(bytes));
    assert.deepEqual((await fetchWith()({ url: origin.url, maxBytes: 1000 })).body, body);
    assert.equal((await failure(fetchWith()({ url: origin.url, maxBytes: 999 }))).reason, 'too-large');
  }
});

test('a declared length above the limit is refused without waiting for the body', async (t) => {
  const origin = await startRawOrigin(t, rawReply(`${OK}Content-Length: 1000\r\n\r\n`, { end: false }));

  assert.equal((await failure(fetchWith()({ url: origin.url, maxBytes: 999 }))).reason, 'too-large');
});

const CODINGS: [coding: string, pack: (body: Buffer) => Buffer][] = [
  ['gzip', zlib.gzipSync], ['X-GZip', zlib.gzipSync], ['br', zlib.brotliCompressSync], ['zstd', zlib.zstdCompressSync],
  ['deflate', zlib.deflateSync], ['deflate', zlib.deflateRawSync], ['identity', (body) => body], ['', (body) => body],
];

test('each content encoding is decoded, and the size of an answer is limited both encoded and decoded', async (t) => {
  const body = Buffer.from('<item>text</item>'.repeat(500));
  for (const [coding, pack] of CODINGS) {
    const packed = pack(body);
    const origin = await startOrigin(t, reply(200, { 'content-encoding': coding }, packed));
    assert.deepEqual((await fetchWith()({ url: origin.url, maxBytes: body.length })).body, body, coding);
    for (const maxBytes of [body.length - 1, packed.length - 1]) {
      assert.equal((await failure(fetchWith()({ url: origin.url, maxBytes }))).reason, 'too-large', coding);
    }
  }
});

test('packed answers that are cut short or are something else are damaged answers', async (t) => {
  for (const [coding, pack] of CODINGS.slice(0, -2)) {
    const packed = pack(Buffer.from('<item>text</item>'.repeat(500)));
    for (const body of [packed.subarray(0, -3), packed.subarray(0, 1), Buffer.from('<rss>plain</rss>')]) {
      const origin = await startOrigin(t, reply(200, { 'content-encoding': coding }, body));
      const error = await failure(fetchWith()({ url: origin.url, maxBytes: MIB }));
      assert.equal(error.reason, 'bad-response', coding);
      assert.match(error.message, /damaged or incomplete$/);
    }
  }
});

test('an unknown or stacked packing is refused, an empty body needs no unpacking', async (t) => {
  for (const coding of ['compress', 'gzip, gzip', 'constructor', '__proto__']) {
    const origin = await startOrigin(t, reply(200, { 'content-encoding': coding }, 'x'));
    assert.equal((await failure(fetchWith()({ url: origin.url, maxBytes: 9 }))).reason, 'bad-response', coding);
  }
  const origin = await startOrigin(t, reply(200, { 'content-encoding': 'gzip' }));
  assert.equal((await fetchWith()({ url: origin.url, maxBytes: 9 })).body.length, 0);
});

test('a body that is a gzip file is unpacked where the caller wants that, and names of no packing count as none', async (t) => {
  const file = await startOrigin(t, reply(200, { 'content-encoding': 'none' }, zlib.gzipSync('whole')));
  const bomb = await startOrigin(t, reply(200, {}, zlib.gzipSync(Buffer.alloc(2 * MIB))));

  assert.equal(String((await fetchWith()({ url: file.url, maxBytes: 99, gunzip: true })).body), 'whole');
  assert.deepEqual((await fetchWith()({ url: file.url, maxBytes: 99 })).body, zlib.gzipSync('whole'));
  assert.equal((await failure(fetchWith()({ url: bomb.url, maxBytes: MIB, gunzip: true }))).reason, 'too-large');
});

test('bombs are cut while they unpack, with little memory', async (t) => {
  const bombs: [coding: string, bomb: Buffer][] = [
    ['br', await packZeros(zlib.createBrotliCompress(), 50)],
    ['gzip', await packZeros(zlib.createGzip(), 50)],
    ['zstd', await packZeros(zlib.createZstdCompress(), 50)],
  ];
  assert.ok(bombs[0]![1].length < 200, 'the brotli bomb is tiny');

  for (const [coding, bomb] of bombs) {
    const origin = await startOrigin(t, reply(200, { 'content-encoding': coding }, bomb));
    const before = process.resourceUsage().maxRSS; // KiB, and never falls
    assert.equal((await failure(fetchWith()({ url: origin.url, maxBytes: MIB }))).reason, 'too-large', coding);
    assert.ok(process.resourceUsage().maxRSS - before < 24 * 1024, coding);
  }
});

test('a zstd answer that wants a window above 8 MiB is refused', async (t) => {
  const params = { [zlib.constants.ZSTD_c_windowLog]: 27 };
  const packed = await packZeros(zlib.createZstdCompress({ params }), 1);
  const origin = await startOrigin(t, reply(200, { 'content-encoding': 'zstd' }, packed));

  assert.equal((await failure(fetchWith()({ url: origin.url, maxBytes: 2 * MIB }))).reason, 'bad-response');
});

test('answers that are not proper HTTP or break off are bad responses without their text', async (t) => {
  const answers = [
    '', 'garbage hush\r\n\r\n', 'SSH-2.0-hush\r\n', 'HTTP/1.1 hush\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: hush\r\nConnection: Upgrade\r\n\r\n',
    'HTTP/1.1 103 Early Hints\r\n\r\n',
    `${OK}X: hush`, `${OK}X: hush\rY: hush\r\r`, 'ICY 200 hush\r\n\r\n', '<rss>hush</rss>',
    `${OK}Content-Length: 99\r\n\r\nhush`, `${OK}Content-Length: x\r\n\r\nhush`,
    `${OK}Content-Length: 4\r\nContent-Length: 5\r\n\r\nhush!`,
    `${OK}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nhush`,
    `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nhush`, `${OK}Transfer-Encoding: chunked\r\n\r\n9\r\nhush`,
    `${OK}X: ${'hush'.repeat(70_000)}\r\n\r\n`, `${OK}${'X: hush\r\n'.repeat(100_000)}\r\n`,
  ];
  for (const bytes of answers) {
    const origin = await startRawOrigin(t, rawReply(bytes));
    const error = await failure(fetchWith()({ url: `${origin.url}/?hush`, maxBytes: MIB }));
    assert.equal(error.reason, 'bad-response', bytes.slice(0, 70));
    assert.doesNotMatch(error.message, /hush/);
  }
});

test('a connection that is reset in the middle of a body of no declared length is not its end', async (t) => {
  const origin = await startRawOrigin(t, (socket) => {
    socket.write(`${OK}\r\nabc`);
    setTimeout(() => socket.resetAndDestroy(), 30);
  });

  assert.equal((await failure(fetchWith()({ url: origin.url, maxBytes: 9 }))).reason, 'bad-response');
});

test('neither informational answers before an answer nor bytes after its declared length are part of it', async (t) => {
  const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
  for (const bytes of [`${OK}Content-Length: 4\r\n\r\nbody${OK}\r\nmore`, `${early}${OK}\r\nbody`]) {
    const origin = await startRawOrigin(t, rawReply(bytes));
    assert.equal((await fetchWith()({ url: origin.url, maxBytes: MIB })).body.toString(), 'body');
  }
});

test('an answer of failure keeps its status and headers whatever its body is', async (t) => {
  const headers = { 'retry-after': '60', 'content-encoding': 'compress', 'content-length': '99999' };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('');
  for (const status of [304, 404, 410, 429, 500, 503]) {
    const origin = await startRawOrigin(t, rawReply(`HTTP/1.1 ${status} Status\r\n${head}\r\n`, { end: false }));
    const response = await fetchWith()({ url: origin.url, maxBytes: 9 });
    assert.deepEqual([response.status, response.headers['retry-after'], response.body.length], [status, '60', 0]);
  }
});

test('a caller can call a fetch off before it starts, while it waits and while it reads', async (t) => {
  const silent = await startRawOrigin(t, () => {});
  const stalled = await startRawOrigin(t, rawReply(`${OK}\r\nabc`, { end: false }));

  const before = await failure(fetchWith()({ url: silent.url, maxBytes: 9, signal: AbortSignal.abort() }));
  assert.equal(before.reason, 'aborted');
  assert.equal(silent.connections(), 0);
  for (const { url } of [silent, stalled]) {
    const error = await failure(fetchWith()({ url, maxBytes: 9, signal: AbortSignal.timeout(100) }));
    assert.equal(error.reason, 'aborted');
  }
  const fetch = fetchWith({ lookup: () => {} });
  const unresolved = await failure(fetch({ url: 'http://slow.example', maxBytes: 9, signal: AbortSignal.timeout(50) }));
  assert.equal(unresolved.reason, 'aborted');
});

function drip(socket: import('node:net').Socket, piece: string): void {
  const timer = setInterval(() => socket.write(piece), 20);
  socket.on('close', () => clearInterval(timer));
}

async function packZeros(packer: import('node:stream').Transform, mebibytes: number): Promise<Buffer> {
  const block = Buffer.alloc(MIB);
  const feed = async () => {
    for (let sent = 0; sent < mebibytes; sent += 1) await new Promise((resolve) => packer.write(block, resolve));
    packer.end();
  };
  const [chunks] = await Promise.all([packer.toArray(), feed()]);
  return Buffer.concat(chunks);
}

test('a large body waits for its turn, as it comes or unpacked, and the wait does not count as time of the fetch', async (t) => {
  const body = Buffer.alloc(3 * MIB, 'x');
  const gzip = { 'content-encoding': 'gzip' };
  const origin = await startOrigin(t, {
    '/large': reply(200, {}, body), '/packed': reply(200, gzip, zlib.gzipSync(body)), '/small': reply(200, {}, 'small'),
  });
  const fetch = fetchWith({ totalMs: 1_000, idleMs: 1_000 });
  let waits = 0;
  const turn = async () => (waits++, sleep(1_200));
  const get = (path: string) => fetch({ url: origin.url + path, maxBytes: 4 * MIB, large: { bytes: MIB, turn } });

  assert.equal((await get('/small')).body.length, 5);
  assert.equal(waits, 0);
  for (const [n, path] of ['/large', '/packed'].entries()) {
    assert.equal((await get(path)).body.length, body.length, path);
    assert.equal(waits, n + 1);
  }
  const never = { bytes: MIB, turn: () => Promise.reject(new OutboundError('aborted', 'over')) };
  assert.equal((await failure(fetch({ url: `${origin.url}/large`, maxBytes: 4 * MIB, large: never }))).message, 'over');
});

test('whoever wants no more of a body gets no more: the rest is neither unpacked nor received', async (t) => {
  const noise = Buffer.from(Array.from({ length: 200_000 }, (_, n) => `${n} `).join(''));
  for (const [coding, pack] of CODINGS) {
    const packed = pack(Buffer.concat([noise, Buffer.alloc(4 * MIB)]));
    const isDone = Promise.withResolvers<void>();
    const origin = await startOrigin(t, (_request, response) => {
      response.writeHead(200, { 'content-encoding': coding }).write(packed.subarray(0, -1)); // and never ends
      response.on('close', isDone.resolve);
    });
    let taken = 0;
    const take = (piece: Buffer) => (taken += piece.length) < 100_000;

    assert.equal((await fetchWith()({ url: origin.url, maxBytes: 2 * MIB, take })).body.length, 0, coding);
    assert.ok(taken >= 100_000 && taken < 200_000, `${coding}: ${taken} bytes`);
    await isDone.promise;
  }
});

test('what is taken piece by piece is the whole body, within the same limits', async (t) => {
  const body = Buffer.from('<item>text</item>'.repeat(50_000));
  for (const [coding, pack] of CODINGS) {
    const origin = await startOrigin(t, reply(200, { 'content-encoding': coding }, pack(body)));
    const pieces: Buffer[] = [];
    const take = (piece: Buffer) => pieces.push(piece) > 0;
    await fetchWith()({ url: origin.url, maxBytes: body.length, take });
    assert.deepEqual(Buffer.concat(pieces), body, coding);
    assert.equal((await failure(fetchWith()({ url: origin.url, maxBytes: body.length - 1, take }))).reason, 'too-large');
  }
});

test('packed answers that come byte by byte, in several parts or with zeros behind, are unpacked', async (t) => {
  const body = Buffer.from('some text of a feed');
  for (const [coding, pack] of CODINGS.slice(0, -2)) {
    const packed = pack(body);
    const origin = await startOrigin(t, async (_request, response) => {
      response.writeHead(200, { 'content-encoding': coding });
      for (const byte of packed) await new Promise((resolve) => response.write(Buffer.of(byte), resolve));
      response.end();
    });
    assert.deepEqual((await fetchWith()({ url: origin.url, maxBytes: MIB })).body, body, coding);
  }
  const gzip = { 'content-encoding': 'gzip' };
  const twice = await startOrigin(t, reply(200, gzip, Buffer.concat([zlib.gzipSync(body), zlib.gzipSync(body)])));
  assert.equal((await fetchWith()({ url: twice.url, maxBytes: MIB })).body.toString(), `${body}${body}`);
  const behind = await startOrigin(t, reply(200, gzip, Buffer.concat([zlib.gzipSync(body), Buffer.alloc(MIB / 2)])));
  assert.deepEqual((await fetchWith()({ url: behind.url, maxBytes: MIB })).body, body);
});
