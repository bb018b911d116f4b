// Protects compressed archives: written so that gzip reads them, and refused when damaged.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { ArchiveError, gunzipFile, gzipFile } from '../../../src/platform/archive/gzip-file.ts';
import { memberOf100 } from '../../support/backup-hub.ts';
import { sha256 } from '../../support/sha256.ts';
import { temporaryFolder } from '../../support/temporary-project.ts';

const CONTENT = Buffer.concat([randomBytes(700_000), Buffer.alloc(700_000, 'text ')]);

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
  assert.equal(sha256(execFileSync('gzip', ['-dc', path], { maxBuffer: 1e7 })), sha256(CONTENT));
});

async function ours(t: TestContext, chunks: Buffer[]): Promise<Buffer> {
  const path = join(temporaryFolder(t), 'a.gz');
  const file = await open(path, 'wx');
  await gzipFile(chunks, file);
  await file.close();
  return readFileSync(path);
}

const DENSE_TYPES: Record<string, Buffer> = {
  JPEG: Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), randomBytes(300_000)]),
  PDF: Buffer.concat([Buffer.from('%PDF-1.7\n1 0 obj <</Filter /FlateDecode>> stream\n'), deflateSync(randomBytes(300_000))]),
  ZIP: gzipSync(Buffer.from(randomBytes(300_000).toString('base64'))),
};
const SPARSE_TYPES: Record<string, Buffer> = {
  'plain text': Buffer.from('Barn owls hunt at night, and listen for voles in the grass. '.repeat(5_000)),
  'Cyrillic text': Buffer.from('Сипуха охотится ночью и слушает полёвок в траве. '.repeat(5_000)),
  base64: Buffer.from(randomBytes(200_000).toString('base64')),
  'a PDF whose pages are plain': Buffer.from(`%PDF-1.7\n${'0 0 m 10 10 l S\n'.repeat(20_000)}`),
};

test('what is compressed already is stored as it is, and text is compressed, by what the bytes are', async (t) => {
  for (const [type, content] of Object.entries(DENSE_TYPES)) {
    const bytes = await ours(t, [content]);
    assert.ok(bytes.length > content.length && bytes.length < content.length * 1.001, `${type}: ${bytes.length}`);
    assert.equal(bytes[8], 4, `${type}: the header says that little time was spent (XFL, RFC 1952 §2.3.1)`);
  }
  for (const [type, content] of Object.entries(SPARSE_TYPES)) {
    const { length } = await ours(t, [content]);
    assert.ok(length < content.length * 0.8, `${type}: ${length} of ${content.length}`);
  }
});

test('chunks of every length come back as they were, whatever is among them', async (t) => {
  const lengths = [0, 1, 65_534, 65_535, 65_536, 131_070, 524_287, 524_288, 524_289, 1_200_000];
  for (const chunks of [[], ...lengths.map((length) => [randomBytes(length), Buffer.alloc(length, 'text ')])]) {
    const bytes = await ours(t, chunks);
    const seen: Buffer[] = [];
    const content = await gunzip(t, bytes, seen);
    assert.equal(sha256(content), sha256(Buffer.concat(chunks)));
    assert.equal(sha256(Buffer.concat(seen)), sha256(bytes));
    assert.ok(gunzipSync(bytes).equals(content), 'others read the same');
  }
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
/** A file of the hub, of three members or more. */
const hubs = (t: TestContext): Promise<Buffer> => ours(t, [CONTENT.subarray(0, 400_000), CONTENT.subarray(400_000)]);

test('archives of version 1.0.0, whose members have an extra field with their length, are read', async (t) => {
  const chunks = [CONTENT.subarray(0, 500_000), CONTENT.subarray(500_000, 1_000_000), CONTENT.subarray(1_000_000)];
  const bytes = Buffer.concat(chunks.map(memberOf100));
  const seen: Buffer[] = [];

  assert.ok((await gunzip(t, bytes, seen)).equals(CONTENT));
  assert.ok(Buffer.concat(seen).equals(bytes));
  await assert.rejects(gunzip(t, bytes.subarray(0, -1)), ArchiveError);
});

const BROKEN: Record<string, Buffer | ((ours: Buffer) => Buffer)> = {
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
  'members of ours, cut by a byte': (ours) => ours.subarray(0, -1),
  'a byte after members of ours': (ours) => Buffer.concat([ours, Buffer.from('x')]),
  'zeros after members of ours': (ours) => Buffer.concat([ours, Buffer.alloc(512)]),
};

for (const [what, bytes] of Object.entries(BROKEN)) {
  test(`case 50: a gzip file that has ${what} is refused`, async (t) => {
    const broken = typeof bytes === 'function' ? bytes(await hubs(t)) : bytes;
    await assert.rejects(gunzip(t, broken), ArchiveError);
  });
}

test('case 43: no changed byte of a gzip file, of gzip or of the hub, yields other content', async (t) => {
  const texts = [randomBytes(300), Buffer.alloc(300, 'text ')];
  const cases: [Buffer, Buffer, number][] = [
    [await ours(t, texts), Buffer.concat(texts), 16], [gzipSync(sha256(CONTENT)), Buffer.from(sha256(CONTENT)), 8],
  ];
  for (const [small, content, most] of cases) {
    let unnoticed = 0; // such as the times in the headers, and the bits after the last code
    for (let at = 0; at < small.length; at++) {
      const bytes = Buffer.from(small);
      bytes[at] = (bytes[at] ?? 0) ^ 0x10;
      const read = await gunzip(t, bytes).catch((error: unknown) => error);
      if (read instanceof ArchiveError) continue;
      assert.ok(Buffer.isBuffer(read) && read.equals(content), `byte ${at}: ${String(read)}`);
      unnoticed++;
    }
    assert.ok(unnoticed <= most, `${unnoticed} changes were not noticed`);
  }
});
