import { TextDecoder } from 'node:util';
import { type ArrivingFile, type Parsing, type PushParser, RefusedFile, startParser } from './arriving-file.ts';
import {
  type ImageSize, parseAvif, parseGif, parseJpeg, parsePng, parseWebp, PNG_SIGNATURE,
} from './recognise-images.ts';

/** `extension`: the usual extension, without a dot. `width`, `height`: undefined for files that are no images. */
export type RecognisedFile = { mediaType: string; extension: string; width?: number; height?: number };

/** `begins` matches the first 16 bytes of a file as latin1; it is not set for text, which may begin with any bytes. */
type FileType = {
  name: string;
  mediaType: string;
  extensions: [string, ...string[]];
  begins?: RegExp;
  parse: (file: ArrivingFile) => Parsing<Partial<ImageSize>>;
};

const FILE_TYPES: FileType[] = [
  {
    name: 'a PNG image', mediaType: 'image/png', extensions: ['png', 'apng'],
    begins: new RegExp(`^${PNG_SIGNATURE.toString('latin1')}`), parse: parsePng,
  },
  {
    name: 'a JPEG image', mediaType: 'image/jpeg', extensions: ['jpg', 'jpeg', 'jpe', 'jfif'],
    begins: /^\xff\xd8\xff/, parse: parseJpeg,
  },
  { name: 'a GIF image', mediaType: 'image/gif', extensions: ['gif'], begins: /^GIF8[79]a/, parse: parseGif },
  {
    name: 'a WebP image', mediaType: 'image/webp', extensions: ['webp'],
    begins: /^RIFF[^]{4}WEBPVP/, parse: parseWebp,
  },
  {
    name: 'an AVIF image', mediaType: 'image/avif', extensions: ['avif'],
    begins: /^[^]{4}ftyp(?:avi[fs]|m[is]f1)/, parse: parseAvif,
  },
  { name: 'a PDF document', mediaType: 'application/pdf', extensions: ['pdf'], begins: /^%PDF-/, parse: parsePdf },
  { name: 'text', mediaType: 'text/plain', extensions: ['txt'], parse: parseText },
  { name: 'Markdown', mediaType: 'text/markdown', extensions: ['md', 'markdown'], parse: parseText },
];

export const FILE_EXTENSIONS = FILE_TYPES.flatMap(({ extensions }) => extensions);

const SIGNATURE_BYTES = 16;

/**
 * Starts to recognise a file, of which the parser holds less than 64 KiB between two pieces. Throws RefusedFile at once
 * for a refused extension; `push` and `finish` throw it for the content.
 */
export function startRecognition(filename: string): PushParser<RecognisedFile> {
  const expected = typeOfName(filename);
  return startParser((file) => recognise(file, expected));
}

/** Recognises a file by its content alone, such as an image in a feed, whose name is useless. Throws RefusedFile. */
export function recogniseContent(bytes: Buffer): RecognisedFile {
  const head = bytes.toString('latin1', 0, SIGNATURE_BYTES);
  const type = FILE_TYPES.find(({ begins }) => begins?.test(head));
  if (!type) throw new RefusedFile('type', 'the file is neither an image nor a PDF document');
  const parser = startParser((file) => recognise(file, type));
  parser.push(bytes);
  return parser.finish();
}

function* recognise(file: ArrivingFile, expected: FileType): Parsing<RecognisedFile> {
  const head = (yield* file.peek(SIGNATURE_BYTES)).toString('latin1');
  if (head === '') throw new RefusedFile('damaged', 'The file is empty.');
  if (expected.begins?.test(head) === false) throw mismatch(expected, head);
  const size = yield* expected.parse(file);
  return { mediaType: expected.mediaType, extension: expected.extensions[0], ...size };
}

/** Cleans the file name first, so that hub and readers see one extension. */
function typeOfName(filename: string): FileType {
  const extension = /[^.]\.([^.]+)$/.exec(cleanFilename(filename, ''))?.[1]?.toLowerCase() ?? '';
  const found = FILE_TYPES.find(({ extensions }) => extensions.includes(extension));
  if (found) return found;
  const admitted = FILE_EXTENSIONS.map((each) => `.${each}`).join(', ');
  throw new RefusedFile('type', `Files of this type are not accepted. The name must end in one of: ${admitted}.`);
}

