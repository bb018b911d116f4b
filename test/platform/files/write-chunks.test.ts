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
    const content = bytes(n === 0 ? 0 : 40_000 * n, n);
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

for (const method of ['sync', 'writeFile'] as const) {
  test(`a ${method} that fails once is not forgotten`, async (t) => {
    const { handle } = await openFile(t);
    const works = handle[method];
    const broken = async () => {
      Object.assign(handle, { [method]: works });
      throw Object.assign(new Error('the disk is broken'), { code: 'EIO' });
    };
    Object.assign(handle, { [method]: broken });
    await assert.rejects(writeChunks(handle, asChunks([Buffer.alloc(2 ** 20)])), /the disk is broken/);
  });
}
