import { randomFillSync } from 'node:crypto';
import { moreRow, type BenchRow } from './bench-row.ts';
import {
  loadMultipartPeers, readWithParser, readWithStream, type Found, type MultipartReader,
} from './multipart-readers.ts';

type Form = { name: string; pieces: Buffer[]; expected: Found };

const MEBIBYTE = 1024 * 1024;
const PIECE = 64 * 1024;
const BOUNDARY = '----WebKitFormBoundaryTkr3kCBQlBe1nrhc';
const ROUNDS = 10;
const SLOW_MS = 1_000; // a reader that takes so long is not asked again

/** Sizes of files, 100 MiB together. */
const SHAPES: Record<string, number[]> = {
  '5 big files': [10, 10, 10, 20, 50].map((size) => size * MEBIBYTE),
  '100 files': Array.from({ length: 100 }, () => MEBIBYTE),
  '10240 small files': Array.from({ length: 10_240 }, () => 10 * 1024),
};

const CONTENTS: Record<string, (bytes: Buffer) => Buffer> = {
  zeros: (bytes) => bytes.fill(0),
  'random bytes': (bytes) => randomFillSync(bytes),
  'line ends': (bytes) => bytes.fill('\r\n'),
};

/**
 * MiB read per second out of forms of 100 MiB in pieces of 64 KiB: the parser alone beside busboy and formidable's
 * parser, to which the same pieces are written, and the whole reader beside busboy, both out of the same kind of
 * stream. Rounds alternate, the fastest of each are compared, and every reader must find all files and bytes.
 */
export async function benchMultipart(): Promise<BenchRow[]> {
  const { busboyWritten, busboyPiped, formidableWritten } = await loadMultipartPeers();
  const rows: BenchRow[] = [];
  for (const form of forms()) {
    const readers = [readWithParser, readWithStream, busboyWritten, busboyPiped, formidableWritten];
    const [ours = NaN, ourStream = NaN, busboy = NaN, piped = NaN, formidable = NaN] = await fastest(form, readers);
    rows.push(row(`multipart: ${form.name}`, ours, 'busboy', busboy, '>= 1.5'));
    rows.push(row(`multipart: ${form.name}`, ours, 'formidable', formidable, '>= 1.5'));
    rows.push(row(`multipart: ${form.name}, from a stream`, ourStream, 'busboy', piped, '>= 1'));
  }
  return rows;
}

function row(name: string, oursMs: number, peer: string, peerMs: number, want: string): BenchRow {
  return moreRow({ name, ours: 100_000 / oursMs, peer, peerFigure: 100_000 / peerMs, unit: 'MiB/s', want });
}

function* forms(): Generator<Form> {
  for (const [shape, sizes] of Object.entries(SHAPES)) {
    for (const [content, fill] of Object.entries(CONTENTS)) {
      const body = writeBody(sizes, fill(Buffer.alloc(Math.max(...sizes))));
      const count = Math.ceil(body.length / PIECE);
      const pieces = Array.from({ length: count }, (_, i) => body.subarray(i * PIECE, (i + 1) * PIECE));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      yield { name: `${shape} of ${content}`, pieces, expected: { files: sizes.length, bytes } };
    }
  }
}

function writeBody(sizes: number[], content: Buffer): Buffer {
  const parts = sizes.flatMap((size, i) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="attachments"; filename="file-${i}.bin"\r\n`
      + 'Content-Type: application/octet-stream\r\n\r\n'),
    content.subarray(0, size), Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

/** Milliseconds of each reader's fastest round; they take turns. */
async function fastest(form: Form, readers: MultipartReader[]): Promise<number[]> {
  const best = readers.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, read] of readers.entries()) {
      const before = best[index] ?? Infinity;
      if (round === 0 || before < SLOW_MS) best[index] = Math.min(before, await timed(form, read));
    }
  }
  return best;
}

async function timed({ name, pieces, expected }: Form, read: MultipartReader): Promise<number> {
  const start = performance.now();
  const found = await read(pieces, BOUNDARY);
  const milliseconds = performance.now() - start;
  if (found.files !== expected.files || found.bytes !== expected.bytes) {
    throw new Error(`${name}: ${found.files} files and ${found.bytes} bytes were found`);
  }
  return milliseconds;
}
