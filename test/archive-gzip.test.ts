// Protects compressed archives: written so that gzip reads them, and refused when damaged.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ArchiveError, gunzipFile, gzipFile } from '../src/platform/archive/gzip-file.ts';
import { sha256 } from './support/sha256.ts';
import { temporaryFolder } from './support/temporary-project.ts';

const CONTENT = Buffer.concat([randomBytes(700_000), Buffer.alloc(700_000, 'text ')]);

/** The content of a file of these bytes; `seen` gets the bytes themselves. */
async function gunzip(t: TestContext, bytes: Buffer, seen: Buffer[] = []): Promise<Buffer> {
  const path = join(temporaryFolder(t), 'a.gz');
  writeFileSync(path, bytes);
  const file = await open(path);
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of gunzipFile(file, (part) => void seen.push(Buffer.from(part)))) chunks.push(chunk);
    return Buffer.concat(chunks);
  } finally {
    await file.close();
  }
}

test('a file is compressed so that gzip reads it, and the hash is that of the file', async (t) => {
  const path = join(temporaryFolder(t), 'a.gz');
  const file = await open(path, 'wx');

  const written = await gzipFile([CONTENT.subarray(0, 1_000_000), CONTENT.subarray(1_000_000)], file);
  await file.close();

  const bytes = readFileSync(path);
  assert.deepEqual(written, { bytes: bytes.length, sha256: sha256(bytes) });
  assert.ok(gunzipSync(bytes).equals(CONTENT));
  execFileSync('gzip', ['-t', path]);
});

test('what gzip wrote is read, with and without a name in it, and every byte of the file is shown', async (t) => {
  const place = temporaryFolder(t);
  writeFileSync(join(place, 'with a name'), CONTENT);
  const plain = gzipSync(CONTENT);
  const withName = execFileSync('gzip', ['-9c', join(place, 'with a name')], { maxBuffer: 1e7 });

  for (const bytes of [plain, withName, gzipSync('')]) {
    const seen: Buffer[] = [];
    const content = await gunzip(t, bytes, seen);
    assert.equal(sha256(content), sha256(gunzipSync(bytes)));
    assert.equal(sha256(Buffer.concat(seen)), sha256(bytes));
  }
});

test('an error of whoever takes the content ends the reading', async (t) => {
  const path = join(temporaryFolder(t), 'a.gz');
  writeFileSync(path, gzipSync(CONTENT));
  const file = await open(path);
  const mine = new Error('enough');

  await assert.rejects(async () => {
    for await (const _ of gunzipFile(file)) throw mine;
  }, mine);
  await file.close();
});

test('a file that is compressed while it fails to be written rejects', async (t) => {
  const path = join(temporaryFolder(t), 'a.gz');
  const file = await open(path, 'wx');
  await file.close();
  await assert.rejects(gzipFile([CONTENT], file), /closed|EBADF/i);

  const stopped = new AbortController();
  const again = await open(`${path}2`, 'wx');
  function* chunks() {
    yield CONTENT;
    stopped.abort(new Error('stop'));
    yield CONTENT;
    yield CONTENT;
  }
  await assert.rejects(gzipFile(chunks(), again, stopped.signal), /abort|stop/i);
  await again.close();
});

const good = gzipSync(CONTENT);
const BROKEN: Record<string, Buffer> = {
  'nothing': Buffer.alloc(0),
  'a few bytes': good.subarray(0, 17),
  'no gzip': Buffer.alloc(1_000, 'no gzip '),
  'another method': Buffer.concat([Buffer.from([0x1f, 0x8b, 7]), good.subarray(3)]),
  'reserved flags': Buffer.concat([good.subarray(0, 3), Buffer.from([0xe0]), good.subarray(4)]),
  'a header checksum': Buffer.concat([good.subarray(0, 3), Buffer.from([0x02]), good.subarray(4)]),
  'a name without end': Buffer.concat([good.subarray(0, 3), Buffer.from([0x08]), good.subarray(4, 10), Buffer.alloc(2_000, 1)]),
  'a missing byte': good.subarray(0, -1),
  'a missing trailer': good.subarray(0, -8),
  'half of it': good.subarray(0, good.length / 2),
  'one byte after the end': Buffer.concat([good, Buffer.from('x')]),
  'a zero after the end': Buffer.concat([good, Buffer.alloc(1)]),
  'a block of zeros after the end': Buffer.concat([good, Buffer.alloc(512)]),
  'text after the end': Buffer.concat([good, Buffer.from('and a script')]),
  'a second member': Buffer.concat([good, good]),
  'a second, empty member': Buffer.concat([good, gzipSync('')]),
};

for (const [what, bytes] of Object.entries(BROKEN)) {
  test(`case 50: a gzip file that has ${what} is refused`, async (t) => {
    await assert.rejects(gunzip(t, bytes), ArchiveError);
  });
}

test('case 43: no changed byte of a gzip file yields other content', async (t) => {
  const text = Buffer.from(sha256(CONTENT));
  const small = gzipSync(text);
  let unnoticed = 0; // such as the time in the header, and the bits after the last code
  for (let at = 0; at < small.length; at++) {
    const bytes = Buffer.from(small);
    bytes[at] = (bytes[at] ?? 0) ^ 0x10;
    const read = await gunzip(t, bytes).catch((error: unknown) => error);
    if (read instanceof ArchiveError) continue;
    assert.ok(Buffer.isBuffer(read) && read.equals(text), `byte ${at}: ${String(read)}`);
    unnoticed++;
  }
  assert.ok(unnoticed <= 8, `${unnoticed} changes were not noticed`);
});
