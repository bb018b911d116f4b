import { hash } from 'node:crypto';

type ParameterizedValue = { value: string; parameters: Map<string, string> };

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"; // RFC 9110 §5.6.2
const VALUE = new RegExp(`${TOKEN}(?:/${TOKEN})?`, 'y');
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(${TOKEN})=(?:(${TOKEN})|"([^"]*)")`, 'y');

// Characters that RFC 8187 §3.2.1 wants encoded, but encodeURIComponent leaves as they are.
const ENCODED_TOO = /['()*]/g;

// Characters of a file name that would end or split the header, or name a folder.
const UNSAFE = /[\p{Cc}/\\]/gu;

/**
 * Parses `value; name=token; name="quoted"`. Returns null for malformed text and for a repeated parameter.
 * Within quotes a backslash is an ordinary character, as browsers send it; the escape \" of older programs is refused.
 */
export function readParameters(text: string): ParameterizedValue | null {
  const value = matchAt(VALUE, text, 0);
  if (value === null) return null;
  const parameters = new Map<string, string>();
  for (let at = value[0].length; at < text.length;) {
    const found = matchAt(PARAMETER, text, at);
    const name = found?.[1]?.toLowerCase();
    if (!found || name === undefined || parameters.has(name)) return null;
    parameters.set(name, found[2] ?? found[3] ?? '');
    at += found[0].length;
  }
  return { value: value[0], parameters };
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

/** The essence (type/subtype) of a media type in lower case, without its parameters; empty without a media type. */
export function essenceOf(mediaType: string | null | undefined): string {
  return mediaType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Whether an Accept header accepts every media type, as a browser's header does. */
export function acceptsAnything(header: string | undefined): boolean {
  return !header?.trim() || header.includes('*/*');
}

/** Whether an Accept header accepts this media type (RFC 9110 §12.5.1). */
export function accepts(header: string | undefined, mediaType: string): boolean {
  if (!header || acceptsAnything(header)) return true;
  const type = essenceOf(mediaType);
  const ranges = header.split(',').filter((range) => !/;\s*q=0(?:\.0*)?\s*$/i.test(range)).map(essenceOf);
  return ranges.some((range) => range === type || range === type.replace(/\/.*/, '/*'));
}

const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/; // RFC 9110 §12.4.2

/**
 * The values in lower case that an Accept or Accept-Encoding header lists, each with its greatest weight (`q`): 0 for a
 * malformed weight. For `text/plain; version=0.0.4` in the header, the returned map has the key `text/plain;0.0.4`.
 * Malformed values are left out.
 */
export function readWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const element of header.toLowerCase().split(',')) {
    const { value, parameters } = readParameters(element.trim()) ?? {};
    if (value === undefined) continue;
    const [weight = '1', version] = [parameters?.get('q'), parameters?.get('version')];
    const name = version === undefined ? value : `${value};${version}`;
    weights.set(name, Math.max(weights.get(name) ?? 0, WEIGHT.test(weight) ? Number(weight) : 0));
  }
  return weights;
}

/** A strong entity tag of the bytes (RFC 9110 §8.8.3). */
export function entityTag(body: string | Buffer): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
}

/** Whether If-None-Match names this entity, by weak comparison (RFC 9110 §13.1.2). */
export function matchesEntityTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

type ByteRange = { start: number; end: number }; // both included

/**
 * The part of a body of `size` bytes that a Range header requests (RFC 9110 §14.1.2); `unsatisfiable` means 416.
 * Undefined means the whole body: a server may ignore a Range with another unit, an invalid range or several ranges.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const set = /^bytes=(.*)$/i.exec(header?.trim() ?? '')?.[1] ?? '';
  // Empty list elements are ignored (RFC 9110 §5.6.1.2).
  const [only = '', ...others] = set.split(',').map((element) => element.trim()).filter((element) => element !== '');
  const found = /^(\d*)-(\d*)$/.exec(only);
  if (!found || others.length > 0) return undefined;
  const [, first = '', last = ''] = found;
  return first === '' ? suffix(last, size) : fromTo(Number(first), last === '' ? Infinity : Number(last), size);
}

function fromTo(first: number, last: number, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (last < first) return undefined;
  return first < size ? { start: first, end: Math.min(last, size - 1) } : 'unsatisfiable';
}

/** Content-Range cannot describe an empty part, so an empty body is sent whole. */
function suffix(digits: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  if (digits === '') return undefined;
  const length = Math.min(Number(digits), size);
  if (length > 0) return { start: size - length, end: size - 1 };
  return Number(digits) === 0 ? 'unsatisfiable' : undefined;
}

/** Whether If-Range lets Range count (RFC 9110 §13.1.5); a date never does, because the hub sends no Last-Modified. */
export function ifRangeAllows(header: string | undefined, etag: string): boolean {
  return header === undefined || header === etag && !etag.startsWith('W/');
}

/** A Content-Disposition (RFC 6266): an ASCII file name, and a UTF-8 name (RFC 8187) if the ASCII name differs. */
export function contentDisposition(kind: 'inline' | 'attachment', filename: string): string {
  const name = filename.toWellFormed().replace(UNSAFE, '_');
  if (name === '') return kind;
  const ascii = asciiName(name);
  const plain = `${kind}; filename="${ascii}"`;
  return ascii === name ? plain : `${plain}; filename*=UTF-8''${encode(name)}`;
}

function asciiName(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC').replace(/[^ -~]|["%]/gu, '_');
}

function encode(name: string): string {
  return encodeURIComponent(name).replace(ENCODED_TOO, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The value of the first cookie with this name in a Cookie header (RFC 6265 §5.4), or undefined. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** The `__Host-` prefix binds a cookie to its host, but browsers accept it over https only. */
export function cookieName(name: string, secure: boolean): string {
  return secure ? `__Host-${name}` : name;
}

type CookieOptions = { secure: boolean; maxAge: number };

/** A Set-Cookie value, HttpOnly, for the whole site, sent with same-site requests and links. `maxAge` in seconds. */
export function setCookie(name: string, value: string, { secure, maxAge }: CookieOptions): string {
  const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure ? '; Secure' : ''}`;
  return `${cookieName(name, secure)}=${value}; ${attributes}`;
}
