import { VOID_ELEMENTS } from './element-rules.ts';
import { escapeHtml } from './entities.ts';
import { attributesOf, type XmlElement } from './xml-tree.ts';
import { scanXml, type XmlHandler } from './xml-tokenizer.ts';

/** How a CDATA section inside markup is meant: as text (XHTML) or as HTML source (RSS in the wild). */
export type CdataMeaning = 'text' | 'html';

/**
 * What an element holds, written as HTML: `<br/>` becomes `<br>`, `<p/>` becomes `<p></p>`, prefixes of XHTML, comments
 * and stray end tags go, elements left open are closed. Not sanitised.
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

/** Text between children. Its references mean the same in HTML, so they are copied as they are. */
function writeText(element: XmlElement, start: number, end: number, cdata: CdataMeaning, parts: string[]): void {
  if (start >= end) return;
  const { source } = element;
  if (!element.hasSections) {
    parts.push(source.slice(start, end).replaceAll('<', '&lt;'));
    return;
  }
  const writer: XmlHandler = {
    startTag: () => true,
    endTag: () => true,
    text: (from, to) => parts.push(source.slice(from, to).replaceAll('<', '&lt;')),
    cdata: (from, to) => parts.push(cdata === 'html' ? source.slice(from, to) : escapeHtml(source.slice(from, to))),
    skipped: () => undefined,
  };
  scanXml(source, writer, start, end);
}
