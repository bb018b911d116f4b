import { TextDecoder } from 'node:util';
import {
  type ArrivingFile, type FedWalk, hasMore, type ImageSize, peek, RefusedFile, startWalk, take, type Walk, walkGif,
  walkJpeg,
} from './recognise-images.ts';
import { PNG_SIGNATURE, walkAvif, walkPng, walkWebp } from './recognise-png-webp-avif.ts';

/** `extension` is the usual one of the type, without a dot; images have a size. */
export type RecognisedFile = { mediaType: string; extension: string; width?: number; height?: number };

/** `begins` is a pattern of the first 16 bytes as latin1; text has none and may begin like anything. */
type FileType = {
  name: string;
  mediaType: string;
  extensions: [string, ...string[]];
  begins?: RegExp;
  walk: (file: ArrivingFile) => Walk<Partial<ImageSize>>;
};

const FILE_TYPES: FileType[] = [
  {
    name: 'a PNG image', mediaType: 'image/png', extensions: ['png'],
    begins: new RegExp(`^${PNG_SIGNATURE.toString('latin1')}`), walk: walkPng,
  },
  {
    name: 'a JPEG image', mediaType: 'image/jpeg', extensions: ['jpg', 'jpeg', 'jfif'],
    begins: /^\xff\xd8\xff/, walk: walkJpeg,
  },
  { name: 'a GIF image', mediaType: 'image/gif', extensions: ['gif'], begins: /^GIF8[79]a/, walk: walkGif },
  { name: 'a WebP image', mediaType: 'image/webp', extensions: ['webp'], begins: /^RIFF[^]{4}WEBPVP/, walk: walkWebp },
  {
    name: 'an AVIF image', mediaType: 'image/avif', extensions: ['avif'],
    begins: /^[^]{4}ftyp(?:avi[fs]|m[is]f1)/, walk: walkAvif,
  },
  { name: 'a PDF document', mediaType: 'application/pdf', extensions: ['pdf'], begins: /^%PDF-/, walk: walkPdf },
  { name: 'text', mediaType: 'text/plain', extensions: ['txt'], walk: walkText },
  { name: 'Markdown', mediaType: 'text/markdown', extensions: ['md', 'markdown'], walk: walkText },
];

/** Every extension that a file may have, without a dot. */
export const FILE_EXTENSIONS = FILE_TYPES.flatMap(({ extensions }) => extensions);

const SIGNATURE_BYTES = 16;

/**
 * Recognises a file while it arrives. Throws RefusedFile at once for a name of no admitted type, in `push` as soon as
 * the content shows what it is not, in `finish`, after the last byte, when it is not whole. Keeps less than 4 KiB.
 */
export function startRecognition(filename: string): FedWalk<RecognisedFile> {
  const expected = typeOfName(filename);
  return startWalk((file) => recognise(file, expected));
}

/** Recognises a file whose name says nothing, such as an image out of a feed. Throws RefusedFile. */
export function recogniseContent(bytes: Buffer): RecognisedFile {
  for (const { begins, extensions } of FILE_TYPES) {
    const found = begins && tryAs(extensions[0], bytes); // text does not show by its content what it is
    if (found) return found;
  }
  throw new RefusedFile('type', 'it is neither an image nor a PDF document');
}

function* recognise(file: ArrivingFile, expected: FileType): Walk<RecognisedFile> {
  const head = (yield* peek(file, SIGNATURE_BYTES)).toString('latin1');
  if (head === '') throw new RefusedFile('damaged', 'The file is empty.');
  if (expected.begins?.test(head) === false) throw mismatch(expected, head);
  const size = yield* expected.walk(file);
  return { mediaType: expected.mediaType, extension: expected.extensions[0], ...size };
}

/** Judged by the name as it will be shown, so that nobody sees another extension than the one that was checked. */
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
    ? `it is ${actual.name}. Give it a name that ends in .${actual.extensions[0]}.`
    : 'its content is something else.';
  return new RefusedFile('type', `The name says that the file is ${expected.name}, but ${detail}`);
}