function mismatch(expected: FileType, head: string): RefusedFile {
  const actual = FILE_TYPES.find(({ begins }) => begins?.test(head));
  const detail = actual
    ? `its content is ${actual.name}. Give the file a name that ends in .${actual.extensions[0]}.`
    : 'the file’s content is something else.';
  return new RefusedFile('type', `The name says that the file is ${expected.name}, but ${detail}`);
}

const PDF_VERSION = /^%PDF-\d\.\d$/;
const TAIL_BYTES = 2048;

// White space in a PDF includes the zero byte (ISO 32000-1, 7.2.2). Only white space may follow the end of a PDF.
const PDF_END = /^startxref[\s\0]+(\d{1,15})[\s\0]+%%EOF[\s\0]*$/;

/** Parses a PDF. The file must begin with %PDF, and its end must give the position of the cross-reference table. */
function* parsePdf(file: ArrivingFile): Parsing<object> {
  let tail = yield* file.take(8);
  if (!PDF_VERSION.test(tail.toString('latin1'))) throw damagedPdf('the file does not begin with a PDF header');
  while (!(yield* file.isAtEnd())) {
    tail = Buffer.concat([tail, (yield* file.takeArrived()).subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
  }
  const end = tail.lastIndexOf('startxref');
  const table = Number(PDF_END.exec(tail.toString('latin1', Math.max(end, 0)))?.[1] ?? 0);
  const endPosition = file.position() - tail.length + end;
  // The first section of a linearised PDF ends with position 0; a PDF that ends after its first section is incomplete.
  if (table === 0 || table >= endPosition) throw damagedPdf('the file has no valid end and may have been cut short');
  return {};
}

function damagedPdf(problem: string): RefusedFile {
  return new RefusedFile('damaged', `The PDF document is damaged: ${problem}.`);
}

// The "binary data bytes" of the MIME Sniffing Standard, section 3: a file with one counts as no text.
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

function* parseText(file: ArrivingFile): Parsing<object> {
  const mark = (yield* file.peek(2)).toString('hex');
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8';
  const decoder = new TextDecoder(encoding, { fatal: true });
  while (!(yield* file.isAtEnd())) {
    if (BINARY.test(decode(decoder, yield* file.takeArrived()))) throw notText();
  }
  decode(decoder);
  return {};
}

/** Decodes the next bytes of a text file; without `bytes`, checks that the text does not end within a character. */
function decode(decoder: TextDecoder, bytes?: Buffer): string {
  try {
    return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
  } catch {
    throw notText();
  }
}

function notText(): RefusedFile {
  return new RefusedFile('type', 'The content of the file is not plain text in UTF-8 or UTF-16.');
}

const MAX_NAME_BYTES = 255;
const MAX_EXTENSION_BYTES = 16;

// Characters removed from file names: control characters, noncharacters and invisible characters (in Unicode's terms
// Default_Ignorable_Code_Point, DI), such as marks that turn the direction of writing. White space stays in file names,
// and so do the invisible characters that scripts and emoji need, such as zero-width joiners.
const INVISIBLE = /[[\p{Cc}\p{DI}\p{NChar}]--[\t-\r\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e007f}]]/gv;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

// The names of devices, which Windows reserves with any extension ("Naming Files, Paths, and Namespaces").
const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?= *(?:\.|$))/i;

/** A file name for display: one line, at most 255 bytes of UTF-8; `fallback` for a name without visible characters. */
export function cleanFilename(name: string, fallback: string): string {
  const base = name.toWellFormed().replace(INVISIBLE, '').split(/[/\\]/).at(-1) ?? '';
  const trimmed = trimEnds(base.replace(/\s+/g, ' ').normalize('NFC'));
  if (!VISIBLE.test(trimmed)) return fallback;
  return shorten(RESERVED.test(trimmed) ? `_${trimmed}` : trimmed);
}

/** Removes leading dots (hidden files), trailing dots (dropped by Windows) and outer spaces from a file name. */
function trimEnds(name: string): string {
  return name.replace(/^[. ]+/, '').replace(/(?<![. ])[. ]+$/, '');
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const found = /\.[^. ]+$/.exec(name)?.[0] ?? '';
  const extension = Buffer.byteLength(found) <= MAX_EXTENSION_BYTES ? found : '';
  const stem = name.slice(0, name.length - extension.length);
  return trimEnds(truncate(stem, MAX_NAME_BYTES - Buffer.byteLength(extension))) + extension;
}

function truncate(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
