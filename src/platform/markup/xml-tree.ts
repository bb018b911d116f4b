import { decodeXmlText, escapeHtml } from './entities.ts';
import { VOID_ELEMENTS } from './html-tokenizer.ts';
import { atOnce, type Resumable } from './in-steps.ts';
import { readAttributes, scanXml, XmlLimitError, type XmlStartTag } from './xml-tokenizer.ts';

/** An element as a range of its document: text and attributes are decoded on demand. */
export type XmlElement = {
  /** The name in lower case, with the well-known prefix of its namespace, or else with the document's own prefix. */
  name: string;
  source: string;
  start: number;
  attributesStart: number;
  attributesEnd: number;
  innerStart: number;
  innerEnd: number;
  end: number;
  /** Whether the element directly contains more than text and children, such as CDATA, comments or stray end tags. */
  hasSections: boolean;
  /** Whether the document ended before the element's end tag. */
  isCut: boolean;
  children: XmlElement[];
  attributes: ReadonlyMap<string, string> | null;
};

type XmlTreeOptions = {
  /** Maps a namespace URI (lower case, http, no slash at the end) to its well-known prefix; '' means no prefix. */
  namespaces: ReadonlyMap<string, string>;
  /**
   * Names of elements that never directly contain an element of their own name: a missing end tag is supplied. Their
   * default namespace, like the root's, does not change the names of elements without a prefix: it is often wrong.
   */
  siblings: ReadonlySet<string>;
  /** Index of the root's start tag; text before and after the root is ignored. */
  from: number;
};

/**
 * `prefixes`: the usual prefix of an XML namespace, such as `media`, by the prefix that a document declares for it.
 * `names`: the well-known names of elements by their names as written; made once for a scope, which saves a fifth of a
 * feed's parsing.
 */
type Scope = { prefixes: ReadonlyMap<string, string>; names: Map<string, string> };
/** `written`: the element's name as in its start tag. */
type OpenElement = { element: XmlElement; written: string; scope: Scope };

const DECLARATION = /\bxmlns(?::([\w.-]+))?\s*=\s*(?:"([^"]*)"|'([^']*)')/gi;

export const MAX_DEPTH = 256;
/** The most elements of a document; end tags that match no element count too. */
const MAX_ELEMENTS = 500_000;
/** The most prefixes with another meaning at an element and around it: an element that adds one copies them all. */
const MAX_PREFIXES = 64;
/** Void elements of HTML, without those whose names, such as link or source, have content in other XML. */
const VOID = new Set(['br', 'hr', 'img', 'wbr', 'input', 'embed']);

/** Parses XML, also malformed XML, to its root element; null without a start tag. Throws XmlLimitError. */
export function parseXmlTree(source: string, options: XmlTreeOptions): XmlElement | null {
  return atOnce(readXmlTree(source, options));
}

/** As `parseXmlTree`, in steps. */
export function readXmlTree(source: string, options: XmlTreeOptions): Resumable<XmlElement | null> {
  const open: OpenElement[] = [];
  let root: XmlElement | null = null;
  let count = 0;
  let at = options.from;
  const handler = { startTag, endTag, text, cdata: markSection, skipped: markSection };

  return {
    read(characters) {
      at = scanXml(source, handler, at, Math.min(at + characters, source.length));
      return at < source.length;
    },
    end() {
      for (const { element } of open) element.isCut = true;
      closeDownTo(0, source.length, source.length);
      return root;
    },
  };

  function startTag(tag: XmlStartTag): boolean {
    let parent = open.at(-1);
    const scope = scopeOf(tag, source, parent?.scope, options);
    const name = scope.names.get(tag.name) ?? rememberName(tag.name, scope);
    if (parent?.element.name === name && options.siblings.has(name)) {
      closeDownTo(open.length - 1, tag.start, tag.start);
      parent = open.at(-1);
    }
    const element = createElement(name, source, tag);
    if (parent === undefined) root = element;
    else parent.element.children.push(element);
    countUp();
    if (tag.selfClosing || VOID.has(name)) return parent !== undefined;
    if (open.length >= MAX_DEPTH) throw new XmlLimitError(`elements nested deeper than ${MAX_DEPTH}`);
    open.push({ element, written: tag.name, scope });
    return true;
  }

  function endTag(written: string, at: number, end: number): boolean {
    const index = innermostOf(open, written);
    if (index !== -1) {
      closeDownTo(index, at, end);
    } else {
      countUp();
      markSection();
    }
    return open.length > 0;
  }

  function countUp(): void {
    count += 1;
    if (count > MAX_ELEMENTS) throw new XmlLimitError(`more than ${MAX_ELEMENTS} elements`);
  }

  function closeDownTo(index: number, at: number, end: number): void {
    while (open.length > index) {
      const closing = open.pop();
      if (closing === undefined) return;
      closing.element.innerEnd = at;
      closing.element.end = open.length === index ? end : at;
    }
  }

  function markSection(): void {
    const current = open.at(-1);
    if (current !== undefined) current.element.hasSections = true;
  }

  function text(): void {}
}

