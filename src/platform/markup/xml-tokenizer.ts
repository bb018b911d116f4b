import { refuseInTransaction } from '../db/open-database.ts';
import { decodeXmlText } from './entities.ts';

/** A document or element is beyond what this reader takes: too long, too deep, too many of something. */
export class XmlLimitError extends Error {
  override name = 'XmlLimitError';
}

/** Receives the pieces of a document as ranges of it. A tag callback that returns false ends the scan. */
type XmlHandler = {
  startTag(tag: XmlStartTag): boolean;
  /** `at` is the index of the end tag's `<`, `end` the one after its `>`. */
  endTag(name: string, at: number, end: number): boolean;
  text(start: number, end: number): void;
  /** The range between `<![CDATA[` and `]]>`. */
  cdata(start: number, end: number): void;
  /** A comment, processing instruction or document type was passed over. */
  skipped(): void;
};

/** One object serves all start tags of a scan: copy values out of it to keep them. */
export type XmlStartTag = {
  name: string;
  start: number;
  attributesStart: number;
  attributesEnd: number;
  /** After the `>`. */
  end: number;
  selfClosing: boolean;
};

export const MAX_NAME_LENGTH = 256;
export const MAX_ATTRIBUTES = 256;
const MAX_LENGTH = 64 * 1024 * 1024;

const STOP = -1;
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();
const SPACE = 0x20; // and, below it, the other white space
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const SLASH = 0x2f;
const LESS = 0x3c;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const QUESTION = 0x3f;
const EXCLAMATION = 0x21;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Reads XML as it is found in the wild and never rejects it: broken markup is text, tags need not match, and documents
 * may be cut off. Document types are skipped, so no entity is ever declared or fetched.
 * Linear in the length of the document. Throws XmlLimitError. Returns where the next `<` is.
 */
export function scanXml(source: string, handler: XmlHandler, from = 0, to = source.length): number {
  refuseInTransaction('reading XML');
  if (source.length > MAX_LENGTH) throw new XmlLimitError(`longer than ${MAX_LENGTH} characters`);
  const tag: XmlStartTag = { name: '', start: 0, attributesStart: 0, attributesEnd: 0, end: 0, selfClosing: false };
  let textStart = from;
  let open = source.indexOf('<', from);
  while (open !== -1 && open < to) {
    const next = source.charCodeAt(open + 1);
    if (!isMarkup(next)) {
      open = source.indexOf('<', open + 1);
      continue;
    }
    if (open > textStart) handler.text(textStart, open);
    const end = readMarkup(source, open, next, tag, handler);
    if (end === STOP) return source.length;
    textStart = end;
    open = source.indexOf('<', end);
  }
  if (textStart < to) handler.text(textStart, to);
  return open === -1 ? source.length : open;
}

/** The attributes between two indexes, names in lower case, values decoded; of duplicates the first counts. */
export function readAttributes(source: string, start: number, end: number): ReadonlyMap<string, string> {
  let at = skipSpace(source, start, end);
  if (at >= end) return NO_ATTRIBUTES;
  const attributes = new Map<string, string>();
  while (at < end) {
    const nameEnd = endOfAttributeName(source, at, end);
    const equals = skipSpace(source, nameEnd, end);
    const hasValue = equals < end && source.charCodeAt(equals) === EQUALS;
    const value = hasValue ? readValue(source, skipSpace(source, equals + 1, end), end) : { text: '', end: equals };
    addAttribute(attributes, source.slice(at, nameEnd).toLowerCase(), value.text);
    at = skipSpace(source, Math.max(value.end, at + 1), end);
  }
  return attributes;
}

function addAttribute(attributes: Map<string, string>, name: string, value: string): void {
  if (name === '' || attributes.has(name)) return;
  if (name.length > MAX_NAME_LENGTH) throw new XmlLimitError(`an attribute name over ${MAX_NAME_LENGTH} characters`);
  if (attributes.size >= MAX_ATTRIBUTES) throw new XmlLimitError(`more than ${MAX_ATTRIBUTES} attributes`);
  attributes.set(name, decodeXmlText(value));
}

/** A value in quotes, or without them up to the next white space. */
function readValue(source: string, at: number, end: number): { text: string; end: number } {
  const quote = source.charAt(at);
  const isQuoted = quote === '"' || quote === "'";
  const close = isQuoted ? source.indexOf(quote, at + 1) : -1;
  if (close !== -1 && close < end) return { text: source.slice(at + 1, close), end: close + 1 };
  let bareEnd = at;
  while (bareEnd < end && source.charCodeAt(bareEnd) > SPACE) bareEnd += 1;
  return { text: source.slice(isQuoted ? at + 1 : at, bareEnd), end: bareEnd };
}

function endOfAttributeName(source: string, from: number, end: number): number {
  for (let at = from; at < end; at += 1) {
    const code = source.charCodeAt(at);
    if (code <= SPACE || code === EQUALS || code === SLASH || code === QUOTE || code === APOSTROPHE) return at;
  }
  return end;
}

