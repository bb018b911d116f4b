import { Readable, type Writable } from 'node:stream';
import { createMultipartParser } from '../../src/platform/http/multipart-parser.ts';
import { readMultipart, type MultipartLimits } from '../../src/platform/http/read-multipart.ts';

/** How many files a reader found in a body, and their bytes together. */
export type Found = { files: number; bytes: number };

/** Reads a form of files out of the pieces of its body. */
export type MultipartReader = (pieces: readonly Buffer[], boundary: string) => Promise<Found>;

const NO_LIMITS: MultipartLimits = {
  bytes: Infinity, parts: Infinity, headerBytes: Infinity, headers: 100, nameBytes: Infinity, filenameBytes: Infinity,
  fields: Infinity, fieldBytes: Infinity, files: Infinity, fileBytes: Infinity,
};

/** The parser alone: pieces are written to it, its events are counted. */
export async function readWithParser(pieces: readonly Buffer[], boundary: string): Promise<Found> {
  const found = { files: 0, bytes: 0 };
  const parser = createMultipartParser(boundary, NO_LIMITS);
  const count = (): void => {
    for (let event = parser.next(); event !== null && event.kind !== 'end'; event = parser.next()) {
      if (event.kind === 'data') found.bytes += event.bytes.length;
      if (event.kind === 'part') found.files++;
    }
  };
  for (const piece of pieces) {
    parser.write(piece);
    count();
  }
  parser.end();
  count();
  return found;
}

/** As routes read forms: from a stream, with a promise for each file and one for each of its chunks. */
export async function readWithStream(pieces: readonly Buffer[], boundary: string): Promise<Found> {
  const found = { files: 0, bytes: 0 };
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  const headersDistinct = { 'content-type': [headers['content-type']] };
  const stream = Object.assign(streamOf(pieces), { headers, headersDistinct });
  await readMultipart({ stream }, NO_LIMITS, async (_file, chunks) => {
    found.files++;
    for await (const chunk of chunks) found.bytes += chunk.length;
  });
  return found;
}

type MultipartPeers = Record<'busboyWritten' | 'busboyPiped' | 'formidableWritten', MultipartReader>;

type BusboyFile = { on(event: 'data', listener: (chunk: Buffer) => void): void };
type Busboy = Writable & { on(event: 'file', listener: (name: string, file: BusboyFile) => void): Busboy };
type BusboyModule = { default: (options: object) => Busboy };
type FormidableEvent = { name: string; start: number; end: number };
type FormidableParser = Writable & {
  initWithBoundary(boundary: string): void;
  on(event: 'data', listener: (event: FormidableEvent) => void): FormidableParser;
};
type FormidableModule = { MultipartParser: new () => FormidableParser };

/** The peers, out of the benchmarks' own packages. Rejects where those are not installed. */
export async function loadMultipartPeers(): Promise<MultipartPeers> {
  // Names in variables: the type checker must not look for packages that are only there for benchmarks.
  const [busboyName, formidableName]: string[] = ['busboy', 'formidable'];
  const { default: createBusboy }: BusboyModule = await import(String(busboyName));
  const { MultipartParser }: FormidableModule = await import(String(formidableName));
  return {
    busboyWritten: readWithBusboy(createBusboy, writeAll),
    busboyPiped: readWithBusboy(createBusboy, (pieces, busboy) => void streamOf(pieces).pipe(busboy)),
    formidableWritten: readWithFormidable(MultipartParser),
  };
}

type Feed = (pieces: readonly Buffer[], into: Writable) => void;

function readWithBusboy(createBusboy: BusboyModule['default'], feed: Feed): MultipartReader {
  return (pieces, boundary) => new Promise((resolve, reject) => {
    const found = { files: 0, bytes: 0 };
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    const busboy = createBusboy({ headers, defParamCharset: 'utf8' });
    busboy.on('file', (_name, file) => {
      found.files++;
      file.on('data', (chunk) => (found.bytes += chunk.length));
    });
    busboy.on('error', reject);
    busboy.on('close', () => resolve(found));
    feed(pieces, busboy);
  });
}

function readWithFormidable(MultipartParser: FormidableModule['MultipartParser']): MultipartReader {
  return (pieces, boundary) => new Promise((resolve, reject) => {
    const found = { files: 0, bytes: 0 };
    const parser = new MultipartParser();
    parser.initWithBoundary(boundary);
    parser.on('data', ({ name, start, end }) => {
      if (name === 'partData') found.bytes += end - start;
      if (name === 'partEnd') found.files++;
    });
    parser.on('error', reject);
    parser.on('end', () => resolve(found));
    writeAll(pieces, parser);
  });
}

function writeAll(pieces: readonly Buffer[], into: Writable): void {
  for (const piece of pieces) into.write(piece);
  into.end();
}

function streamOf(pieces: readonly Buffer[]): Readable {
  let next = 0;
  return new Readable({ read() { this.push(pieces[next++] ?? null); } });
}
