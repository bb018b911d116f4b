import { isUtf8 } from 'node:buffer';
import { essenceOf, readParameters } from './headers.ts';
import { HttpError } from './reply.ts';

/*
 * multipart/form-data (RFC 7578, RFC 2046), read from pieces of a body however they are cut. What the standards leave
 * open is decided so that no byte is lost in silence and no two readings of one body are possible:
 *
 * - A boundary counts only as a whole line: CRLF, two dashes, boundary, spaces or tabs, CRLF. Where more follows
 *   (`--boundaryX`) the line is data. Spaces and tabs behind a boundary are allowed, up to 256.
 * - Before the first boundary there may be empty lines and nothing else. What comes after the last is ignored.
 * - A body without its last boundary is an error. So is a part that begins with the boundary line: grammar and common
 *   practice disagree on whether that part is over.
 * - Lines end in CRLF. A bare CR or LF, a control character, a folded line, a space before the colon or bytes that are
 *   not UTF-8 in the headers of a part are errors. So is a header or parameter that comes twice.
 * - Every part needs `Content-Disposition: form-data` with a name, which may be empty; `name*` is ignored. Names are
 *   UTF-8 with %22, %0D and %0A undone; a backslash stands for itself. `filename*`, which some programs send although
 *   RFC 7578 §4.2 forbids it, wins over `filename` and is an error unless it is UTF-8 as RFC 8187 has it.
 * - A part with a filename is a file whatever its type, any other a field. Nested multipart is data like any other.
 * - A Content-Transfer-Encoding other than 7bit, 8bit or binary is an error: nothing is decoded, nothing kept encoded.
 */

export type MultipartEvent =
  | { kind: 'part'; head: PartHead }
  | { kind: 'data'; bytes: Buffer } // of the current part; a view of what was written
  | { kind: 'part-end' }
  | { kind: 'end' };

export type MultipartParser = {
  /** Takes the next piece of the body, after `next` returned null. The piece must not change afterwards. */
  write(piece: Buffer): void;
  /** Says that the body is over. */
  end(): void;
  /** The next event, null when more must be written first. 400 for a malformed body, 413 for one over a limit. */
  next(): MultipartEvent | null;
};

/** `headerBytes`: of the headers of one part together. */
export type ParserLimits = HeadLimits & { parts: number; headerBytes: number };

/** What follows a boundary: `end` is where its line ends, before the CRLF or at the end of the body. */
type BoundaryLine =
  | { kind: 'part' | 'last'; end: number }
  | { kind: 'data' } // the boundary is only the beginning of a line
  | { kind: 'undecided' }; // more bytes are needed

type WholeLine = Extract<BoundaryLine, { end: number }>;

const MAX_PADDING = 256; // bytes of spaces and tabs behind a boundary; they are not kept for ever
const [TAB, LF, CR, SPACE, DASH] = [0x09, 0x0a, 0x0d, 0x20, 0x2d];
const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);
const PART_END: MultipartEvent = { kind: 'part-end' };
const DATA: BoundaryLine = { kind: 'data' };
const UNDECIDED: BoundaryLine = { kind: 'undecided' };

