import { readParameters } from './header-parameters.ts';
import { HttpError } from './problem.ts';

/** What follows a boundary: `end` is where its line ends, before the CRLF or at the end of the body. */
export type BoundaryLine =
  | { kind: 'part' | 'last'; end: number }
  | { kind: 'data' } // the boundary is only the beginning of a line
  | { kind: 'undecided' }; // more bytes are needed

const BCHARS = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/; // RFC 2046 §5.1.1
const MAX_PADDING = 256; // bytes of spaces and tabs behind a boundary; they are not kept for ever
const [TAB, LF, CR, SPACE, DASH] = [0x09, 0x0a, 0x0d, 0x20, 0x2d];

const DATA: BoundaryLine = { kind: 'data' };
const UNDECIDED: BoundaryLine = { kind: 'undecided' };

/**
 * The boundary named by a request's Content-Type header lines. 415 when they do not say multipart/form-data, 400 when
 * the boundary is missing, given twice or not of the characters and length of RFC 2046, or the header comes twice.
 */
export function readBoundary(contentTypes: readonly string[]): string {
  const [contentType = ''] = contentTypes;
  if (contentTypes.length > 1) throw new HttpError(400, 'The request has more than one Content-Type.');
  if (contentType.split(';', 1)[0]?.trim().toLowerCase() !== 'multipart/form-data') {
    throw new HttpError(415, 'The body must be multipart/form-data.', { headers: { accept: 'multipart/form-data' } });
  }
  const boundary = readParameters(contentType.trim())?.parameters.get('boundary');
  if (boundary === undefined) throw new HttpError(400, 'The Content-Type does not name one boundary.');
  if (!BCHARS.test(boundary)) {
    throw new HttpError(400, 'The boundary must have 1 to 70 of the characters that RFC 2046 allows.');
  }
  return boundary;
}

/** Tells what the bytes behind a boundary make of it; `from` is the first of them, `isAll` that no more will come. */
export function readBoundaryLine(bytes: Buffer, from: number, isAll: boolean): BoundaryLine {
  const dashes = countDashes(bytes, from);
  if (dashes === 1) return from + 1 < bytes.length || isAll ? DATA : UNDECIDED;
  const padding = from + dashes;
  const end = skipPadding(bytes, padding);
  if (end - padding > MAX_PADDING) throw new HttpError(400, 'There are too many spaces behind a boundary.');
  const isLast = dashes === 2;
  if (end === bytes.length && isAll) return isLast ? { kind: 'last', end } : DATA;
  if (end === bytes.length || (bytes[end] === CR && end + 1 === bytes.length && !isAll)) return UNDECIDED;
  if (bytes[end] !== CR || bytes[end + 1] !== LF) return DATA;
  return { kind: isLast ? 'last' : 'part', end };
}

function countDashes(bytes: Buffer, from: number): 0 | 1 | 2 {
  if (bytes[from] !== DASH) return 0;
  return bytes[from + 1] === DASH ? 2 : 1;
}

function skipPadding(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB) at++;
  return at;
}
