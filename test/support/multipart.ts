import assert from 'node:assert/strict';
import { createMultipartParser } from '../../src/platform/http/multipart-parser.ts';
import { MULTIPART_SHAPE, type MultipartLimits } from '../../src/platform/http/read-multipart.ts';
import { HttpError } from '../../src/platform/http/http-error.ts';
import { randomBelow } from './random.ts';

type ReadPart = { name: string; filename: string | null; type: string; data: Buffer };

/** The whole parts of a body, and the refusal if it ended in one. */
export type ReadForm = { parts: ReadPart[]; error: { status: number; message: string } | null };

export const BOUNDARY = '----TheBoundary8f3a';

const MEBIBYTE = 1024 * 1024;

export const LIMITS: MultipartLimits = {
  ...MULTIPART_SHAPE, files: 20, fileBytes: 20 * MEBIBYTE, bytes: 100 * MEBIBYTE,
};

/** Parts as they go over the wire, each `headers` without line ends. */
export function writeForm(parts: { headers: string[]; data?: string | Buffer }[], boundary = BOUNDARY): Buffer {
  const pieces = parts.flatMap(({ headers, data = '' }) =>
    [`--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n`, data, '\r\n']);
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)));
}

export function fieldHeaders(name: string): string[] {
  return [`Content-Disposition: form-data; name="${name}"`];
}

export function fileHeaders(name: string, filename: string): string[] {
  return [`Content-Disposition: form-data; name="${name}"; filename="${filename}"`, 'Content-Type: text/plain'];
}

/** What the parser makes of pieces of a body. Any error but an HttpError is thrown. */
export function readForm(pieces: Buffer[], boundary = BOUNDARY, limits: MultipartLimits = LIMITS): ReadForm {
  const parser = createMultipartParser(boundary, limits);
  const form: ReadForm = { parts: [], error: null };
  const open: { head: Omit<ReadPart, 'data'>; chunks: Buffer[] }[] = [];
  const drain = (): void => {
    for (let event = parser.next(); event !== null && event.kind !== 'end'; event = parser.next()) {
      if (event.kind === 'part') open.push({ head: event.head, chunks: [] });
      if (event.kind === 'data') open.at(-1)?.chunks.push(event.bytes);
      const done = event.kind === 'part-end' ? open.pop() : undefined;
      if (done) form.parts.push({ ...done.head, data: Buffer.concat(done.chunks) });
    }
  };
  try {
    for (const piece of pieces) {
      parser.write(piece);
      drain();
    }
    parser.end();
    drain();
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    form.error = { status: error.status, message: error.message };
  }
  return form;
}

/** The body whole, byte by byte, cut in two at every place, and in some random splittings. */
export function* splittings(body: Buffer, seed = 1): Generator<Buffer[]> {
  yield [body];
  yield [...body].map((byte) => Buffer.of(byte));
  for (let at = 0; at <= body.length; at++) yield [body.subarray(0, at), body.subarray(at)];
  const below = randomBelow(seed);
  for (let round = 0; round < 3; round++) yield cutRandomly(body, below, 20);
}

export function cutRandomly(body: Buffer, below: (limit: number) => number, longest: number): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const length = below(longest + 1); // also none
    pieces.push(body.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

/** The result of a body, which must be the same however it is cut. */
export function readHowever(body: Buffer, limits = LIMITS): ReadForm {
  const whole = readForm([body], BOUNDARY, limits);
  for (const pieces of splittings(body)) assert.deepEqual(readForm(pieces, BOUNDARY, limits), whole);
  return whole;
}

/** The one part of a body that is read without an error however it is cut. */
export function readOnlyPart(body: Buffer): ReadPart {
  const { parts, error } = readHowever(body);
  assert.equal(error, null);
  assert.equal(parts.length, 1);
  return parts[0] ?? assert.fail();
}

/** With which status a body is refused however it is cut; undefined when it is not. */
export function refusalOf(body: Buffer, limits = LIMITS): number | undefined {
  return readHowever(body, limits).error?.status;
}
