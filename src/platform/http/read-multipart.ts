import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { decodeField, readBoundary, type PartHead } from './multipart-headers.ts';
import { createMultipartParser, type MultipartEvent, type ParserLimits } from './multipart-parser.ts';
import { HttpError } from './reply.ts';
import type { BodyShare } from './router.ts';

/** Limits of one multipart body. Sizes are in bytes, the others are counts. */
export type MultipartLimits = ParserLimits & {
  /** The whole body, with boundaries, headers and bytes after the last boundary. */
  bytes: number;
  fields: number;
  /** The values of all fields together: they are kept in memory. */
  fieldBytes: number;
  files: number;
  /** One file. */
  fileBytes: number;
};

/** Limits on the shape of a body that suit any form of the hub; those on files belong to the form. */
export const MULTIPART_SHAPE = {
  parts: 100,
  headerBytes: 8 * 1024,
  headers: 16,
  nameBytes: 256,
  filenameBytes: 1024,
  fields: 50,
  fieldBytes: 2 * 1024 * 1024, // 400,000 characters of a post, each of four bytes, and what else its form holds
} as const;

/** A file as the client describes it, unchecked. */
export type MultipartFile = { field: string; filename: string; declaredType: string };

/** Takes one file. May stop early, then the rest is skipped; when it rejects, reading ends with its error. */
export type OnFile = (file: MultipartFile, chunks: AsyncIterable<Buffer>) => Promise<void>;

/** A request, as far as reading its multipart body needs it. */
type MultipartStream = Readable & Pick<IncomingMessage, 'headers' | 'headersDistinct'>;

/** The events of a body as it arrives. It reads the socket only on demand. */
type MultipartSource = {
  /** The next event from the bytes read so far, or null. After a first error it always throws that error. */
  ready(): MultipartEvent | null;
  /** The next event; reads the stream if none is ready. Rejects as `ready` throws. */
  next(): Promise<MultipartEvent>;
  /** Ends the body with an error and throws the first such error. */
  fail(error: unknown): never;
  /** Stops reading; the stream stays open and paused. */
  stop(): void;
};

/** A part with the first event after its head. */
type Part = { head: PartHead; first: MultipartEvent };

/**
 * Reads a multipart/form-data body as it arrives and resolves to its fields, the values of each name in order. Files
 * go to `onFile`, one after the other, with back-pressure on the socket. Empty file inputs (no name, no bytes) are
 * skipped.
 *
 * Rejects with an HttpError: 415 for another media type, 413 for a body over a limit, 400 for a malformed or incomplete
 * body. The chunks of the current file throw the same error, so that `onFile` can remove its partial file; the caller
 * removes earlier files. The rest of the body is left unread.
 *
 * `typed` receives the fields as they come, so that a form can be shown again. With it, a body that is too large is
 * refused only at its first file.
 */
export async function readMultipart(
  { stream, memory }: { stream: MultipartStream; memory?: BodyShare }, limits: MultipartLimits, onFile: OnFile,
  typed?: Map<string, string[]>,
): Promise<Map<string, string[]>> {
  const boundary = readBoundary(stream.headersDistinct['content-type'] ?? []);
  const isTooLarge = Number(stream.headers['content-length'] ?? 0) > limits.bytes;
  if (isTooLarge && !typed) throw tooLarge('The body', limits.bytes);
  const refuse: OnFile = () => Promise.reject(tooLarge('The body', limits.bytes));
  const source = openMultipartSource(stream, boundary, limits);
  try {
    return await readParts(source, { ...limits, memory }, isTooLarge ? refuse : onFile, typed ?? new Map());
  } catch (error) {
    return source.fail(error);
  } finally {
    source.stop();
  }
}

