import { refuseInTransaction } from '../db/open-database.ts';
import { decodeXmlText } from './entities.ts';

/** An XML document exceeds a limit: too long, too deep, a name too long, too many elements, attributes or prefixes. */
export class XmlLimitError extends Error {
  override name = 'XmlLimitError';
}

/** Receives an XML document's tags and texts as ranges of indices. A tag callback that returns false ends the scan. */
type XmlHandler = {
  startTag(tag: XmlStartTag): boolean;
  endTag(name: string, at: number, end: number): boolean;
  text(start: number, end: number): void;
  cdata(start: number, end: number): void;
  skipped(): void;
};

/** A scan reuses one object for all its start tags: copy the values that you keep. */
export type XmlStartTag = {
  name: string;
  start: number;
  attributesStart: number;
  attributesEnd: number;
  end: number;
  selfClosing: boolean;
};

export const MAX_NAME_LENGTH = 256;
export const MAX_ATTRIBUTES = 256;
const MAX_LENGTH = 64 * 1024 * 1024;

const STOP = -1;
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();
const SPACE = 0x20; // the space character; all other white space has lower codes
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const SLASH = 0x2f;
const LESS = 0x3c;
const EQUALS = 0x3d;
const GREATER = 0x3e;

/** What follows the `<` of a tag, comment, declaration or instruction; any other `<` is text. */
const AFTER_LESS = /[A-Za-z_:/!?\x80-\uffff]/;
/** An XML attribute: a name, and a value in quotes or up to white space; allows a missing name or closing quote. */
const ATTRIBUTE =
  /([^\0-\x20=/"']+|(?==))(?:[\0-\x20]*=[\0-\x20]*(?:"([^"]*)"|'([^']*)'|["']?([^\0-\x20]*)))?/g;
/** Matches brackets in a document type with an internal subset, and skips values, comments and instructions. */
const SUBSET = /"[^"]*"?|'[^']*'?|<!--[^]*?(?:-->|$)|<\?[^]*?(?:\?>|$)|[[\]>]/g;

/**
 * Scans XML as found in the wild, in linear time: a `<` that begins no markup is text, tags need not match, and
 * documents may be cut off. Document types are skipped, so no entity is ever declared or fetched. Throws XmlLimitError.
 * Returns the index of the next markup; the text's length if there is none, or a callback has ended the scan.
 */
export function scanXml(source: string, handler: XmlHandler, from = 0, to = source.length): number {
  refuseInTransaction('reading XML');
  if (source.length > MAX_LENGTH) throw new XmlLimitError(`longer than ${MAX_LENGTH} characters`);
  const tag: XmlStartTag = { name: '', start: 0, attributesStart: 0, attributesEnd: 0, end: 0, selfClosing: false };
  let textStart = from;
  let open = nextMarkup(source, from);
  while (open < to) {
    if (open > textStart) handler.text(textStart, open);
    textStart = readMarkup(source, open, tag, handler);
    if (textStart === STOP) return source.length;
    open = nextMarkup(source, textStart);
  }
  if (textStart < to) handler.text(textStart, to);
  return open;
}

function nextMarkup(source: string, from: number): number {
  let at = source.indexOf('<', from);
  while (at !== -1 && !beginsMarkup(source.charCodeAt(at + 1))) at = source.indexOf('<', at + 1);
  return at === -1 ? source.length : at;
}

function beginsMarkup(code: number): boolean {
  const letter = code | 0x20;
  return (letter >= 0x61 && letter <= 0x7a) || code === SLASH || AFTER_LESS.test(String.fromCharCode(code));
}

/** The attributes between two indexes, names in lower case, values decoded; the first of equal names counts. */
export function readAttributes(source: string, start: number, end: number): ReadonlyMap<string, string> {
  if (start >= end) return NO_ATTRIBUTES;
  const attributes = new Map<string, string>();
  const written = source.slice(start, end);
  ATTRIBUTE.lastIndex = 0;
  for (let found = ATTRIBUTE.exec(written); found !== null; found = ATTRIBUTE.exec(written)) {
    addAttribute(attributes, (found[1] ?? '').toLowerCase(), found[2] ?? found[3] ?? found[4] ?? '');
  }
  return attributes;
}

function addAttribute(attributes: Map<string, string>, name: string, value: string): void {
  if (name === '' || attributes.has(name)) return;
  if (name.length > MAX_NAME_LENGTH) throw new XmlLimitError(`an attribute name over ${MAX_NAME_LENGTH} characters`);
  if (attributes.size >= MAX_ATTRIBUTES) throw new XmlLimitError(`more than ${MAX_ATTRIBUTES} attributes`);
  attributes.set(name, decodeXmlText(value));
}

function readMarkup(source: string, open: number, tag: XmlStartTag, handler: XmlHandler): number {
  switch (source[open + 1]) {
    case '/': return readEndTag(source, open, handler);
    case '!': return readDeclaration(source, open, handler);
    case '?':
      handler.skipped();
      return endOfInstruction(source, open);
    default: return readStartTag(source, open, tag, handler);
  }
}

function readStartTag(source: string, open: number, tag: XmlStartTag, handler: XmlHandler): number {
  const nameEnd = endOfName(source, open + 1);
  const close = source.charCodeAt(nameEnd) === GREATER ? nameEnd : endOfTag(source, nameEnd);
  if (close === source.length) return close;
  tag.selfClosing = source.charCodeAt(close - 1) === SLASH && close > nameEnd;
  tag.name = source.slice(open + 1, nameEnd);
  tag.start = open;
  tag.attributesStart = nameEnd;
  tag.attributesEnd = tag.selfClosing ? close - 1 : close;
  tag.end = source.charCodeAt(close) === GREATER ? close + 1 : close;
  return handler.startTag(tag) ? tag.end : STOP;
}

/** The index of the `>` that ends a start tag, else of the next `<`, else the text's length. Skips quoted values. */
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

function endOfDocumentType(source: string, from: number): number {
  let depth = 0;
  SUBSET.lastIndex = from;
  for (let [token] = SUBSET.exec(source) ?? []; token !== undefined; [token] = SUBSET.exec(source) ?? []) {
    if (token === '>' && depth === 0) return SUBSET.lastIndex;
    if (token === '[') depth += 1;
    else if (token === ']') depth -= 1;
  }
  return source.length;
}

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
