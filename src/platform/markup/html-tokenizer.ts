import { refuseInTransaction } from '../db/open-database.ts';
import { STEP, type Resumable } from './in-steps.ts';
import { decodeAttributeEntities, decodeEntities } from './entities.ts';

/** A tag's attributes: lower-case names, decoded values; the first of equal names wins. */
export type Attributes = ReadonlyMap<string, string>;

/** Callbacks for tags, with lower-case names, and for decoded text. The tokenizer skips comments. */
export type TokenReader = {
  startTag: (name: string, attributes: Attributes, selfClosing: boolean) => void;
  endTag: (name: string) => void;
  /** A long text arrives in several calls of `text`. */
  text: (text: string) => void;
  /** The content of a raw-text element such as `script` or `title`, as written; readers without `rawText` skip it. */
  rawText?: (name: string, written: string, attributes: Attributes) => void;
  /** Whether the innermost open element belongs to svg or math, where CDATA exists and raw-text elements do not. */
  inForeignContent: () => boolean;
};

type Tag = { name: string; attributes: Attributes; selfClosing: boolean; end: number };

const MAX_ATTRIBUTES = 100;
/** Character references in attribute values of more than MAX_DECODED characters stay, to save time. */
const MAX_DECODED = 65_536;

/** Elements without content and end tag, including elements of older versions of HTML. */
export const VOID_ELEMENTS = new Set(
  'area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr'.split(' '),
);

/** Elements whose content is characters up to their end tag; `plaintext` never ends. */
const RAW_TEXT_ENDS = new Map(
  ['style', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript', 'textarea', 'title'].map((name) =>
    [name, new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, 'gi')]),
);

/** The beginning of a tag, comment or declaration; any other `<` is text. */
const MARKUP = /<(?:[a-z!?]|\/[^])/gi;
const TAG_NAME = /[^\t\n\f\r />]*/y;
const BEFORE_ATTRIBUTE = /[\t\n\f\r /]*/y;
/** An attribute: a name, which may begin with `=`, and a value, quoted (the last quote may be missing) or unquoted. */
const ATTRIBUTE =
  /([^\t\n\f\r />][^\t\n\f\r />=]*)[\t\n\f\r ]*(?:=[\t\n\f\r ]*(?:"([^"]*)"?|'([^']*)'?|([^\t\n\f\r >]*)))?/y;

/** Returns a function that reads on in markup, as browsers do (HTML Standard, 13.2.5): every string is accepted. */
export function tokenizingHtml(html: string, reader: TokenReader): Resumable<void>['read'] {
  let [at, open] = [0, -1];
  return (characters) => {
    refuseInTransaction('reading HTML');
    const until = Math.min(html.length, at + characters);
    while (at < until) {
      if (open < at) open = endOfText(html, at);
      if (open === at) {
        at = readMarkup(html, open, reader);
      } else {
        const end = endOfPiece(html, at, open);
        reader.text(decodeEntities(html.slice(at, end)));
        at = end;
      }
    }
    return at < html.length;
  };
}

/** Reads the start tags of a short `noscript` with an image or frame, which stand for what a script would load. */
export function readNoscript(written: string, startTag: (name: string, attributes: Attributes) => void): void {
  if (written.length > STEP || !/<i(?:mg|frame)/i.test(written)) return;
  const ignored = (): void => undefined;
  const read = tokenizingHtml(written, { startTag, endTag: ignored, text: ignored, inForeignContent: () => false });
  while (read(STEP));
}

/** More characters than any named reference, such as `&amp;`, has. */
const REFERENCE = 40;

/** The end of a piece of about STEP characters, not within a CRLF or a reference shorter than REFERENCE. */
function endOfPiece(html: string, start: number, end: number): number {
  const cut = start + STEP;
  if (cut >= end) return end;
  const reference = html.slice(cut - REFERENCE, cut).lastIndexOf('&');
  if (reference >= 0) return cut - REFERENCE + reference;
  return html[cut] === '\n' ? cut - 1 : cut;
}

function endOfText(html: string, start: number): number {
  MARKUP.lastIndex = start;
  return MARKUP.exec(html)?.index ?? html.length;
}

function readMarkup(html: string, open: number, reader: TokenReader): number {
  switch (html[open + 1]) {
    case '!': return readDeclaration(html, open, reader);
    case '?': return after(html, '>', open + 2);
    case '/': return readEndTag(html, open + 2, reader);
    default: return readStartTag(html, open + 1, reader);
  }
}

function readStartTag(html: string, start: number, reader: TokenReader): number {
  const tag = readTag(html, start);
  if (tag === undefined) return html.length;
  reader.startTag(tag.name, tag.attributes, tag.selfClosing);
  const end = endOfRawText(html, tag, reader);
  if (end > tag.end) reader.rawText?.(tag.name, html.slice(tag.end, end), tag.attributes);
  return end;
}

function readEndTag(html: string, start: number, reader: TokenReader): number {
  if (!/[a-z]/i.test(html.charAt(start))) return after(html, '>', start);
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

function readTag(html: string, start: number): Tag | undefined {
  const name = lowerCase(matchAt(TAG_NAME, html, start)[0]);
  const attributes = new Map<string, string>();
  let at = start + name.length;
  for (;;) {
    const [before] = matchAt(BEFORE_ATTRIBUTE, html, at);
    at += before.length;
    if (at >= html.length) return undefined;
    if (html[at] === '>') return { name, attributes, selfClosing: before.endsWith('/'), end: at + 1 };
    const [attribute, written = '', double, single, bare] = matchAt(ATTRIBUTE, html, at);
    addAttribute(attributes, written, double ?? single ?? bare ?? '');
    at += attribute.length;
    if (attributes.size >= MAX_ATTRIBUTES) at = endOfAttributes(html, at);
  }
}

function endOfAttributes(html: string, start: number): number {
  let isValue = false;
  for (let at = start; at < html.length; at += 1) {
    const character = html[at] ?? '';
    if (character === '>') return at;
    if (isValue && (character === '"' || character === "'")) at = after(html, character, at + 1) - 1;
    if (character > ' ') isValue = character === '=';
  }
  return html.length;
}

function matchAt(expression: RegExp, html: string, at: number): RegExpExecArray {
  expression.lastIndex = at;
  return expression.exec(html) as RegExpExecArray;
}

function addAttribute(attributes: Map<string, string>, rawName: string, rawValue: string): void {
  const name = lowerCase(rawName);
  if (attributes.size >= MAX_ATTRIBUTES || attributes.has(name)) return;
  attributes.set(name, rawValue.length > MAX_DECODED ? rawValue : decodeAttributeEntities(rawValue));
}

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

/** The end of a script: after `<!--` and `<script`, the next `</script` does not count (HTML Standard, 13.2.5.26). */
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

/** Lowers ASCII letters only, because `toLowerCase` would make a `k` of the Kelvin sign. */
function lowerCase(name: string): string {
  return /[A-Z]/.test(name) ? name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : name;
}