async function readParts(
  source: MultipartSource, limits: MultipartLimits & { memory: BodyShare | undefined }, onFile: OnFile,
  fields: Map<string, string[]>,
): Promise<Map<string, string[]>> {
  let [fieldCount, fieldBytes, fileCount] = [0, 0, 0];
  for (;;) {
    const event = source.ready() ?? await source.next();
    if (event.kind !== 'part') return fields;
    const part = { head: event.head, first: source.ready() ?? await source.next() };
    const { name, filename, type } = part.head;
    if (filename === null) {
      if (++fieldCount > limits.fields) throw tooMany('fields', limits.fields);
      const bytes = await gatherChunks(partChunks(source, part, 'The fields together', limits.fieldBytes, fieldBytes));
      limits.memory?.take(bytes.length);
      fieldBytes += bytes.length;
      fields.set(name, [...fields.get(name) ?? [], decodeField(name, type, bytes)]);
    } else if (filename !== '' || part.first.kind === 'data') {
      if (++fileCount > limits.files) throw tooMany('files', limits.files);
      const chunks = partChunks(source, part, filename ? `The file ${filename}` : 'A file', limits.fileBytes);
      await lend(chunks, (lent) => onFile({ field: name, filename, declaredType: type }, lent));
    }
  }
}

async function* partChunks(
  source: MultipartSource, { first }: Part, what: string, limit: number, counted = 0,
): AsyncGenerator<Buffer, void, void> {
  let size = counted;
  for (let event = first; event.kind === 'data'; event = source.ready() ?? await source.next()) {
    size += event.bytes.length;
    if (size > limit) source.fail(tooLarge(what, limit));
    yield event.bytes;
  }
}

/** Lends the chunks until `use` has settled, even if it keeps the iterator, and then skips the rest. */
async function lend(
  chunks: AsyncGenerator<Buffer, void, void>, use: (lent: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  let isLent = true;
  const lent: AsyncIterableIterator<Buffer> = {
    [Symbol.asyncIterator]: () => lent,
    next() {
      const step = isLent ? chunks.next() : Promise.reject(new Error('this file is no longer read'));
      step.catch(() => {}); // a taker that asked and went away must not end the process
      return step;
    },
    async return() {
      isLent = false; // but goes on here: the rest has to be skipped
      return { done: true, value: undefined };
    },
  };
  try {
    await use(lent);
  } finally {
    isLent = false;
  }
  while (!(await chunks.next()).done);
}

function tooMany(what: string, limit: number): HttpError {
  return new HttpError(413, `The body may have at most ${limit} ${what}.`);
}

/** Reads the body of a request. 413 for more than `limits.bytes`, 400 when the client stops half-way. */
function openMultipartSource(stream: MultipartStream, boundary: string, limits: MultipartLimits): MultipartSource {
  const parser = createMultipartParser(boundary, limits);
  const pieces: AsyncIterator<Buffer> = stream.iterator({ destroyOnReturn: false });
  let received = 0;
  let failure: { error: unknown } | null = null;

  function ready(): MultipartEvent | null {
    if (failure) throw failure.error;
    try {
      return parser.next();
    } catch (error) {
      return fail(error);
    }
  }

  async function next(): Promise<MultipartEvent> {
    for (;;) {
      const event = ready();
      if (event) return event;
      await readPiece();
    }
  }

  async function readPiece(): Promise<void> {
    const { done, value } = await pieces.next().catch(() =>
      fail(new HttpError(400, 'The request ended before its body was complete.')));
    if (done) return parser.end();
    received += value.length;
    if (received > limits.bytes) fail(tooLarge('The body', limits.bytes));
    parser.write(value);
  }

  function fail(error: unknown): never {
    failure ??= { error };
    throw failure.error;
  }

  function stop(): void {
    failure ??= { error: new Error('the body is no longer read') };
    // Not waited for: when a piece is being waited for, the client may never send it.
    pieces.return?.().catch(() => {});
  }

  return { ready, next, fail, stop };
}

function tooLarge(what: string, limit: number): HttpError {
  return new HttpError(413, `${what} may have at most ${limit} bytes.`);
}

/** All chunks in one buffer, which grows by doubling: thousands of tiny chunks cost no more than a few large ones. */
async function gatherChunks(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  let [bytes, length] = [Buffer.alloc(0), 0];
  for await (const chunk of chunks) {
    const needed = length + chunk.length;
    if (needed > bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, 2 * bytes.length));
      bytes.copy(grown, 0, 0, length);
      bytes = grown;
    }
    chunk.copy(bytes, length);
    length = needed;
  }
  return bytes.subarray(0, length);
}
