import { isAscii, isUtf8 } from 'node:buffer';
import { WINDOWS_1252 } from './entities.ts';
import { atOnce, resumable, type Resumable } from './in-steps.ts';

type Utf32 = 'utf-32le' | 'utf-32be';

/** The XML declaration and the `meta` element of a page are searched in this many bytes at the start of a document. */
const [DECLARATION_REACH, META_REACH] = [1024, 32_768];
/** Bytes that are decoded at a time, in at most 10 ms; a multiple of four, for UTF-32. */
const PIECE_BYTES = 512 * 1024;
/** Of valid UTF-8, in about 3 ms. */
const UTF8_PIECE_BYTES = 2 * 1024 * 1024;
const ESCAPE = 0x1b;
const REPLACEMENT_CODE = 0xfffd;
const CONTROL = /[\x80-\x9f]/;

/**
 * Decodes a downloaded document; bad bytes become U+FFFD. The encoding comes from, in this order: byte order mark or
 * NUL pattern; a declared ISO-2022-JP, UTF-16 or UTF-32 that the bytes look like; valid UTF-8 despite any other
 * declaration; HTTP charset, XML declaration, `meta` element of a page; mostly valid UTF-8; windows-1252. A leading
 * byte order mark is dropped, and control characters above 127 become the characters of windows-1252.
 */
export function decodeText(bytes: Buffer, contentType: string | null): string {
  return atOnce(decodingText(bytes, contentType));
}

/** As `decodeText`, in steps. */
export function decodingText(bytes: Buffer, contentType: string | null): Resumable<string> {
  return resumable(decode(bytes, contentType));
}

/** Repairs text such as `Don\u0092t`, from programs that take windows-1252 for latin1. */
export function repairControls(text: string): string {
  if (!CONTROL.test(text)) return text;
  const units = Buffer.from(text, 'utf16le');
  for (let at = 0; at < units.length; at += 2) {
    const low = units[at] ?? 0;
    if (units[at + 1] === 0 && low >= 0x80 && low <= 0x9f) units.writeUInt16LE(WINDOWS_1252.charCodeAt(low - 0x80), at);
  }
  return units.toString('utf16le');
}

function* decode(bytes: Buffer, contentType: string | null): Generator<void, string> {
  const isPlain = !bytes.includes(ESCAPE) && !bytes.includes(0);
  if (isPlain && isAscii(bytes)) return bytes.toString('latin1');
  const wide = wideEncoding(bytes);
  if (wide !== null) return yield* decodeAs(bytes, wide);
  if (isPlain && isUtf8(bytes)) return yield* decodeUtf8(bytes); // whatever is declared, which takes longer to find
  const declared = declaredEncodings(bytes, contentType);
  // ISO-2022-JP writes Japanese in seven bits, so its bytes are always valid UTF-8.
  if (declared.includes('iso-2022-jp') && bytes.includes(ESCAPE)) return yield* decodeAs(bytes, 'iso-2022-jp');
  const wideDeclared = declared.find((encoding) => /^utf-(?:16|32)/.test(encoding));
  if (wideDeclared !== undefined && bytes.includes(0)) return yield* decodeAs(bytes, wideDeclared);
  if (isUtf8(bytes)) return yield* decodeUtf8(bytes);
  return yield* decodeDamaged(bytes, declared.filter((encoding) => !/^utf-(?:16|32)/.test(encoding)));
}

/** Detects UTF-16, UTF-32, and UTF-8 with a byte order mark, by the first four bytes (XML 1.0 appendix F). */
function wideEncoding(bytes: Buffer): string | null {
  const [a, b, c, d] = [bytes[0], bytes[1], bytes[2], bytes[3]];
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? 'utf-32le' : 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0 && b === 0) return (c === 0xfe && d === 0xff) || (c === 0 && isMarkupStart(d)) ? 'utf-32be' : null;
  if (isMarkupStart(a) && b === 0) return c === 0 && d === 0 ? 'utf-32le' : 'utf-16le';
  return a === 0 && isMarkupStart(b) && c === 0 ? 'utf-16be' : null;
}

function isMarkupStart(byte: number | undefined): boolean {
  return byte === 0x3c || byte === 0x7b || byte === 0x5b || byte === 0x20 || byte === 0x0a || byte === 0x0d;
}

