import { isUtf8 } from 'node:buffer';
import { essenceOf, readParameters } from './headers.ts';
import { HttpError } from './http-error.ts';

/*
 * Rules for the headers of a multipart/form-data body and of its parts, so that no input has two meanings:
 *
 * - Lines end in CRLF. These are errors in a part's headers: a bare CR or LF, another control character but tab, a
 *   folded line, a space before the colon, bytes that are not UTF-8, a header that comes twice, and in
 *   Content-Disposition a parameter that comes twice.
 * - Every part needs `Content-Disposition: form-data` with a name, which may be empty. `name*` is ignored. Names are
 *   UTF-8; the parser decodes %22, %0D and %0A in names, and a backslash is an ordinary character.
 * - Some programs send `filename*` although RFC 7578 §4.2 forbids it. `filename*` wins over `filename`, and must be
 *   UTF-8 in the form of RFC 8187. A file name in pieces (`filename*0`, RFC 2231) is an error, because the file would
 *   look like a field.
 * - A Content-Transfer-Encoding other than 7bit, 8bit or binary is an error: the hub decodes no transfer encoding.
 */

/** The parsed headers of a part; without a filename, the part is a field. `type`: declared by the client, unchecked. */
export type PartHead = { name: string; filename: string | null; type: string };

/** `headers`: the maximum number of header lines of a part. */
export type HeadLimits = { headers: number; nameBytes: number; filenameBytes: number };

const BCHARS = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/; // RFC 2046 §5.1.1
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\x00-\x08\x0a-\x1f\x7f]*)$/; // header lines of RFC 9110 §5
const EXTENDED = /^utf-8'[\w-]*'((?:%(?![01][0-9a-f]|7f)[0-9a-f]{2}|[!#$&+.^_`|~0-9a-z-])+)$/i; // RFC 8187 §3.2.1
const IDENTITY_ENCODINGS = ['7bit', '8bit', 'binary'];
const UTF8_NAMES = ['utf-8', 'utf8', 'us-ascii'];
const DEFAULT_TYPE = 'text/plain'; // RFC 7578 §4.4

/** The boundary in a request's Content-Type. Throws 415 for another type, 400 unless there is one valid boundary. */
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

/** Parses the header lines of a part. Throws 400 for malformed ones, 413 for too many lines or too long names. */
export function readPartHead(block: Buffer, limits: HeadLimits): PartHead {
  const headers = readHeaders(block, limits.headers);
  const encoding = headers.get('content-transfer-encoding') ?? 'binary';
  if (!IDENTITY_ENCODINGS.includes(encoding.toLowerCase())) {
    throw new HttpError(400, 'No part of a form may have Content-Transfer-Encoding: send files and fields unencoded.');
  }
  const { name, filename } = readDisposition(headers.get('content-disposition'));
  requireLength('The name of a form field', name, limits.nameBytes);
  requireLength('The name of a file', filename ?? '', limits.filenameBytes);
  return { name, filename, type: headers.get('content-type') || DEFAULT_TYPE };
}

/** Decodes a field. `type`: the Content-Type of its part. Throws 400 if it is not UTF-8 or has another charset. */
export function decodeField(name: string, type: string, bytes: Buffer): string {
  const charset = readParameters(type)?.parameters.get('charset') ?? 'utf-8';
  if (!UTF8_NAMES.includes(charset.toLowerCase()) || !isUtf8(bytes)) {
    throw new HttpError(400, `The field "${name}" is not UTF-8 text.`);
  }
  return bytes.toString('utf8');
}

function readHeaders(block: Buffer, limit: number): Map<string, string> {
  if (!isUtf8(block)) throw new HttpError(400, 'The headers of a part of the form are not valid UTF-8.');
  const lines = block.toString('utf8').split('\r\n', limit + 1);
  if (lines.length > limit) throw new HttpError(413, `A part of the form may have at most ${limit} headers.`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const found = LINE.exec(line);
    if (!found) throw new HttpError(400, 'A part of the form has a malformed header.');
    const name = String(found[1]).toLowerCase();
    if (headers.has(name)) throw new HttpError(400, `A part of the form has the header ${name} twice.`);
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
  if (name === undefined) throw new HttpError(400, 'A part of the form has no name.');
  if (parameters.keys().some((key) => key.startsWith('filename*') && key !== 'filename*')) {
    throw new HttpError(400, 'The name of a file is split into pieces (RFC 2231), which form data may not have.');
  }
  const [plain, extended] = [parameters.get('filename'), parameters.get('filename*')];
  const filename = extended === undefined ? plain && unescapeName(plain) : decodeExtended(extended);
  return { name: unescapeName(name), filename: filename ?? null };
}

function decodeExtended(value: string): string {
  try {
    const encoded = EXTENDED.exec(value)?.[1];
    if (encoded !== undefined) return decodeURIComponent(encoded);
  } catch { /* the bytes are not UTF-8 */ }
  throw new HttpError(400, 'The filename* of a part of the form is not the UTF-8 that RFC 8187 requires.');
}

/** Reverses how browsers encode names (WHATWG HTML, multipart/form-data encoding algorithm). */
function unescapeName(text: string): string {
  return text.includes('%') ? text.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n') : text;
}

function requireLength(what: string, text: string, limit: number): void {
  if (Buffer.byteLength(text) > limit) throw new HttpError(413, `${what} may have at most ${limit} bytes.`);
}
