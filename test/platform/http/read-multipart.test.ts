// Protects the reading of forms from a request: in order, within limits, no faster than they are taken.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import type { MultipartLimits } from '../../../src/platform/http/read-multipart.ts';
import {
  CONTENT_TYPE, fieldForm, fileForm, keepFiles, openRequest, send, startFormServer,
} from '../../support/form-server.ts';
import { BOUNDARY, fieldHeaders, fileHeaders, writeForm } from '../../support/multipart.ts';
import { rawConnection } from '../../support/raw-exchange.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

test('a form as a fetch client sends it arrives with its fields and files in order', async (t) => {
  const { files, onFile } = keepFiles();
  const { address, outcomes } = await startFormServer(t, onFile);
  const bytes = Buffer.alloc(3 * MEBIBYTE, 'CRLF\r\n--');
  const form = new FormData();
  form.append('tag', 'one');
  form.append('attachments', new File([bytes], 'ein "Bild".png', { type: 'image/png' }));
  form.append('tag', 'zwölf\r\n\u{1f600}');
  form.append('attachments', new File([], 'empty.txt', { type: 'text/plain' }));
  form.append('__proto__', '');

  const answer = await fetch(address, { method: 'POST', body: form });

  assert.equal(answer.status, 200);
  assert.deepEqual(outcomes, [{ fields: new Map([['tag', ['one', 'zwölf\r\n\u{1f600}']], ['__proto__', ['']]]) }]);
  assert.deepEqual(files, [
    { field: 'attachments', filename: 'ein "Bild".png', declaredType: 'image/png', data: bytes },
    { field: 'attachments', filename: 'empty.txt', declaredType: 'text/plain', data: Buffer.alloc(0) },
  ]);
});

test('a file input left empty is no file, one with bytes and no name is', async (t) => {
  const { files, onFile } = keepFiles();
  const { address } = await startFormServer(t, onFile, { files: 1 });
  const body = writeForm([
    { headers: fileHeaders('a', '') }, { headers: fileHeaders('b', ''), data: 'x' }, { headers: fileHeaders('c', '') },
  ]);

  assert.equal((await send(address, body)).status, 200);
  assert.deepEqual(files.map(({ field, data }) => [field, data.toString()]), [['b', 'x']]);
});

test('what is not one multipart form is refused before any of it is read', async (t) => {
  const { address, outcomes } = await startFormServer(t, () => assert.fail('no file was sent'));
  assert.equal((await send(address, Buffer.from('{}'), 'application/json')).status, 415);
  assert.equal((await send(address, fieldForm('x'), 'multipart/form-data')).status, 400);
  assert.equal((await send(address, fieldForm('x'), `multipart/form-data; boundary=${'b'.repeat(256)}`)).status, 400);

  const twice = await openRequest(t, address, 10, 'Content-Type: multipart/form-data; boundary=other\r\n');
  assert.equal((await twice.answer()).status, 400);
  assert.equal(outcomes.length, 4);
});

test('a body whose length is over the limit is refused before it is sent', async (t) => {
  const { address } = await startFormServer(t, () => assert.fail('no file was sent'), { bytes: 1000 });
  const connection = await openRequest(t, address, 1001);
  const { status, body } = await connection.answer();
  assert.deepEqual([status, JSON.parse(body).detail], [413, 'The body may have at most 1000 bytes.']);
});

test('each limit admits what is just within it and refuses one more', async (t) => {
  const cases: [Partial<MultipartLimits>, Buffer, Buffer][] = [
    [{ fileBytes: 1000 }, fileForm('x'.repeat(1000)), fileForm('x'.repeat(1001))],
    [{ files: 2 }, fileForm('x', 2), fileForm('x', 3)],
    [{ fields: 2 }, fieldForm('x', 'x'), fieldForm('x', 'x', 'x')],
    [{ fieldBytes: 10 }, fieldForm('12345', '漢12'), fieldForm('12345', '漢123')],
    [{ bytes: fieldForm('x').length }, fieldForm('x'), fieldForm('xx')],
    [{ bytes: fieldForm('x').length }, fieldForm('x'), Buffer.concat([fieldForm('x'), Buffer.from('\n')])],
  ];
  for (const [limits, within, beyond] of cases) {
    const { onFile } = keepFiles();
    const { address, outcomes } = await startFormServer(t, onFile, limits);
    assert.equal((await send(address, within)).status, 200, JSON.stringify(limits));
    assert.equal((await send(address, beyond)).status, 413, JSON.stringify(limits));
    assert.equal(outcomes.length, 2);
  }
});