/** The first if there are several. */
export function childOf(element: XmlElement, name: string): XmlElement | undefined {
  return element.children.find((child) => child.name === name);
}

export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name);
}

/** The decoded value of an attribute (its name in lower case), trimmed; undefined without the attribute. */
export function attributeOf(element: XmlElement, name: string): string | undefined {
  return attributesOf(element).get(name)?.trim();
}

function attributesOf(element: XmlElement): ReadonlyMap<string, string> {
  element.attributes ??= readAttributes(element.source, element.attributesStart, element.attributesEnd);
  return element.attributes;
}

const PASSING_TAGS = { startTag: () => true, endTag: () => true, skipped: () => undefined };

/** The decoded text of an element and its descendants, without tags. */
export function textOf(element: XmlElement): string {
  const { source, innerStart, innerEnd, hasSections, children } = element;
  if (children.length === 0) {
    if (!hasSections) return decodeXmlText(source.slice(innerStart, innerEnd));
    const only = onlySection(source, innerStart, innerEnd);
    if (only !== null) return only;
  }
  const parts: string[] = [];
  scanXml(source, {
    ...PASSING_TAGS,
    text: (start, end) => parts.push(decodeXmlText(source.slice(start, end))),
    cdata: (start, end) => parts.push(source.slice(start, end)),
  }, innerStart, innerEnd);
  return parts.join('');
}

/** Whether an element has no children, and no text but white space. */
export function isBlank(element: XmlElement): boolean {
  if (element.children.length > 0) return false;
  const text = element.hasSections ? textOf(element) : element.source.slice(element.innerStart, element.innerEnd);
  return text.trim() === '';
}

function onlySection(source: string, start: number, end: number): string | null {
  const open = source.indexOf('<', start);
  if (!source.startsWith('<![CDATA[', open)) return null;
  const close = source.indexOf(']]>', open);
  if (close === -1) return null;
  const before = source.slice(start, open);
  const after = source.slice(close + 3, end);
  return before.trim() === '' && after.trim() === '' ? source.slice(open + 9, close) : null;
}

/** The index of the innermost open element with that name, in whatever case; -1 if there is none. */
function innermostOf(open: OpenElement[], written: string): number {
  if (open.at(-1)?.written === written) return open.length - 1;
  const lower = written.toLowerCase();
  return open.findLastIndex((candidate) => candidate.written.toLowerCase() === lower);
}

function createElement(name: string, source: string, tag: XmlStartTag): XmlElement {
  const { start, attributesStart, attributesEnd, end } = tag;
  return {
    name, source, start, attributesStart, attributesEnd, innerStart: end, innerEnd: end, end,
    hasSections: false, isCut: false, children: [], attributes: null,
  };
}