function skipSpace(source: string, from: number, end: number): number {
  let at = from;
  while (at < end && source.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

function isMarkup(code: number): boolean {
  return isNameStart(code) || code === SLASH || code === EXCLAMATION || code === QUESTION;
}

function isNameStart(code: number): boolean {
  const letter = code | 0x20;
  return (letter >= 0x61 && letter <= 0x7a) || code === 0x5f || code === 0x3a || code >= 0x80;
}

/** The index after the piece of markup at `open`, or STOP. */
function readMarkup(source: string, open: number, next: number, tag: XmlStartTag, handler: XmlHandler): number {
  if (next === SLASH) return readEndTag(source, open, handler);
  if (next === EXCLAMATION) return readDeclaration(source, open, handler);
  if (next === QUESTION) {
    handler.skipped();
    return endOfInstruction(source, open);
  }
  return readStartTag(source, open, tag, handler);
}

function readStartTag(source: string, open: number, tag: XmlStartTag, handler: XmlHandler): number {
  const nameEnd = endOfName(source, open + 1);
  const close = source.charCodeAt(nameEnd) === GREATER ? nameEnd : endOfTag(source, nameEnd);
  if (close === source.length) return close; // cut off inside the tag
  tag.selfClosing = source.charCodeAt(close - 1) === SLASH && close > nameEnd;
  tag.name = source.slice(open + 1, nameEnd);
  tag.start = open;
  tag.attributesStart = nameEnd;
  tag.attributesEnd = tag.selfClosing ? close - 1 : close;
  tag.end = source.charCodeAt(close) === GREATER ? close + 1 : close;
  return handler.startTag(tag) ? tag.end : STOP;
}

/** The index of the `>` that ends a start tag, or of the `<` before which it is missing; those in quotes are passed. */
export function endOfTag(source: string, from: number): number {
  let afterEquals = false;
  for (let at = from; at < source.length; at += 1) {
    const code = source.charCodeAt(at);
    if (code === GREATER || code === LESS) return at;
    if (afterEquals && (code === QUOTE || code === APOSTROPHE)) {
      const closing = source.indexOf(code === QUOTE ? '"' : "'", at + 1);
      if (closing === -1) return indexOrEnd(source, '>', at);
      at = closing;
      afterEquals = false;
    } else if (code > SPACE) afterEquals = code === EQUALS;
  }
  return source.length;
}

function endOfName(source: string, from: number): number {
  let at = from;
  for (; at < source.length; at += 1) {
    const code = source.charCodeAt(at);
    if (code <= SPACE || code === GREATER || code === SLASH || code === LESS) break;
  }
  if (at - from > MAX_NAME_LENGTH) throw new XmlLimitError(`a name over ${MAX_NAME_LENGTH} characters`);
  return at;
}

function readEndTag(source: string, open: number, handler: XmlHandler): number {
  const nameEnd = endOfName(source, open + 2);
  const close = indexOrEnd(source, '>', nameEnd);
  const end = Math.min(close + 1, source.length);
  return handler.endTag(source.slice(open + 2, nameEnd), open, end) ? end : STOP;
}

/** CDATA, comment, document type, or anything else that begins with `<!`. */
function readDeclaration(source: string, open: number, handler: XmlHandler): number {
  if (source.startsWith('[CDATA[', open + 2)) {
    const close = indexOrEnd(source, ']]>', open + 9);
    handler.cdata(open + 9, close);
    return Math.min(close + 3, source.length);
  }
  handler.skipped();
  if (source.startsWith('--', open + 2)) return Math.min(indexOrEnd(source, '-->', open + 4) + 3, source.length);
  if (/^doctype$/i.test(source.slice(open + 2, open + 9))) return endOfDocumentType(source, open + 9);
  return Math.min(indexOrEnd(source, '>', open) + 1, source.length);
}

/** Passes over an internal subset with its quoted values, comments and instructions, none of which is read. */
function endOfDocumentType(source: string, from: number): number {
  let depth = 0;
  for (let at = from; at < source.length; at += 1) {
    const code = source.charCodeAt(at);
    if (code === GREATER && depth === 0) return at + 1;
    if (code === OPEN_BRACKET) depth += 1;
    else if (code === CLOSE_BRACKET) depth -= 1;
    else if (code === QUOTE) at = indexOrEnd(source, '"', at + 1);
    else if (code === APOSTROPHE) at = indexOrEnd(source, "'", at + 1);
    else if (code === LESS && source.startsWith('!--', at + 1)) at = indexOrEnd(source, '-->', at + 4) + 2;
    else if (code === LESS && source.charCodeAt(at + 1) === QUESTION) at = indexOrEnd(source, '?>', at + 2) + 1;
  }
  return source.length;
}

/** Up to `?>`; where that is missing before the next tag, up to `>`. */
function endOfInstruction(source: string, open: number): number {
  const nextTag = indexOrEnd(source, '<', open + 1);
  const instruction = source.slice(open, nextTag);
  const proper = instruction.indexOf('?>', 2);
  if (proper !== -1) return open + proper + 2;
  const improper = instruction.indexOf('>');
  return improper === -1 ? nextTag : open + improper + 1;
}

function indexOrEnd(source: string, wanted: string, from: number): number {
  const index = source.indexOf(wanted, from);
  return index === -1 ? source.length : index;
}
