// Protects uploads in trouble: a broken body is never taken for a good one, and its files do not stay.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HttpError } from '../../../src/platform/http/http-error.ts';
import {
  fieldForm, fileForm, gather, keepFiles, keepInFolder, openRequest, refusal, requestHead, send, startFormServer,
} from '../../support/form-server.ts';
import { fileHeaders, writeForm } from '../../support/multipart.ts';
import { waitUntil } from '../../support/wait-until.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;

test('a file over its limit is removed by its taker, who is told what the client is told', async (t) => {
  const { folder, errors, onFile } = keepInFolder(t);
  const { address, outcomes } = await startFormServer(t, onFile, { fileBytes: MEBIBYTE });

  assert.equal((await send(address, fileForm(Buffer.alloc(MEBIBYTE + 1)))).status, 413);
  assert.deepEqual(errors, [refusal(outcomes[0])]);
  assert.deepEqual(readdirSync(folder), []);
});

test('a malformed body removes the file in hand and leaves those before it to the caller', async (t) => {
  const { folder, errors, onFile } = keepInFolder(t);
  const { address, outcomes } = await startFormServer(t, onFile);
  const body = fileForm(Buffer.alloc(100 * KIBIBYTE), 2);

  assert.equal((await send(address, body.subarray(0, -50))).status, 400);
  assert.deepEqual(errors, [refusal(outcomes[0])]);
  assert.deepEqual(readdirSync(folder), ['0-0.txt']);
});

test('a limit reached in one of several files calls nobody for the files after it', async (t) => {
  const seen: string[] = [];
  const { address } = await startFormServer(t, async ({ field }, chunks) => {
    seen.push(field);
    await gather(chunks);
  }, { fileBytes: 5 });
  const body = writeForm(['12345', '123456', '1'].map((data, i) => ({ headers: fileHeaders(`f${i}`, 'a'), data })));

  assert.equal((await send(address, body)).status, 413);
  assert.deepEqual(seen, ['f0', 'f1']);
});

test('a taker that swallows the error of its chunks, or rejects because of it, neither hides nor mends it', async (t) => {
  for (const onError of [() => undefined, () => { throw new Error('the file could not be written'); }]) {
    const { address, outcomes } = await startFormServer(t, async (_file, chunks) => {
      await gather(chunks).catch(onError);
    }, { fileBytes: 10 });
    assert.equal((await send(address, fileForm('x'.repeat(11)))).status, 413);
    assert.equal(refusal(outcomes[0]).status, 413);
  }
});

test('a taker that rejects ends the request with its own error, once', async (t) => {
  let calls = 0;
  const { address, outcomes } = await startFormServer(t, async () => {
    calls++;
    throw new HttpError(415, 'Not such a file.');
  });
  const { status, text } = await send(address, fileForm(Buffer.alloc(200 * KIBIBYTE), 3));
  assert.deepEqual([status, JSON.parse(text).detail, calls, outcomes.length], [415, 'Not such a file.', 1, 1]);
});

test('a taker that rejects while it waits for a chunk is answered without that chunk', async (t) => {
  let late: Promise<unknown> | undefined;
  const { address, outcomes } = await startFormServer(t, async (_file, chunks) => {
    const iterator = chunks[Symbol.asyncIterator]();
    await iterator.next();
    late = iterator.next();
    throw new HttpError(507, 'The disk is full.');
  });
  const body = fileForm(Buffer.alloc(100 * KIBIBYTE));
  const connection = await openRequest(t, address, body.length);
  connection.write(body.subarray(0, 1000));

  assert.equal((await connection.answer()).status, 507);
  connection.write(body.subarray(1000));
  await assert.rejects(Promise.resolve(late));
  assert.equal(outcomes.length, 1);
});

test('a refused connection serves the next request', async (t) => {
  const { onFile } = keepFiles();
  const { address } = await startFormServer(t, onFile, { fileBytes: 10 });
  const tooLarge = fileForm('x'.repeat(600_000)); // more than the stream keeps by itself
  const connection = await openRequest(t, address, tooLarge.length);
  connection.write(tooLarge.subarray(0, 50_000));
  assert.equal((await connection.answer()).status, 413);
  connection.write(tooLarge.subarray(50_000));

  const good = fileForm('x');
  connection.write(requestHead(good.length));
  connection.write(good);
  assert.equal((await connection.answer()).status, 200);
});

test('a taker may stop early: the rest of its file is skipped and counted, the next file is whole', async (t) => {
  const seen: string[] = [];
  const { address } = await startFormServer(t, async ({ field }, chunks) => {
    for await (const chunk of chunks) {
      seen.push(`${field} ${chunk.subarray(0, 5)}`);
      break;
    }
  }, { fileBytes: 300_000 });
  const sized = (length: number) => writeForm([
    { headers: fileHeaders('a', 'a'), data: Buffer.alloc(length, 'first') },
    { headers: fileHeaders('b', 'b'), data: 'second' },
  ]);
  assert.equal((await send(address, sized(300_000))).status, 200);
  assert.deepEqual(seen, ['a first', 'b secon']);
  assert.equal((await send(address, sized(300_001))).status, 413);
});

test('a client that goes away in the middle of a file leaves nothing behind and disturbs nobody', async (t) => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  t.after(() => process.off('unhandledRejection', note));
  const { folder, errors, onFile } = keepInFolder(t);
  const { address, outcomes } = await startFormServer(t, onFile);
  const body = fileForm(Buffer.alloc(300 * KIBIBYTE, 'x'));

  const connection = await openRequest(t, address, body.length);
  connection.write(body.subarray(0, 200 * KIBIBYTE));
  const isWriting = (): boolean => readdirSync(folder).some((name) => readFileSync(join(folder, name)).length > 0);
  await waitUntil('the file is being written', isWriting);
  connection.socket.destroy();
  await waitUntil('the reading has ended', () => outcomes.length > 0);

  assert.equal(refusal(outcomes[0]).status, 400);
  assert.deepEqual(errors, [refusal(outcomes[0])]);
  assert.deepEqual(readdirSync(folder), []);
  assert.equal((await send(address, body)).status, 200);
  assert.deepEqual([outcomes.length, unhandled], [2, []]);
});

test('a client that goes away within headers, a field or before the body is noticed once', async (t) => {
  const { onFile } = keepFiles();
  const { address, outcomes, requests } = await startFormServer(t, onFile);
  const body = fieldForm('x'.repeat(100));
  for (const [index, sent] of [0, 10, 60, 150].entries()) {
    const connection = await openRequest(t, address, body.length);
    connection.write(body.subarray(0, sent));
    await waitUntil('the request has arrived', () => requests.length > index);
    connection.socket.destroy();
    await waitUntil('the reading has ended', () => outcomes.length > index);
    assert.equal(refusal(outcomes[index]).status, 400);
  }
  assert.equal(outcomes.length, 4);
});