/** Keeps at most a header block or a boundary line between two pieces; finding is left to `Buffer.indexOf`. */
export function createMultipartParser(boundary: string, limits: ParserLimits): MultipartParser {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const dashBoundary = delimiter.subarray(2);
  let step: () => MultipartEvent | null = beforeFirstPart;
  let buffer: Buffer = NOTHING;
  let at = 0; // what is before it is done with
  let loose: Buffer = NOTHING; // data that looked like the beginning of a delimiter until the next piece came
  let parts = 0;
  let isOver = false;

  function beforeFirstPart(): MultipartEvent | null {
    while (buffer[at] === CR && buffer[at + 1] === LF) at += 2;
    if (buffer[at] === CR && at + 1 === buffer.length) return more();
    const line = lineHere();
    if (line.kind === 'undecided') return more();
    if (line.kind === 'data') throw new HttpError(400, 'The body does not begin with its boundary.');
    pass(line);
    return step();
  }

  /** `at` is on the CRLF behind the boundary, so that no headers at all look like the end of some. */
  function inHead(): MultipartEvent | null {
    if (parts === limits.parts) throw new HttpError(413, `The body may have at most ${limits.parts} parts.`);
    const end = buffer.indexOf(HEAD_END, at);
    const known = (end === -1 ? buffer.length - 3 : end) - at - 2;
    if (known > limits.headerBytes) {
      throw new HttpError(413, `The headers of a part may have at most ${limits.headerBytes} bytes.`);
    }
    if (end === -1) return more();
    const head = readPartHead(buffer.subarray(at + 2, Math.max(at + 2, end)), limits);
    parts++;
    at = end + HEAD_END.length;
    step = beforeData;
    return { kind: 'part', head };
  }

  function beforeData(): MultipartEvent | null {
    const line = lineHere();
    if (line.kind === 'undecided') return more();
    if (line.kind !== 'data') throw new HttpError(400, 'A part has no headers and no body.');
    step = inData;
    return inData();
  }

  function inData(): MultipartEvent | null {
    for (let from = at; ;) {
      const found = buffer.indexOf(delimiter, from);
      if (found === -1) return data(buffer.length - begunDelimiter()) ?? more();
      from = found + delimiter.length;
      const line = readBoundaryLine(buffer, from, isOver);
      if (line.kind === 'data') continue;
      if (line.kind === 'undecided') return data(found) ?? more();
      step = () => afterData(line);
      return data(found) ?? step();
    }
  }

  function afterData(line: WholeLine): MultipartEvent {
    pass(line);
    return PART_END;
  }

  function looseData(): MultipartEvent {
    step = inData;
    return { kind: 'data', bytes: loose };
  }

  function afterLastPart(): MultipartEvent | null {
    at = buffer.length;
    return isOver ? { kind: 'end' } : null;
  }

  /** What is at `at`: a whole boundary line, the beginning of one, or something else. */
  function lineHere(): BoundaryLine {
    if (at < buffer.length && buffer[at] !== DASH) return { kind: 'data' };
    const end = Math.min(at + dashBoundary.length, buffer.length);
    if (buffer.compare(dashBoundary, 0, end - at, at, end) !== 0) return { kind: 'data' };
    if (end - at === dashBoundary.length) return readBoundaryLine(buffer, end, isOver);
    return { kind: 'undecided' };
  }

  function pass(line: WholeLine): void {
    at = line.end;
    step = line.kind === 'part' ? inHead : afterLastPart;
  }

  function data(end: number): MultipartEvent | null {
    if (end === at) return null;
    const bytes = buffer.subarray(at, end);
    if (end === buffer.length) [buffer, at] = [NOTHING, 0]; // its taker may have freed it when `next` is called again
    else at = end;
    return { kind: 'data', bytes };
  }

  /** How many of the last bytes may be the beginning of a delimiter, which has a CR only as its first byte. */
  function begunDelimiter(): number {
    const tail = buffer.subarray(Math.max(at, buffer.length - delimiter.length + 1));
    const found = tail.lastIndexOf(CR);
    const length = found === -1 ? 0 : tail.length - found;
    return length > 0 && tail.compare(delimiter, 0, length, found) === 0 ? length : 0;
  }

  /** Whether a delimiter that may have begun in `rest` may go on in `piece`. */
  function goesOn(rest: Buffer, piece: Buffer): boolean {
    const from = Math.min(rest.length, delimiter.length);
    const length = Math.min(piece.length, delimiter.length - from);
    return piece.compare(delimiter, from, from + length, 0, length) === 0;
  }

  function more(): null {
    if (isOver) throw new HttpError(400, 'The body ends before its last boundary.');
    return null;
  }

  return {
    write(piece) {
      const rest = buffer.subarray(at);
      at = 0;
      if (rest.length > 0 && step === inData && !goesOn(rest, piece)) {
        [loose, buffer, step] = [rest, piece, looseData]; // no copy of a large piece for the sake of two bytes
      } else {
        buffer = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      }
    },
    end: () => void (isOver = true),
    next: () => step(),
  };
}

