// Protects parts of files: exact bytes for every range, and no file left open.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { attachOne, getFile, hubWithOwnPosts } from '../../support/own-posts.ts';
import { rawConnection } from '../../support/raw-exchange.ts';
import { openFilesIn } from '../../support/uploads.ts';
import { waitUntil } from '../../support/wait-until.ts';

const TEXT = '0123456789abcdefghij';

async function hubWithText(t: TestContext, content = TEXT) {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  return { hub, ...await attachOne(hub, ada, sourceId, 'a.txt', content) };
}

test('one range is given as 206: from and to, open at its end, and from the end', async (t) => {
  const { hub, path } = await hubWithText(t);
  const cases: [range: string, start: number, end: number][] = [
    ['bytes=0-0', 0, 0], ['bytes=0-4', 0, 4], ['bytes=5-9', 5, 9], ['bytes=19-19', 19, 19], ['bytes=0-19', 0, 19],
    ['bytes=15-', 15, 19], ['bytes=0-', 0, 19], ['bytes=10-9999', 10, 19], ['bytes=-1', 19, 19], ['bytes=-5', 15, 19],
    ['bytes=-9999', 0, 19], ['BYTES=2-3', 2, 3], ['bytes= 2-3 ', 2, 3], ['bytes=2-3,', 2, 3], ['bytes=002-003', 2, 3],
    ['bytes=3-99999999999999999999999', 3, 19],
  ];
  for (const [range, start, end] of cases) {
    const served = await getFile(hub, path, { headers: { range } });
    assert.equal(served.status, 206, range);
    assert.equal(served.headers.get('content-range'), `bytes ${start}-${end}/${TEXT.length}`, range);
    assert.equal(served.headers.get('content-length'), String(end - start + 1));
    assert.equal(served.body.toString(), TEXT.slice(start, end + 1), range);
    assert.match(served.headers.get('content-security-policy') ?? '', /sandbox/);
    assert.match(served.headers.get('cache-control') ?? '', /^public, max-age=0, must-revalidate$/);
  }
});

test('a range outside the file is 416 with the length of the file', async (t) => {
  const { hub, path } = await hubWithText(t);

  for (const range of ['bytes=20-', 'bytes=20-30', 'bytes=99999999999999999999-', 'bytes=-0']) {
    const served = await getFile(hub, path, { headers: { range } });
    assert.equal(served.status, 416, range);
    assert.equal(served.headers.get('content-range'), 'bytes */20');
    assert.equal(served.headers.get('cache-control'), 'no-store');
  }
});

test('several ranges, another unit and garbage give the whole file, as if no range had been asked for', async (t) => {
  const { hub, path } = await hubWithText(t);

  for (const range of [
    'bytes=0-1,3-4', 'bytes=0-1, 0-1, 0-1', 'lines=1-2', 'bytes', 'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=5-2', '0-5',
    'bytes=1.5-3', 'bytes=-1-2', 'bytes=0x1-0x3', 'bytes=1-2;3', 'bytes 0-5', 'bytes=,', 'bytes=1-+2',
    `bytes=${'0-0,'.repeat(2_000)}`,
  ]) {
    const served = await getFile(hub, path, { headers: { range } });
    assert.equal(served.status, 200, range);
    assert.equal(served.headers.get('content-range'), null);
    assert.equal(served.body.toString(), TEXT, range);
  }
});

test('a range counts only for the very file that the client began with', async (t) => {
  const { hub, path, attachment } = await hubWithText(t);
  const etag = `"${attachment.sha256}"`;
  const cases: [ifRange: string, status: number][] = [
    [etag, 206], [`W/${etag}`, 200], ['"another"', 200], ['Tue, 15 Jan 2030 12:00:00 GMT', 200], ['', 200], ['*', 200],
  ];
  for (const [ifRange, status] of cases) {
    const served = await getFile(hub, path, { headers: { range: 'bytes=2-3', 'if-range': ifRange } });
    assert.equal(served.status, status, ifRange);
    assert.equal(served.body.toString(), status === 206 ? '23' : TEXT);
  }
  const outside = await getFile(hub, path, { headers: { range: 'bytes=99-', 'if-range': '"another"' } });
  assert.equal(outside.status, 200, 'what does not count cannot be refused');
});

test('the parts of a large file, put together, are the file', async (t) => {
  const content = Array.from({ length: 200_000 }, (_, n) => `line ${n}\n`).join('');
  const { hub, path } = await hubWithText(t, content);

  const pieces = [];
  for (let at = 0; at < content.length; at += 700_001) {
    pieces.push((await getFile(hub, path, { headers: { range: `bytes=${at}-${at + 700_000}` } })).body);
  }
  assert.ok(pieces.length > 3);
  assert.equal(Buffer.concat(pieces).toString(), content);
});

test('clients that stop reading half-way or never begin leave no file open, nor do refused and empty answers', async (t) => {
  const { hub, path, attachment } = await hubWithText(t, 'x'.repeat(20_000_000));
  const warnings: string[] = [];
  const note = ({ message }: Error) => void warnings.push(message); // of files that only the garbage collector closed
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  const get = (extra = '', method = 'GET') => `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${extra}\r\n`;

  const readers = await Promise.all(Array.from({ length: 20 }, () => rawConnection(hub.address)));
  for (const { socket, write } of readers) {
    socket.pause();
    write(get());
  }
  await waitUntil('all are being served', () => openFilesIn(hub.dataDir).length === readers.length);
  for (const { socket } of readers) socket.destroy();
  await waitUntil('all files are closed again', () => openFilesIn(hub.dataDir).length === 0);

  for (const request of [
    get('', 'HEAD'), get('Range: bytes=99999999999-\r\n'), get('Range: bytes=0-0\r\n', 'HEAD'),
    get(`If-None-Match: "${attachment.sha256}"\r\n`),
  ]) {
    const { socket, write } = await rawConnection(hub.address);
    socket.resume();
    write(request);
    await waitUntil('there is an answer', () => socket.bytesRead > 0);
    socket.destroy();
  }
  const hasty = await Promise.all(Array.from({ length: 50 }, () => rawConnection(hub.address)));
  for (const { socket, write } of hasty) {
    write(get());
    socket.resetAndDestroy();
  }
  await getFile(hub, path, { headers: { range: 'bytes=0-0' } });
  await waitUntil('no file is open', () => openFilesIn(hub.dataDir).length === 0);
  assert.deepEqual(warnings, []);
  assert.equal(hub.logged().some(({ level }) => level === 'error'), false);
});
