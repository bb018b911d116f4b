import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { ownTurn } from '../turns.ts';
import { decodeField, readBoundary, type PartHead } from './multipart-headers.ts';
import { createMultipartParser, type MultipartEvent, type ParserLimits } from './multipart-parser.ts';
import { HttpError } from './http-error.ts';
import type { BodyShare } from './router.ts';

export type MultipartLimits = ParserLimits & {
  /** The size of the whole body, with boundaries, headers and any bytes after the last boundary. */
  bytes: number;
  fields: number;
  /** The maximum size of the values of all fields together, which are kept in memory. */
  fieldBytes: number;
  files: number;
  fileBytes: number;
};

/** Common limits of multipart bodies. Each caller adds those of files and of the whole body. */
export const MULTIPART_SHAPE = {
  parts: 100,
  headerBytes: 8 * 1024,
  headers: 16,
  nameBytes: 256,
  filenameBytes: 1024,
  fields: 50,
  fieldBytes: 2 * 1024 * 1024, // a post's text may have 400,000 characters, of up to three bytes each
} as const;

/** The description of a file by the client, unchecked. */
export type MultipartFile = { field: string; filename: string; declaredType: string };

/** Takes each file that `readMultipart` reads; may leave `chunks` unread. A rejection ends the reading of the body. */
export type OnFile = (file: MultipartFile, chunks: AsyncIterable<Buffer>) => Promise<void>;

type MultipartStream = Readable & Pick<IncomingMessage, 'headers' | 'headersDistinct'>;

type MultipartSource = ReturnType<typeof openMultipartSource>;

type StartedPart = { head: PartHead; first: MultipartEvent };

/**
 * Reads a multipart/form-data body as it arrives, and resolves to its fields: the values of each name in order. Passes
 * files to `onFile` one after the other, with back-pressure. An empty file input (no name, no bytes) is ignored.
 *
 * Rejects and leaves the rest of the body unread: with what `onFile` or `memory.take` throws, with 415 for another
 * media type, 413 for a body over a limit, 400 for a malformed or incomplete body. The `chunks` of the file that is
 * being read throw the last two, so that `onFile` can remove its copy. Files that `onFile` had stored whole before are
 * for the caller to remove.
 *
 * `typed` gets the fields as they arrive, so that the form can be shown again: with `typed`, even a body with too large
 * a Content-Length is read up to its first file.
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
  source: MultipartSource, { first }: StartedPart, what: string, limit: number, counted = 0,
): AsyncGenerator<Buffer, void, void> {
  let size = counted;
  for (let event = first; event.kind === 'data'; event = source.ready() ?? await source.next()) {
    size += event.bytes.length;
    if (size > limit) source.fail(tooLarge(what, limit));
    yield event.bytes;
  }
}

/** Lends the chunks of a file until `use` has settled, even if `use` keeps the iterator. Skips unread chunks. */
async function lend(
  chunks: AsyncGenerator<Buffer, void, void>, use: (lent: AsyncIterable<Buffer>) => Promise<void>,
): Promise<void> {
  let isLent = true;
  const lent: AsyncIterableIterator<Buffer> = {
    [Symbol.asyncIterator]: () => lent,
    next() {
      const step = isLent ? chunks.next() : Promise.reject(new Error('the hub no longer reads this file'));
      step.catch(() => {}); // handles a late rejection, when no caller waits any more
      return step;
    },
    async return() {
      isLent = false; // leaves the iterator `chunks` open, because `lend` then skips the file's unread chunks
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

function openMultipartSource(stream: MultipartStream, boundary: string, limits: MultipartLimits) {
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
    await ownTurn();
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
    failure ??= { error: new Error('the hub no longer reads this body') };
    // The promise of `return` is not awaited, because the client may never send the bytes that `pieces` waits for.
    pieces.return?.().catch(() => {});
  }

  return { ready, next, fail, stop };
}

function tooLarge(what: string, limit: number): HttpError {
  return new HttpError(413, `${what} may have at most ${limit} bytes.`);
}

/** Gathers all chunks in one buffer, which grows by doubling, so that thousands of tiny chunks cost little. */
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
