import { escapeHtml } from '../../platform/markup/entities.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { attributeOf, innerHtml, textOf, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { htmlToText, looksLikeHtml, titleText } from './feed-text.ts';

type TextKind = 'text' | 'html' | 'xhtml' | 'other';

/** A title as one line of plain text. */
export function atomTitle(title: XmlElement | undefined): string {
  if (title === undefined) return '';
  const kind = kindOf(title);
  return kind === 'html' || kind === 'xhtml' ? htmlToText(atomHtml(title)) : titleText(sourceText(title));
}

/** An Atom text or content construct as HTML; '' for content that is neither text nor markup. */
export function atomHtml(element: XmlElement): string {
  const kind = kindOf(element);
  if (kind === 'other') return '';
  if (element.children.length > 0) return innerHtml(withoutDiv(element), kind === 'html' ? 'html' : 'text').trim();
  const text = sourceText(element).trim();
  return kind === 'html' || (kind === 'xhtml' && looksLikeHtml(text)) ? text : escapeHtml(text);
}

/** Atom 1.0 names the kind or a media type (RFC 4287, 3.1.1 and 4.1.3), Atom 0.3 a media type. */
function kindOf(element: XmlElement): TextKind {
  const type = attributeOf(element, 'type')?.split(';')[0]?.trim().toLowerCase() || 'text';
  const mode = attributeOf(element, 'mode')?.toLowerCase();
  if (type === 'html' || type === 'text/html') return mode === 'xml' ? 'xhtml' : 'html';
  if (type === 'xhtml' || type === 'application/xhtml+xml') return mode === 'escaped' ? 'html' : 'xhtml';
  if (type === 'text' || type.startsWith('text/')) return 'text';
  return mode === undefined && !type.includes('/') ? 'text' : 'other';
}

/** The decoded text, also out of Atom 0.3's base64. */
function sourceText(element: XmlElement): string {
  const text = textOf(element);
  const isBase64 = attributeOf(element, 'mode')?.toLowerCase() === 'base64';
  return isBase64 ? decodeText(Buffer.from(text, 'base64'), null) : text;
}

/** The `div` that wraps XHTML is no part of the content (RFC 4287, 3.1.1.3). */
function withoutDiv(element: XmlElement): XmlElement {
  const [only, second] = element.children;
  return only !== undefined && second === undefined && only.name === 'div' ? only : element;
}
