import { refuseInTransaction } from '../db/open-database.ts';
import type { Reading } from './in-steps.ts';
import { decodeAttributeEntities, decodeEntities } from './entities.ts';

/** A tag's attributes: lower-case names, decoded values; the first of a repeated name wins. */
export type Attributes = ReadonlyMap<string, string>;

/** Receives the tokens. Names are lower-case, text is decoded; comments, doctypes and raw text are skipped. */
type TokenReader = {
  startTag: (name: string, attributes: Attributes, selfClosing: boolean) => void;
  endTag: (name: string) => void;
  text: (text: string) => void;
  /** Whether the last tag left us inside svg or math, where CDATA exists and raw-text elements do not. */
  inForeignContent: () => boolean;
};

type Tag = { name: string; attributes: Attributes; selfClosing: boolean; end: number };

const NO_ATTRIBUTES: Attributes = new Map();
const MAX_ATTRIBUTES = 100;

/** Elements without content and end tag, those of older versions of HTML included. */
export const VOID_ELEMENTS = new Set([
  'area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr',
].flatMap((line) => line.split(' ')));

/** Elements inside which CDATA exists and raw-text elements do not. */
export const FOREIGN_ELEMENTS = new Set(['svg', 'math']);

/** Elements whose content is characters up to their end tag; `plaintext` never ends. */
const RAW_TEXT_ENDS = new Map(
  ['style', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript', 'textarea', 'title'].map((name) =>
    [name, new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi')]),
);

const SPACE = 0x20;
const EXCLAMATION = 0x21;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const QUESTION = 0x3f;

/** Reads markup the way browsers do (HTML Standard, 13.2.5): every string is readable, in one pass. */
export function tokenizingHtml(html: string, reader: TokenReader): Reading<void>['read'] {
  let at = 0;
  return (characters) => {
    refuseInTransaction('reading HTML');
    const until = Math.min(html.length, at + characters);
    while (at < until) {
      const open = endOfText(html, at);
      if (open > at) reader.text(decodeEntities(html.slice(at, open)));
      at = open < html.length ? readMarkup(html, open, reader) : open;
    }
    return at < html.length;
  };
}

/** The index of the next `<` that begins a tag or a comment; any other `<` is text. */
function endOfText(html: string, start: number): number {
  let open = html.indexOf('<', start);
  while (open !== -1 && !beginsMarkup(html, open + 1)) open = html.indexOf('<', open + 1);
  return open === -1 ? html.length : open;
}

function beginsMarkup(html: string, at: number): boolean {
  const code = html.charCodeAt(at);
  return isLetter(code) || code === EXCLAMATION || code === QUESTION || (code === SLASH && at + 1 < html.length);
}

function readMarkup(html: string, open: number, reader: TokenReader): number {
  const code = html.charCodeAt(open + 1);
  if (code === EXCLAMATION) return readDeclaration(html, open, reader);
  if (code === QUESTION) return after(html, '>', open + 2);
  if (code === SLASH) return readEndTag(html, open + 2, reader);
  return readStartTag(html, open + 1, reader);
}

function readStartTag(html: string, start: number, reader: TokenReader): number {
  const tag = readTag(html, start);
  if (tag === undefined) return html.length;
  reader.startTag(tag.name, tag.attributes, tag.selfClosing);
  return endOfRawText(html, tag, reader);
}

function readEndTag(html: string, start: number, reader: TokenReader): number {
  if (!isLetter(html.charCodeAt(start))) return after(html, '>', start);
  const tag = readTag(html, start);
  if (tag === undefined) return html.length;
  reader.endTag(tag.name);
  return tag.end;
}

function readDeclaration(html: string, open: number, reader: TokenReader): number {
  if (html.startsWith('--', open + 2)) return endOfComment(html, open + 4);
  if (!html.startsWith('[CDATA[', open + 2) || !reader.inForeignContent()) return after(html, '>', open + 2);
  const end = html.indexOf(']]>', open + 9);
  reader.text(html.slice(open + 9, end === -1 ? html.length : end));
  return end === -1 ? html.length : end + 3;
}

function endOfComment(html: string, start: number): number {
  if (html.startsWith('>', start)) return start + 1;
  if (html.startsWith('->', start)) return start + 2;
  const end = /--!?>/g;
  end.lastIndex = start;
  return end.test(html) ? end.lastIndex : html.length;
}

function after(html: string, character: string, start: number): number {
  const found = html.indexOf(character, start);
  return found === -1 ? html.length : found + 1;
}

/** The tag whose name begins at `start`, or undefined when the input ends inside it: then it is no tag at all. */
function readTag(html: string, start: number): Tag | undefined {
  const nameEnd = endOfTagName(html, start);
  const name = lowerCase(html.slice(start, nameEnd));
  if (html.charCodeAt(nameEnd) === GREATER) {
    return { name, attributes: NO_ATTRIBUTES, selfClosing: false, end: nameEnd + 1 };
  }
  return readTagWithAttributes(html, nameEnd, name);
}

function readTagWithAttributes(html: string, start: number, name: string): Tag | undefined {
  const attributes = new Map<string, string>();
  let at = skipSpace(html, start);
  while (at < html.length) {
    const code = html.charCodeAt(at);
    if (code === GREATER) return { name, attributes, selfClosing: false, end: at + 1 };
    if (code !== SLASH) at = readAttribute(html, at, attributes);
    else if (html.charCodeAt(at + 1) === GREATER) return { name, attributes, selfClosing: true, end: at + 2 };
    else at += 1;
    at = skipSpace(html, at);
  }
  return undefined;
}

/** Reads one attribute and returns the index after it; the end of the input when its quote is never closed. */
function readAttribute(html: string, start: number, attributes: Map<string, string>): number {
  const nameEnd = endOfAttributeName(html, start);
  const equals = skipSpace(html, nameEnd);
  if (html.charCodeAt(equals) !== EQUALS) {
    addAttribute(attributes, html.slice(start, nameEnd), '');
    return equals;
  }
  const valueStart = skipSpace(html, equals + 1);
  const quote = html.charCodeAt(valueStart);
  const isQuoted = quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE;
  const from = isQuoted ? valueStart + 1 : valueStart;
  const end = isQuoted ? html.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", from) : endOfUnquoted(html, from);
  if (end === -1) return html.length;
  addAttribute(attributes, html.slice(start, nameEnd), html.slice(from, end));
  return isQuoted ? end + 1 : end;
}

function addAttribute(attributes: Map<string, string>, rawName: string, rawValue: string): void {
  const name = lowerCase(rawName);
  if (attributes.size >= MAX_ATTRIBUTES || attributes.has(name)) return;
  attributes.set(name, decodeAttributeEntities(rawValue));
}

/** The index of the next token after this start tag: after the content, for an element of raw text. */
function endOfRawText(html: string, tag: Tag, reader: TokenReader): number {
  const isScript = tag.name === 'script';
  const end = RAW_TEXT_ENDS.get(tag.name);
  if (!isScript && end === undefined && tag.name !== 'plaintext') return tag.end;
  if (reader.inForeignContent()) return tag.end;
  if (isScript) return endOfScript(html, tag.end);
  if (end === undefined) return html.length;
  end.lastIndex = tag.end;
  return end.exec(html)?.index ?? html.length;
}

/** A script that opens a comment and in it `<script` goes on beyond the next `</script` (13.2.5.17 to 31). */
function endOfScript(html: string, start: number): number {
  const marks = /<!--|-->|<(\/?)script(?=[\t\n\f\r />])/gi;
  marks.lastIndex = start;
  let isEscaped = false;
  let isDoubleEscaped = false;
  for (let mark = marks.exec(html); mark !== null; mark = marks.exec(html)) {
    if (mark[0] === '<!--') {
      isEscaped = true;
      marks.lastIndex -= 2;
    } else if (mark[0] === '-->') {
      isEscaped = isDoubleEscaped = false;
    } else if (mark[1] === '') {
      isDoubleEscaped = isEscaped;
    } else if (!isDoubleEscaped) {
      return mark.index;
    } else {
      isDoubleEscaped = false;
    }
  }
  return html.length;
}

function endOfTagName(html: string, start: number): number {
  let end = start;
  while (end < html.length && !endsTagName(html.charCodeAt(end))) end += 1;
  return end;
}

function endsTagName(code: number): boolean {
  return code === GREATER || code === SLASH || isSpace(code);
}

/** An attribute name may begin with `=`, but not go on with it. */
function endOfAttributeName(html: string, start: number): number {
  let end = start + 1;
  while (end < html.length && html.charCodeAt(end) !== EQUALS && !endsTagName(html.charCodeAt(end))) end += 1;
  return end;
}

function endOfUnquoted(html: string, start: number): number {
  let end = start;
  while (end < html.length && html.charCodeAt(end) !== GREATER && !isSpace(html.charCodeAt(end))) end += 1;
  return end;
}

function skipSpace(html: string, start: number): number {
  let at = start;
  while (isSpace(html.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === SPACE || code === 0x0a || code === 0x09 || code === 0x0d || code === 0x0c;
}

function isLetter(code: number): boolean {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

/** ASCII letters only: `toLowerCase` would make a `k` of the Kelvin sign. */
function lowerCase(name: string): string {
  return /[A-Z]/.test(name) ? name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : name;
}