/** The namespace scope inside a tag: the parent's scope, unless the tag gives prefixes a new meaning. */
function scopeOf(
  tag: XmlStartTag, source: string, inherited: Scope | undefined, { namespaces, siblings }: XmlTreeOptions,
): Scope {
  const outer = inherited ?? { prefixes: new Map(), names: new Map() };
  if (tag.attributesEnd - tag.attributesStart < 'xmlns=x'.length) return outer;
  const written = source.slice(tag.attributesStart, tag.attributesEnd);
  if (!written.includes('xmlns')) return outer;
  const keepsNames = inherited === undefined || siblings.has(tag.name.toLowerCase());
  let prefixes: Map<string, string> | undefined;
  for (const [, declared = '', quoted, single] of written.matchAll(DECLARATION)) {
    const prefix = declared.toLowerCase();
    const meant = keepsNames && prefix === '' ? '' : knownPrefix(prefix, quoted ?? single ?? '', namespaces);
    if (((prefixes ?? outer.prefixes).get(prefix) ?? prefix) === meant) continue;
    prefixes ??= new Map(outer.prefixes);
    prefixes.set(prefix, meant);
    if (prefixes.size > MAX_PREFIXES) throw new XmlLimitError(`more than ${MAX_PREFIXES} prefixes`);
  }
  return prefixes ? { prefixes, names: new Map() } : outer;
}

function knownPrefix(prefix: string, uri: string, namespaces: ReadonlyMap<string, string>): string {
  return namespaces.get(uri) ?? namespaces.get(plainUri(uri)) ?? prefix;
}

function plainUri(uri: string): string {
  return uri.trim().toLowerCase().replace(/\/$/, '').replace(/^https:/, 'http:');
}

function rememberName(written: string, { prefixes, names }: Scope): string {
  const lower = written.toLowerCase();
  const colon = lower.indexOf(':');
  const prefix = colon === -1 ? '' : lower.slice(0, colon);
  const known = prefixes.get(prefix) ?? prefix;
  const name = (known === '' ? '' : `${known}:`) + lower.slice(colon + 1);
  names.set(written, name);
  return name;
}

/** How a CDATA section inside markup is meant: as text (XHTML) or as HTML source (RSS in the wild). */
type CdataMeaning = 'text' | 'html';

/**
 * The content of an element as HTML, not sanitised; `<br/>` becomes `<br>`, `<p/>` becomes `<p></p>`. XHTML prefixes,
 * comments and stray end tags are removed; open elements are closed.
 */
export function innerHtml(element: XmlElement, cdata: CdataMeaning): string {
  const parts: string[] = [];
  writeContent(element, cdata, parts);
  return parts.join('');
}

function writeContent(element: XmlElement, cdata: CdataMeaning, parts: string[]): void {
  let at = element.innerStart;
  for (const child of element.children) {
    writeText(element, at, child.start, cdata, parts);
    writeElement(child, cdata, parts);
    at = child.end;
  }
  writeText(element, at, element.innerEnd, cdata, parts);
}

function writeElement(element: XmlElement, cdata: CdataMeaning, parts: string[]): void {
  parts.push('<', element.name);
  for (const [name, value] of attributesOf(element)) {
    if (!name.startsWith('xmlns')) parts.push(' ', name, '="', escapeHtml(value), '"');
  }
  parts.push('>');
  writeContent(element, cdata, parts);
  if (!VOID_ELEMENTS.has(element.name)) parts.push('</', element.name, '>');
}

/** Writes text between elements. Character references are copied, because they mean the same in XML and HTML. */
function writeText(element: XmlElement, start: number, end: number, cdata: CdataMeaning, parts: string[]): void {
  if (start >= end) return;
  const { source } = element;
  if (!element.hasSections) {
    parts.push(source.slice(start, end).replaceAll('<', '&lt;'));
    return;
  }
  scanXml(source, {
    ...PASSING_TAGS,
    text: (from, to) => parts.push(source.slice(from, to).replaceAll('<', '&lt;')),
    cdata: (from, to) => parts.push(cdata === 'html' ? source.slice(from, to) : escapeHtml(source.slice(from, to))),
  }, start, end);
}
