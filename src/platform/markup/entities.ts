import { LEGACY_REFERENCES, NAMED_REFERENCES } from './named-entities.ts';

const NAMED = readNamedReferences(NAMED_REFERENCES);
const LEGACY = new Set(LEGACY_REFERENCES.trim().split(/\s+/));
const LONGEST_LEGACY_NAME = 6;

/** The windows-1252 characters of 0x80 to 0x9F; the five unused bytes stay control characters, as in latin1. */
export const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

const MAX_CODE_POINT = 0x10ffff;
const REPLACEMENT = '\ufffd';

/** A character reference (HTML Standard, 13.2.5.72): hexadecimal or decimal digits, or a name. */
const REFERENCE = /&(?:#x([0-9a-f]+);?|#([0-9]+);?|([a-z0-9]+)(;?))/gi;

/** What may be a character reference in XML; no name of HTML is longer than 31 characters. */
const XML_REFERENCE = /&[a-z0-9#]{1,38};/iy;
/** Nearly all references of feeds, most frequent first; looking for these takes two thirds of the time. */
const USUAL_REFERENCES = [['&lt;', '<'], ['&gt;', '>'], ['&quot;', '"'], ['&amp;', '&']] as const;

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes text for element content and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
}

/** Escapes text for element content only: quotation marks stay one byte. */
export function escapeText(text: string): string {
  return text.replace(/[&<>]/g, (sign) => ESCAPES[sign] ?? '');
}

/** Undoes `escapeHtml`, four times as fast as `decodeEntities`; other character references stay. */
export function unescapeHtml(text: string): string {
  return Object.entries(ESCAPES).reduceRight((part, [sign, escape]) => part.replaceAll(escape, sign), text);
}

/** Replaces the character references of HTML text (HTML Standard, 13.2.5.72); other text stays unchanged. */
export function decodeEntities(text: string): string {
  return decode(text, false);
}

/** Like `decodeEntities`, but `&copy=` and `&copyx` stay text, as in an attribute such as `?a=1&copy=2`. */
export function decodeAttributeEntities(text: string): string {
  return decode(text, true);
}

/**
 * Decodes the references of XML text once: numeric references, and names of XML and HTML, each with its semicolon.
 * A bare `&`, as in an unescaped address, stays, and so does an unknown name unless it begins with one of LEGACY.
 */
export function decodeXmlText(text: string): string {
  let [decoded, copied] = ['', 0];
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', Math.max(copied, at + 1))) {
    const [reference, character] = referenceAt(text, at);
    if (reference === '') continue;
    decoded += text.slice(copied, at) + character;
    copied = at + reference.length;
  }
  return copied === 0 ? text : decoded + text.slice(copied);
}

/** What stands at an `&`, and what it means; both empty if it is no reference. */
function referenceAt(text: string, at: number): readonly [reference: string, character: string] {
  for (const usual of USUAL_REFERENCES) if (text.startsWith(usual[0], at)) return usual;
  XML_REFERENCE.lastIndex = at;
  const reference = XML_REFERENCE.exec(text)?.[0] ?? '';
  return [reference, NAMED.get(reference.slice(1, -1)) ?? decodeEntities(reference)];
}

/** The text that a whole reference such as `&amp;` or `&#38;` stands for; undefined for an unknown name. */
export function referredText(reference: string): string | undefined {
  const [, hex, decimal] = /^&#(?:x([0-9a-f]+)|([0-9]+));$/i.exec(reference) ?? [];
  if (hex !== undefined) return characterFor(parseInt(hex, 16));
  return decimal === undefined ? NAMED.get(reference.slice(1, -1)) : characterFor(Number(decimal));
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
  if (!text.includes('&')) return text; // `replace` is slow
  return text.replace(REFERENCE, (written: string, hex: string | undefined, decimal: string | undefined,
    name: string, semicolon: string, at: number) => {
    if (hex !== undefined) return characterFor(parseInt(hex, 16));
    if (decimal !== undefined) return characterFor(Number(decimal));
    const value = semicolon && NAMED.get(name);
    return value || decodeLegacy(name, written, inAttribute, text.charAt(at + written.length));
  });
}

function decodeLegacy(name: string, written: string, inAttribute: boolean, next: string): string {
  for (let length = Math.min(name.length, LONGEST_LEGACY_NAME); length > 1; length -= 1) {
    const value = LEGACY.has(name.slice(0, length)) ? NAMED.get(name.slice(0, length)) : undefined;
    if (value === undefined) continue;
    const rest = written.slice(1 + length);
    return inAttribute && /^[a-z0-9=]/i.test(rest + next) ? written : value + rest;
  }
  return written;
}

/** The character of a code point. C1 controls are read as windows-1252 (HTML Standard, 13.2.5.80). */
function characterFor(codePoint: number): string {
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  if (codePoint === 0 || codePoint > MAX_CODE_POINT || isSurrogate) return REPLACEMENT;
  return WINDOWS_1252.charAt(codePoint - 0x80) || String.fromCodePoint(codePoint);
}

/** Returns the text escaped for XML, without the control characters that XML 1.0 forbids. */
export function escapeXml(text: string): string {
  return escapeHtml(text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, ''));
}
