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

test('a range that is understood is given as 206, one outside the file is 416, and anything else gives the whole', async (t) => {
  const { hub, path, attachment } = await hubWithText(t);
  const etag = `"${attachment.sha256}"`;
  const cases: [headers: Record<string, string>, status: number, range: string | null, body: string | null][] = [
    [{ range: 'bytes=5-9' }, 206, 'bytes 5-9/20', '56789'], [{ range: 'bytes=15-' }, 206, 'bytes 15-19/20', 'fghij'],
    [{ range: 'bytes=-5' }, 206, 'bytes 15-19/20', 'fghij'], [{ range: 'bytes=20-30' }, 416, 'bytes */20', null],
    [{ range: 'bytes=0-1,3-4' }, 200, null, TEXT], [{ range: `bytes=${'0-0,'.repeat(2_000)}` }, 200, null, TEXT],
    [{ range: 'bytes=2-3', 'if-range': etag }, 206, 'bytes 2-3/20', '23'],
    [{ range: 'bytes=2-3', 'if-range': '"another"' }, 200, null, TEXT],
    [{ range: 'bytes=99-', 'if-range': '"another"' }, 200, null, TEXT], // what does not count cannot be refused
  ];
  for (const [headers, status, range, body] of cases) {
    const served = await getFile(hub, path, { headers });
    assert.deepEqual([served.status, served.headers.get('content-range')], [status, range], JSON.stringify(headers));
    if (body !== null) assert.equal(served.body.toString(), body);
    assert.equal(served.headers.get('cache-control'), status === 416 ? 'no-store' : 'public, max-age=0, must-revalidate');
    assert.match(served.headers.get('content-security-policy') ?? '', status === 416 ? /./ : /sandbox/);
  }
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
