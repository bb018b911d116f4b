import { LEGACY_REFERENCES, NAMED_REFERENCES } from './named-entities.ts';

const NAMED = readNamedReferences(NAMED_REFERENCES);
const LEGACY = new Set(LEGACY_REFERENCES.trim().split(/\s+/));
const LONGEST_NAME = Math.max(...[...NAMED.keys()].map((name) => name.length));
const LONGEST_LEGACY_NAME = Math.max(...[...LEGACY].map((name) => name.length));

/** The characters of 0x80 to 0x9F; the five unused bytes keep the control character they would be in latin1. */
export const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

const MAX_CODE_POINT = 0x10ffff;
const REPLACEMENT = '\ufffd';

const HASH = 0x23;
const SEMICOLON = 0x3b;
const EQUALS = 0x3d;

/** The syntax of a reference; no name in HTML is longer than 33 characters. */
const REFERENCES = /&[a-z0-9#]{1,38};/gi;

/** A reference that was read: the text it stands for and the index after it. */
type Decoded = { value: string; end: number };

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text made safe for element content and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
}

/** Text made safe for element content alone: quotation marks stay one byte. */
export function escapeText(text: string): string {
  return text.replace(/[&<>]/g, (sign) => ESCAPES[sign] ?? '');
}

/** Replaces the character references of HTML text (HTML Standard, 13.2.5.72); other text stays unchanged. */
export function decodeEntities(text: string): string {
  return text.includes('&') ? decode(text, false) : text;
}

/** As `decodeEntities`, but `&copy=` and `&copyx` stay text, as in an attribute such as `?a=1&copy=2`. */
export function decodeAttributeEntities(text: string): string {
  return text.includes('&') ? decode(text, true) : text;
}

/**
 * Decodes the references of XML text once: numeric ones, the five of XML and those of HTML, each with its semicolon.
 * A bare `&`, as in an unescaped address, and an unknown name stay as they are.
 */
export function decodeXmlText(text: string): string {
  return text.includes('&') ? text.replace(REFERENCES, decodeEntities) : text;
}

function readNamedReferences(list: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const item of list.trim().split(/\s+/)) {
    const [codePoints = '', names = ''] = item.split(':');
    const value = String.fromCodePoint(...codePoints.split('+').map((digits) => parseInt(digits, 16)));
    for (const name of names.split(',')) values.set(name, value);
  }
  return values;
}

function decode(text: string, inAttribute: boolean): string {
  let decoded = '';
  let copied = 0;
  let ampersand = text.indexOf('&');
  while (ampersand !== -1) {
    const reference = readReference(text, ampersand + 1, inAttribute);
    if (reference !== undefined) {
      decoded += text.slice(copied, ampersand) + reference.value;
      copied = reference.end;
    }
    ampersand = text.indexOf('&', reference?.end ?? ampersand + 1);
  }
  return decoded + text.slice(copied);
}

/** Reads the reference whose text begins at `start`, just after the ampersand. */
function readReference(text: string, start: number, inAttribute: boolean): Decoded | undefined {
  if (text.charCodeAt(start) === HASH) return readNumericReference(text, start + 1);
  const nameEnd = endOfName(text, start);
  if (text.charCodeAt(nameEnd) === SEMICOLON) {
    const value = NAMED.get(text.slice(start, nameEnd));
    if (value !== undefined) return { value, end: nameEnd + 1 };
  }
  return readLegacyReference(text, start, nameEnd, inAttribute);
}

function endOfName(text: string, start: number): number {
  const limit = Math.min(text.length, start + LONGEST_NAME);
  let end = start;
  while (end < limit && isAlphanumeric(text.charCodeAt(end))) end += 1;
  return end;
}

function readLegacyReference(text: string, start: number, nameEnd: number, inAttribute: boolean): Decoded | undefined {
  for (let end = Math.min(nameEnd, start + LONGEST_LEGACY_NAME); end > start + 1; end -= 1) {
    const name = text.slice(start, end);
    if (!LEGACY.has(name)) continue;
    if (inAttribute && continuesText(text.charCodeAt(end))) return undefined;
    return { value: NAMED.get(name) ?? '', end };
  }
  return undefined;
}

function continuesText(code: number): boolean {
  return code === EQUALS || isAlphanumeric(code);
}

function readNumericReference(text: string, start: number): Decoded | undefined {
  const isHex = (text.charCodeAt(start) | 0x20) === 0x78;
  const base = isHex ? 16 : 10;
  const digitsStart = isHex ? start + 1 : start;
  let end = digitsStart;
  let codePoint = 0;
  for (let digit = digitAt(text, end); digit < base; digit = digitAt(text, end)) {
    codePoint = Math.min(codePoint * base + digit, MAX_CODE_POINT + 1);
    end += 1;
  }
  if (end === digitsStart) return undefined;
  return { value: characterFor(codePoint), end: text.charCodeAt(end) === SEMICOLON ? end + 1 : end };
}

/** The value of the digit at `index`, or a number above every base. */
function digitAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : 99;
}

/** C1 controls are read as windows-1252 (HTML Standard, 13.2.5.80). */
function characterFor(codePoint: number): string {
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  if (codePoint === 0 || codePoint > MAX_CODE_POINT || isSurrogate) return REPLACEMENT;
  return WINDOWS_1252.charAt(codePoint - 0x80) || String.fromCodePoint(codePoint);
}

function isAlphanumeric(code: number): boolean {
  const lower = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x7a);
}

