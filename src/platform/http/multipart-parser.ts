import { readPartHead, type HeadLimits, type PartHead } from './multipart-headers.ts';
import { HttpError } from './http-error.ts';

/*
 * An incremental parser of multipart/form-data (RFC 7578, RFC 2046), for pieces of any size. If the
 * standards leave a choice, the parser drops no byte silently and accepts no ambiguous body.
 *
 * - A boundary counts only as a whole line: CRLF, two dashes, boundary, spaces or tabs, CRLF. The first may begin the
 *   body; two more dashes make the last, which may end it. If other characters follow the boundary (`--boundaryX`), the
 *   line is data. Up to MAX_PADDING spaces and tabs may follow a boundary.
 * - Before the first boundary, only empty lines are allowed. Bytes after the last boundary are ignored.
 * - A body without its last boundary is an error. A part whose content begins with the boundary line is an error,
 *   because the grammar and common practice disagree on whether the part is over.
 * - A part with a filename is a file, whatever its type; any other part is a field. A part that is multipart itself
 *   is not split into parts.
 * - The rules for the headers of a part are in `multipart-headers.ts`.
 */

export type MultipartEvent =
  | { kind: 'part'; head: PartHead }
  | { kind: 'data'; bytes: Buffer } // bytes of the current part's body
  | { kind: 'part-end' }
  | { kind: 'end' };

type MultipartParser = {
  /** Takes more of a request's body once `next` returns null. Multipart events share memory with pieces of the body. */
  write(piece: Buffer): void;
  end(): void;
  /** The next event; null if more bytes are needed. Throws 400 for a malformed body, 413 for a body over a limit. */
  next(): MultipartEvent | null;
};

/** `headerBytes`: maximum size of all headers of a part. */
export type ParserLimits = HeadLimits & { parts: number; headerBytes: number };

type BoundaryLine =
  | { kind: 'part' | 'last'; end: number }
  | { kind: 'data' } // the line only begins with the boundary, so it is data
  | { kind: 'undecided' }; // the parser needs more bytes to decide

type WholeLine = Extract<BoundaryLine, { end: number }>;

const MAX_PADDING = 256; // maximum number of spaces and tabs behind a boundary, which are held in memory
const [TAB, LF, CR, SPACE, DASH] = [0x09, 0x0a, 0x0d, 0x20, 0x2d];
const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);
const DATA: BoundaryLine = { kind: 'data' };
const UNDECIDED: BoundaryLine = { kind: 'undecided' };

/** Creates a parser that keeps at most a header block or a boundary line in memory between two pieces. */
export function createMultipartParser(boundary: string, limits: ParserLimits): MultipartParser {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const dashBoundary = delimiter.subarray(2);
  let step: () => MultipartEvent | null = beforeFirstPart;
  let buffer: Buffer = NOTHING;
  let at = 0; // the bytes before `at` are parsed
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

  /** Reads from the CRLF behind a part's boundary on, so that HEAD_END is found even if the part has no headers. */
  function inHead(): MultipartEvent | null {
    if (parts === limits.parts) throw new HttpError(413, `The body may have at most ${limits.parts} parts.`);
    const end = buffer.indexOf(HEAD_END, at);
    const known = (end === -1 ? buffer.length - 3 : end) - at - 2;
    if (known > limits.headerBytes) {
      throw new HttpError(413, `The headers of a part of the form may have at most ${limits.headerBytes} bytes.`);
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
    if (line.kind !== 'data') throw new HttpError(400, 'A part of the form has no headers and no body.');
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
      step = () => {
        pass(line);
        return { kind: 'part-end' };
      };
      return data(found) ?? step();
    }
  }

  function looseData(): MultipartEvent {
    step = inData;
    return { kind: 'data', bytes: loose };
  }

  function afterLastPart(): MultipartEvent | null {
    at = buffer.length;
    return isOver ? { kind: 'end' } : null;
  }

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
    if (end === buffer.length) [buffer, at] = [NOTHING, 0]; // lets V8 free the buffer
    else at = end;
    return { kind: 'data', bytes };
  }

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
        [loose, buffer, step] = [rest, piece, looseData]; // no copy of a large piece for the sake of a few bytes
      } else {
        buffer = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      }
    },
    end: () => void (isOver = true),
    next: () => step(),
  };
}

function readBoundaryLine(bytes: Buffer, from: number, isAll: boolean): BoundaryLine {
  const dashes = bytes[from] !== DASH ? 0 : bytes[from + 1] === DASH ? 2 : 1;
  if (dashes === 1) return from + 1 < bytes.length || isAll ? DATA : UNDECIDED;
  const padding = from + dashes;
  const end = skipPadding(bytes, padding);
  if (end - padding > MAX_PADDING) throw new HttpError(400, 'The body has too many spaces after a boundary.');
  const isLast = dashes === 2;
  if (end === bytes.length && isAll) return isLast ? { kind: 'last', end } : DATA;
  if (end === bytes.length || (bytes[end] === CR && end + 1 === bytes.length && !isAll)) return UNDECIDED;
  if (bytes[end] !== CR || bytes[end + 1] !== LF) return DATA;
  return { kind: isLast ? 'last' : 'part', end };
}

function skipPadding(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === SPACE || bytes[at] === TAB) at++;
  return at;
}
