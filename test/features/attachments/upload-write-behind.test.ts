// Protects the buffered writing of uploads: no byte changes, and no failure is forgotten.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createFile, writeBehind, type WriteBehind } from '../../../src/platform/files/durable-file.ts';
import { temporaryDataDir } from '../../support/hub-process.ts';
import { cutRandomly } from '../../support/multipart.ts';
import { randomBelow } from '../../support/random.ts';

const MEBIBYTE = 1024 * 1024;

/** A new file with its writer, closed after the test. */
async function openWriter(t: TestContext, folder = temporaryDataDir(t), name = 'file') {
  const path = join(folder, name);
  const handle = await createFile(path);
  const writer = writeBehind(handle);
  t.after(() => handle.close().finally(writer.release));
  return { path, handle, writer };
}

async function writeAll(writer: WriteBehind, pieces: Buffer[]): Promise<void> {
  for (const piece of pieces) await writer.write(piece);
  await writer.end();
}

function bytes(length: number, seed: number): Buffer {
  const below = randomBelow(seed);
  return Buffer.from(Array.from({ length }, () => below(256)));
}

test('what is written in pieces of any size arrives, in more files at once than there are buffers for', async (t) => {
  const folder = temporaryDataDir(t);
  const files = await Promise.all(Array.from({ length: 20 }, (_, n) => openWriter(t, folder, String(n))));
  const contents = files.map((_, n) => bytes(n === 0 ? 0 : 40_000 * n, n));
  await Promise.all(files.map(({ writer }, n) =>
    writeAll(writer, cutRandomly(contents[n] ?? Buffer.alloc(0), randomBelow(n), 100_000))));
  files.forEach(({ path }, n) => assert.ok(readFileSync(path).equals(contents[n] ?? Buffer.of(1)), `file ${n}`));
});

test('a chunk may be reused once it was written', async (t) => {
  const { path, writer } = await openWriter(t);
  const chunk = Buffer.alloc(100_000);
  for (let n = 0; n < 30; n++) await writer.write(chunk.fill(n));
  await writer.end();
  const written = readFileSync(path);
  for (let n = 0; n < 30; n++) assert.ok(written.subarray(n * 100_000, (n + 1) * 100_000).every((byte) => byte === n));
});

/** The first call of the method fails; what it is called for after that succeeds, as with a disk's lost writes. */
function failOnce(handle: FileHandle, method: 'sync' | 'write'): void {
  const works = handle[method];
  const broken = async () => {
    Object.assign(handle, { [method]: works });
    throw Object.assign(new Error('the disk is broken'), { code: 'EIO' });
  };
  Object.assign(handle, { [method]: broken });
}

for (const method of ['sync', 'write'] as const) {
  test(`a ${method} that fails while more comes in is not forgotten`, async (t) => {
    const { handle, writer } = await openWriter(t);
    failOnce(handle, method);
    const pieces = Array.from({ length: 10 }, () => Buffer.alloc(MEBIBYTE));
    await assert.rejects(writeAll(writer, pieces), /the disk is broken/);
  });
}