test('a field that is not UTF-8, or says so, is refused', async (t) => {
  const { address } = await startFormServer(t, () => assert.fail('no file was sent'));
  const typed = (type: string) => writeForm([{ headers: [...fieldHeaders('a'), `Content-Type: ${type}`], data: 'x' }]);
  assert.equal((await send(address, fieldForm(Buffer.from([0xe4])))).status, 400);
  assert.equal((await send(address, typed('text/plain; charset=iso-8859-1'))).status, 400);
  assert.equal((await send(address, typed('text/plain; charset="UTF-8"'))).status, 200);
  assert.deepEqual(JSON.parse((await send(address, fieldForm('\ufeffx'))).text), [['f0', ['\ufeffx']]]);
});

test('the last boundary and what follows it may come in writes of their own', async (t) => {
  const { onFile } = keepFiles();
  const { address } = await startFormServer(t, onFile);
  const body = fileForm('data');
  const [last, epilogue] = [body.length - 6, Buffer.from('epilogue')];
  const connection = await openRequest(t, address, body.length + 2 * epilogue.length);
  for (const piece of [body.subarray(0, last), body.subarray(last), epilogue, epilogue]) {
    await new Promise<void>((resolve) => connection.socket.write(piece, () => resolve()));
    await new Promise(setImmediate);
  }
  assert.equal((await connection.answer()).status, 200);
});

test('a slow taker stalls the socket: hardly more is accepted than it has taken', async (t) => {
  const size = 48 * MEBIBYTE;
  const socketOf = (): number => requests[0]?.socket.bytesRead ?? 0;
  let [taken, furthestAhead] = [0, 0];
  const { address, requests } = await startFormServer(t, async (_file, chunks) => {
    for await (const chunk of chunks) {
      // Turns in which a server that does not hold back would read on.
      if (taken < 8 * MEBIBYTE) for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      taken += chunk.length;
      furthestAhead = Math.max(furthestAhead, socketOf() - taken);
    }
  }, { fileBytes: size });

  const connection = await openRequest(t, address, fileForm('').length + size);
  const [head, tail] = [fileForm('').subarray(0, -BOUNDARY.length - 8), fileForm('').subarray(-BOUNDARY.length - 8)];
  const piece = Buffer.alloc(64 * KIBIBYTE);
  await pipeline(Readable.from(function* () {
    yield head;
    for (let sent = 0; sent < size; sent += piece.length) yield piece;
    yield tail;
  }()), connection.socket, { end: false });

  assert.equal((await connection.answer()).status, 200);
  assert.equal(taken, size);
  assert.ok(furthestAhead < 512 * KIBIBYTE, `${furthestAhead} bytes ahead`);
});

test('a field that comes byte by byte is whole', async (t) => {
  const { address, outcomes } = await startFormServer(t, () => assert.fail('no file was sent'));
  const value = 'naïve \r\n-- '.repeat(300);
  const body = fieldForm(value);
  const connection = await rawConnection(address);
  t.after(() => connection.socket.destroy());
  connection.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${CONTENT_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`);
  const chunks = [...body.toString('latin1')].map((byte) => `1\r\n${byte}\r\n`);
  connection.write(Buffer.from(`${chunks.join('')}0\r\n\r\n`, 'latin1'));

  assert.equal((await connection.answer()).status, 200);
  assert.deepEqual(outcomes, [{ fields: new Map([['f0', [value]]]) }]);
});
