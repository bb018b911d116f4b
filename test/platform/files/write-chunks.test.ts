// Protects the writing of uploads: no byte changes, and no failure is forgotten.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createFile, writeChunks } from '../../../src/platform/files/durable-file.ts';
import { temporaryDataDir } from '../../support/hub-process.ts';
import { cutRandomly } from '../../support/multipart.ts';
import { randomBelow } from '../../support/random.ts';

async function openFile(t: TestContext): Promise<{ path: string; handle: FileHandle }> {
  const path = join(temporaryDataDir(t), 'file');
  const handle = await createFile(path);
  t.after(() => handle.close());
  return { path, handle };
}

async function* asChunks(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* pieces;
}

function bytes(length: number, seed: number): Buffer {
  const below = randomBelow(seed);
  return Buffer.from(Array.from({ length }, () => below(256)));
}

test('what is written in pieces of any size arrives', async (t) => {
  for (let n = 0; n < 20; n++) {
    const { path, handle } = await openFile(t);
    const content = bytes(n === 0 ? 0 : 100_000 * n, n);
    await writeChunks(handle, asChunks(cutRandomly(content, randomBelow(n), 100_000)));
    assert.ok(readFileSync(path).equals(content), `file ${n}`);
  }
});

test('a chunk may be reused once the next one is asked for', async (t) => {
  const { path, handle } = await openFile(t);
  const chunk = Buffer.alloc(100_000);
  await writeChunks(handle, asChunks(function* () {
    for (let n = 0; n < 30; n++) yield chunk.fill(n);
  }()));
  const written = readFileSync(path);
  for (let n = 0; n < 30; n++) assert.ok(written.subarray(n * 100_000, (n + 1) * 100_000).every((byte) => byte === n));
});

for (const [method, size] of [['sync', 2 ** 20], ['sync', 2 ** 23], ['writeFile', 2 ** 20], ['writeFile', 2 ** 23]] as const) {
  test(`a ${method} that fails once is not forgotten, in a file of ${size / 2 ** 20} MiB`, async (t) => {
    const { handle } = await openFile(t);
    const works = handle[method];
    const broken = async () => {
      Object.assign(handle, { [method]: works });
      throw Object.assign(new Error('the disk is broken'), { code: 'EIO' });
    };
    Object.assign(handle, { [method]: broken });
    await assert.rejects(writeChunks(handle, asChunks([Buffer.alloc(size)])), /the disk is broken/);
  });
}

test('files that are written at once are whole, and few of them have large buffers', async (t) => {
  const alloc = t.mock.method(Buffer, 'allocUnsafeSlow');
  const files = await Promise.all(Array.from({ length: 20 }, async (_, n) => ({ ...await openFile(t), content: bytes(300_000, n) })));
  await Promise.all(files.map(({ handle, content }) =>
    writeChunks(handle, asChunks(cutRandomly(content, randomBelow(1), 50_000)))));
  for (const { path, content } of files) assert.ok(readFileSync(path).equals(content));
  assert.equal(alloc.mock.calls.filter(({ arguments: [size] }) => size === 512 * 1024).length, 8);
});