function tryAs(extension: string, bytes: Buffer): RecognisedFile | undefined {
  const recognition = startRecognition(`file.${extension}`);
  try {
    recognition.push(bytes);
    return recognition.finish();
  } catch (error) {
    if (error instanceof RefusedFile && error.kind === 'type') return undefined;
    throw error;
  }
}

const TAIL_BYTES = 2048;
const PDF_VERSION = /^%PDF-\d\.\d$/;

// White space of PDF includes the zero byte (ISO 32000-1, 7.2.2). Nothing else may follow the end.
const PDF_END = /^startxref[\s\0]+(\d{1,15})[\s\0]+%%EOF[\s\0]*$/;

/** A PDF begins at its first byte and ends with the place of its cross-reference table, which must be in the file. */
function* walkPdf(file: ArrivingFile): Walk<object> {
  const head = yield* take(file, 8);
  if (!PDF_VERSION.test(head.toString('latin1'))) throw damagedPdf('it does not begin as a PDF does');
  let tail = head;
  while (yield* hasMore(file)) {
    const bytes = file.atHand();
    tail = Buffer.concat([tail, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
    file.skip(bytes.length);
  }
  const end = tail.lastIndexOf('startxref');
  const table = Number(PDF_END.exec(tail.toString('latin1', Math.max(end, 0)))?.[1] ?? 0);
  const endPosition = file.position() - tail.length + end;
  // Zero stands at the end of the first part of a file made for viewing while loading: the rest is missing.
  if (table === 0 || table >= endPosition) throw damagedPdf('it has no valid end and may have been cut short');
  return {};
}

function damagedPdf(what: string): RefusedFile {
  return new RefusedFile('damaged', `The PDF document is damaged: ${what}.`);
}

// The "binary data bytes" of the MIME Sniffing Standard, section 3: what no text holds.
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

/** The whole file must be UTF-8, or UTF-16 with a byte order mark, without control characters of binary data. */
function* walkText(file: ArrivingFile): Walk<object> {
  const mark = (yield* peek(file, 2)).toString('hex');
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8';
  const decoder = new TextDecoder(encoding, { fatal: true });
  while (yield* hasMore(file)) {
    const bytes = file.atHand();
    if (BINARY.test(decode(decoder, bytes))) throw notText();
    file.skip(bytes.length);
  }
  decode(decoder);
  return {};
}

/** The next part of the text; without bytes, its end, where no character may be left unfinished. */
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

const MAX_BYTES = 255;
// A longer one is no extension that any program knows.
const MAX_EXTENSION_BYTES = 16;

// Controls, what is ignored in display (DI), among it the marks that turn the direction of writing, and what is no
// character. What joins or varies the signs of some scripts and emoji stays (zero-width joiners, variation selectors,
// tags of flags), and so does white space.
const INVISIBLE = /[[\p{Cc}\p{DI}\p{NChar}]--[\t-\r\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e007f}]]/gv;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

// Names of devices, with any extension ("Naming Files, Paths, and Namespaces" of Windows).
const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?= *(?:\.|$))/i;

/** The name for display, on one line and at most 255 bytes of UTF-8; `fallback` where nothing of it is left. */
export function cleanFilename(name: string, fallback: string): string {
  const base = name.toWellFormed().replace(INVISIBLE, '').split(/[/\\]/).at(-1) ?? '';
  const trimmed = trimEnds(base.replace(/\s+/g, ' ').normalize('NFC'));
  if (!VISIBLE.test(trimmed)) return fallback;
  return shorten(RESERVED.test(trimmed) ? `_${trimmed}` : trimmed);
}

/** Without leading dots, which hide a file, trailing ones, which Windows drops, and spaces at either end. */
function trimEnds(name: string): string {
  return name.replace(/^[. ]+/, '').replace(/(?<![. ])[. ]+$/, '');
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const found = /\.[^. ]+$/.exec(name)?.[0] ?? '';
  const extension = Buffer.byteLength(found) <= MAX_EXTENSION_BYTES ? found : '';
  const stem = name.slice(0, name.length - extension.length);
  return trimEnds(cut(stem, MAX_BYTES - Buffer.byteLength(extension))) + extension;
}

/** As many whole characters as fit. */
function cut(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
