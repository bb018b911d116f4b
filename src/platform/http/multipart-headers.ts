import { isUtf8 } from 'node:buffer';
import { readParameters } from './header-parameters.ts';
import type { MultipartLimits } from './multipart-limits.ts';
import { HttpError } from './problem.ts';

/** What the headers of a part say. Without a filename it is a field; `type` is as declared, unchecked. */
export type PartHead = { name: string; filename: string | null; type: string };

type HeadLimits = Pick<MultipartLimits, 'headers' | 'nameBytes' | 'filenameBytes'>;

const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00-\x08\x0a-\x1f\x7f]*)$/; // RFC 9110 §5.1, §5.5
const IDENTITY_ENCODINGS = ['7bit', '8bit', 'binary'];
const DEFAULT_TYPE = 'text/plain'; // RFC 7578 §4.4

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
  const disposition = readParameters(header ?? '');
  if (disposition?.value.toLowerCase() !== 'form-data') {
    throw new HttpError(400, 'A part has no proper Content-Disposition (quotation marks in names are written %22).');
  }
  const { parameters } = disposition;
  const name = parameters.get('name');
  const filename = parameters.get('filename');
  if (name === undefined) throw new HttpError(400, 'A part has no name.');
  return { name: unescapeName(name), filename: filename === undefined ? null : unescapeName(filename) };
}

/** Undoes exactly what browsers do to names (WHATWG HTML, multipart/form-data encoding algorithm). */
function unescapeName(text: string): string {
  return text.includes('%') ? text.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n') : text;
}

function requireLength(what: string, text: string, limit: number): void {
  if (Buffer.byteLength(text) > limit) throw new HttpError(413, `${what} may have at most ${limit} bytes.`);
}
