import { readBoundary } from './multipart-boundary.ts';
import { decodeField, gatherChunks } from './multipart-field.ts';
import type { PartHead } from './multipart-headers.ts';
import type { MultipartLimits } from './multipart-limits.ts';
import type { MultipartEvent } from './multipart-parser.ts';
import { openMultipartSource, tooLarge, type MultipartSource, type MultipartStream } from './multipart-source.ts';
import { HttpError } from './problem.ts';

/** A file as the client names it; nothing of it has been checked. */
export type MultipartFile = { field: string; filename: string; declaredType: string };

/** Takes one file. May stop early, then the rest is skipped; when it rejects, reading ends with its error. */
export type OnFile = (file: MultipartFile, chunks: AsyncIterable<Buffer>) => Promise<void>;

/** A part with the first event after its head. */
type Part = { head: PartHead; first: MultipartEvent };

/**
 * Reads a multipart/form-data body as it arrives and resolves to its fields, the values of each name in order. Files
 * go to `onFile`, one after the other; the socket is read only as fast as they are taken. A file input left empty (no
 * name, no bytes) is no file. Rejects with an HttpError: 415 for another media type, 413 for a body over a limit, 400
 * for one that is malformed or breaks off. The chunks of the file in hand then throw the same error, so that its taker
 * can remove what it wrote; the files before it are for the caller to remove. The rest of the body is left unread. Into
 * `typed` go the fields as they come, for a form that is shown again; a body that is too large is then refused at its
 * first file only.
 */
export async function readMultipart(
  { stream }: { stream: MultipartStream }, limits: MultipartLimits, onFile: OnFile,
  typed?: Map<string, string[]>,
): Promise<Map<string, string[]>> {
  const boundary = readBoundary(stream.headersDistinct['content-type'] ?? []);
  const isTooLarge = Number(stream.headers['content-length'] ?? 0) > limits.bytes;
  if (isTooLarge && !typed) throw tooLarge('The body', limits.bytes);
  const refuse: OnFile = () => Promise.reject(tooLarge('The body', limits.bytes));
  const source = openMultipartSource(stream, boundary, limits);
  try {
    return await readParts(source, limits, isTooLarge ? refuse : onFile, typed ?? new Map());
  } catch (error) {
    return source.fail(error);
  } finally {
    source.stop();
  }
}

async function readParts(
  source: MultipartSource, limits: MultipartLimits, onFile: OnFile, fields: Map<string, string[]>,
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
      fieldBytes += bytes.length;
      fields.set(name, [...fields.get(name) ?? [], decodeField(name, type, bytes)]);
    } else if (filename !== '' || part.first.kind === 'data') {
      if (++fileCount > limits.files) throw tooMany('files', limits.files);
      const chunks = partChunks(source, part, 'A file', limits.fileBytes);
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

/** Gives the chunks away until `use` has settled, whatever it still holds of them then, and skips what it left. */
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