/** Tells what the bytes behind a boundary make of it; `from` is the first of them, `isAll` that no more will come. */
function readBoundaryLine(bytes: Buffer, from: number, isAll: boolean): BoundaryLine {
  const dashes = countDashes(bytes, from);
  if (dashes === 1) return from + 1 < bytes.length || isAll ? DATA : UNDECIDED;
  const padding = from + dashes;
  const end = skipPadding(bytes, padding);
  if (end - padding > MAX_PADDING) throw new HttpError(400, 'There are too many spaces after a boundary.');
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

/** What the headers of a part say. Without a filename it is a field; `type` is as declared, unchecked. */
export type PartHead = { name: string; filename: string | null; type: string };

/** `headers`: header lines of one part. */
export type HeadLimits = { headers: number; nameBytes: number; filenameBytes: number };

const BCHARS = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/; // RFC 2046 §5.1.1
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00-\x08\x0a-\x1f\x7f]*)$/; // RFC 9110 §5.1, §5.5
const EXTENDED = /^utf-8'[\w-]*'((?:%(?![01][0-9a-f]|7f)[0-9a-f]{2}|[!#$&+.^_`|~0-9a-z-])+)$/i; // RFC 8187 §3.2.1
const IDENTITY_ENCODINGS = ['7bit', '8bit', 'binary'];
const UTF8_NAMES = ['utf-8', 'utf8', 'us-ascii'];
const DEFAULT_TYPE = 'text/plain'; // RFC 7578 §4.4

/**
 * The boundary named by a request's Content-Type header lines. 415 when they do not say multipart/form-data, 400 when
 * the boundary is missing, given twice or not of the characters and length of RFC 2046, or the header comes twice.
 */
export function readBoundary(contentTypes: readonly string[]): string {
  const [contentType = ''] = contentTypes;
  if (contentTypes.length > 1) throw new HttpError(400, 'The request has more than one Content-Type.');
  if (essenceOf(contentType) !== 'multipart/form-data') {
    throw new HttpError(415, 'The body must be multipart/form-data.', { headers: { accept: 'multipart/form-data' } });
  }
  const boundary = readParameters(contentType.trim())?.parameters.get('boundary');
  if (boundary === undefined) throw new HttpError(400, 'The Content-Type does not name one boundary.');
  if (!BCHARS.test(boundary)) {
    throw new HttpError(400, 'The boundary must have 1 to 70 of the characters that RFC 2046 allows.');
  }
  return boundary;
}

/** Reads the header lines of a part, without the empty one. 400 for what is malformed, 413 for what is too much. */
export function readPartHead(block: Buffer, limits: HeadLimits): PartHead {
  const headers = readHeaders(block, limits.headers);
  const encoding = headers.get('content-transfer-encoding') ?? 'binary';
  if (!IDENTITY_ENCODINGS.includes(encoding.toLowerCase())) {
    throw new HttpError(400, 'A part has a Content-Transfer-Encoding. Files and fields must be sent as they are.');
  }
  const { name, filename } = readDisposition(headers.get('content-disposition'));
  requireLength('The name of a field', name, limits.nameBytes);
  requireLength('The name of a file', filename ?? '', limits.filenameBytes);
  return { name, filename, type: headers.get('content-type') || DEFAULT_TYPE };
}

/** The text of a field, `type` being what its part declares. 400 unless it is UTF-8, said or unsaid. */
export function decodeField(name: string, type: string, bytes: Buffer): string {
  const charset = readParameters(type)?.parameters.get('charset') ?? 'utf-8';
  if (!UTF8_NAMES.includes(charset.toLowerCase()) || !isUtf8(bytes)) {
    throw new HttpError(400, `The field "${name}" is not UTF-8 text.`);
  }
  return bytes.toString('utf8');
}

function readHeaders(block: Buffer, limit: number): Map<string, string> {
  if (!isUtf8(block)) throw new HttpError(400, 'The headers of a part are not valid UTF-8.');
  const lines = block.toString('utf8').split('\r\n', limit + 1);
  if (lines.length > limit) throw new HttpError(413, `A part may have at most ${limit} headers.`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const found = LINE.exec(line);
    if (!found) throw new HttpError(400, 'A part has a malformed header.');
    const name = String(found[1]).toLowerCase();
    if (headers.has(name)) throw new HttpError(400, `A part has the header ${name} twice.`);
    headers.set(name, String(found[2]).trim());
  }
  return headers;
}

function readDisposition(header: string | undefined): { name: string; filename: string | null } {
  const disposition = readParameters((header ?? '').replace(/;$/, '').trimEnd());
  if (disposition?.value.toLowerCase() !== 'form-data') {
    throw new HttpError(400, 'A part has no proper Content-Disposition (quotation marks in names are written %22).');
  }
  const { parameters } = disposition;
  const name = parameters.get('name');
  if (name === undefined) throw new HttpError(400, 'A part has no name.');
  const [plain, extended] = [parameters.get('filename'), parameters.get('filename*')];
  const filename = extended === undefined ? plain && unescapeName(plain) : decodeExtended(extended);
  return { name: unescapeName(name), filename: filename ?? null };
}

/** A value of RFC 8187 in UTF-8, without control characters. */
function decodeExtended(value: string): string {
  try {
    const encoded = EXTENDED.exec(value)?.[1];
    if (encoded !== undefined) return decodeURIComponent(encoded);
  } catch { /* its bytes are not UTF-8 */ }
  throw new HttpError(400, 'The filename* of a part is not UTF-8 as RFC 8187 has it.');
}

/** Undoes exactly what browsers do to names (WHATWG HTML, multipart/form-data encoding algorithm). */
function unescapeName(text: string): string {
  return text.includes('%') ? text.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n') : text;
}

function requireLength(what: string, text: string, limit: number): void {
  if (Buffer.byteLength(text) > limit) throw new HttpError(413, `${what} may have at most ${limit} bytes.`);
}
