import { TextDecoder } from 'node:util';
import { hasMore, peek, RefusedFile, take, type ArrivingFile, type Walk } from './byte-walk.ts';

const TAIL_BYTES = 2048;
const PDF_VERSION = /^%PDF-\d\.\d$/;

// White space of PDF includes the zero byte (ISO 32000-1, 7.2.2). Nothing else may follow the end.
const PDF_END = /^startxref[\s\0]+(\d{1,15})[\s\0]+%%EOF[\s\0]*$/;

/** A PDF begins at its first byte and ends with the place of its cross-reference table, which must be in the file. */
export function* walkPdf(file: ArrivingFile): Walk<object> {
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
export function* walkText(file: ArrivingFile): Walk<object> {
  const decoder = new TextDecoder(encodingOf(yield* peek(file, 2)), { fatal: true });
  while (yield* hasMore(file)) {
    const bytes = file.atHand();
    if (BINARY.test(decode(decoder, bytes))) throw notText();
    file.skip(bytes.length);
  }
  decode(decoder);
  return {};
}

function encodingOf(head: Buffer): string {
  const mark = head.toString('hex');
  if (mark === 'fffe') return 'utf-16le';
  return mark === 'feff' ? 'utf-16be' : 'utf-8';
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