function declaredEncodings(bytes: Buffer, contentType: string | null): string[] {
  const start = bytes.toString('latin1', 0, META_REACH);
  const http = /;\s*charset\s*=\s*["']?([^\s"';,]+)/i.exec(contentType ?? '')?.[1];
  const xml = /<\?xml\s[^>]*?encoding\s*=\s*["']?\s*([\w.:-]+)/i.exec(start.slice(0, DECLARATION_REACH))?.[1];
  const meta = /<meta\s[^<>]*?charset\s*=[\s"']*([\w.:-]+)/i.exec(start)?.[1];
  return [http, xml, meta].map(knownEncoding).filter((encoding) => encoding !== null);
}

/** The canonical name of an encoding label. The label us-ascii is ignored: it says nothing about bytes above 127. */
function knownEncoding(label: string | undefined): string | null {
  const name = label?.toLowerCase() ?? '';
  if (name === '' || name === 'us-ascii' || name === 'ascii') return null;
  if (name === 'utf-8' || name === 'utf8') return 'utf-8';
  if (/^(?:utf-?32|ucs-?4)/.test(name)) return /be$/.test(name) ? 'utf-32be' : 'utf-32le';
  try {
    return new TextDecoder(name).encoding;
  } catch {
    return null;
  }
}

/** The first declared encoding that fits, or UTF-8 without any, else windows-1252. UTF-8 fits if mostly valid. */
function* decodeDamaged(bytes: Buffer, declared: string[]): Generator<void, string> {
  for (const encoding of declared.length === 0 ? ['utf-8'] : declared) {
    const text = yield* decodeAs(bytes, encoding);
    if (encoding !== 'utf-8' || isMostlyUtf8(text)) return text;
  }
  return yield* decodeAs(bytes, 'windows-1252');
}

function isMostlyUtf8(text: string): boolean {
  let balance = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f) balance += unit === REPLACEMENT_CODE ? -1 : 1;
  }
  return balance > 0;
}

function* decodeAs(bytes: Buffer, encoding: string): Generator<void, string> {
  const decodePiece = decoderOf(encoding);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    pieces.push(repairControls(decodePiece(bytes.subarray(at, at + PIECE_BYTES))));
    if (bytes.length > PIECE_BYTES) yield;
  }
  return withoutMark(pieces.join('') + decodePiece());
}

/** Decodes valid UTF-8, several times as fast as TextDecoder. */
function* decodeUtf8(bytes: Buffer): Generator<void, string> {
  const pieces: string[] = [];
  for (let at = 0, end; at < bytes.length; at = end) {
    end = Math.min(at + UTF8_PIECE_BYTES, bytes.length);
    while (isWithinCharacter(bytes[end])) end--;
    pieces.push(repairControls(bytes.toString('utf8', at, end)));
    if (bytes.length > UTF8_PIECE_BYTES) yield;
  }
  return withoutMark(pieces.join(''));
}

function isWithinCharacter(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function decoderOf(encoding: string): (piece?: Buffer) => string {
  if (encoding === 'utf-32le' || encoding === 'utf-32be') return (piece) => (piece ? decodeUtf32(piece, encoding) : '');
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  // Without `stream: true`, Node 24.7 decodes the bytes 0x80 to 0x9F of windows-1252 as control characters.
  return (piece) => (piece ? decoder.decode(piece, { stream: true }) : decoder.decode());
}

/** Decodes UTF-32, which TextDecoder lacks. Surrogates, numbers beyond Unicode and cut characters become U+FFFD. */
function decodeUtf32(bytes: Buffer, encoding: Utf32): string {
  const units = Buffer.alloc(bytes.length + 2);
  let end = 0;
  const write = (unit: number): void => void (end = units.writeUInt16LE(unit, end));
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const code = encoding === 'utf-32le' ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    const isValid = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    if (code > 0xffff && isValid) write(0xd7c0 + (code >> 10));
    write(!isValid ? REPLACEMENT_CODE : code > 0xffff ? 0xdc00 + (code & 0x3ff) : code);
  }
  if (bytes.length % 4 !== 0) write(REPLACEMENT_CODE);
  return units.toString('utf16le', 0, end);
}
