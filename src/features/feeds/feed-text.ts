import { singleLine } from '../../platform/markup/control-characters.ts';
import { decodeEntities, escapeHtml } from '../../platform/markup/entities.ts';
import { textOf, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { parseDate } from './parse-date.ts';

/** With a semicolon any name, without one only what cannot be part of a word or an address. */
const REFERENCE = /&(?:#\d{1,8}|#x[0-9a-f]{1,7}|[a-z][a-z0-9]{1,31});|&(?:#\d{2,7}|amp|lt|gt|quot|nbsp)(?![a-z0-9=])/gi;
const ANY_TAG = /<(?:\/?[a-z]|!)[^<>]*>/gi;
const INLINE_NAMES = 'a abbr b big br cite code del div em font h1 h2 h3 h4 h5 h6 i img ins kbd mark nobr p q s small span '
  + 'strike strong sub sup tt u wbr';
const INLINE_TAG = new RegExp(`</?(?:${INLINE_NAMES.replaceAll(' ', '|')})(?:\\s[^<>]*)?/?>`, 'gi');
const WORD_BREAK = /<(?:br|\/?(?:p|div|h[1-6]|li|ul|ol|tr|td|table|blockquote))(?:\s[^<>]*)?\/?>/gi;
const LOOKS_LIKE_HTML = /<\/[a-z][a-z0-9]*\s*>|<(?:br|img|wbr|hr|p)(?:\s[^<>]*)?\/?>/i;

/**
 * One line of plain text from a title whose markup is not declared. Inline tags go when they look meant as such;
 * `The <b> tag` keeps its words. References are decoded once more: double encoding is common in feeds.
 */
export function titleText(decoded: string): string {
  const untagged = LOOKS_LIKE_HTML.test(decoded) ? decoded.replace(WORD_BREAK, ' ').replace(INLINE_TAG, '') : decoded;
  return oneLine(decodeOnceMore(untagged));
}

/** One line of plain text from HTML. */
export function htmlToText(html: string): string {
  return oneLine(decodeOnceMore(html.replace(WORD_BREAK, ' ').replace(ANY_TAG, '')));
}

/** Plain text as HTML; line breaks are kept. */
export function textToHtml(text: string): string {
  return escapeHtml(text.trim()).replace(/\r?\n/g, '<br>\n');
}

/** Whether text that may be HTML or plain contains a tag. */
export function looksLikeHtml(text: string): boolean {
  return text.includes('<') && LOOKS_LIKE_HTML.test(text);
}

/** Text that may be HTML or plain, as HTML. */
export function undeclaredToHtml(text: string): string {
  return looksLikeHtml(text) ? text : textToHtml(decodeOnceMore(text));
}

/** The text of an element on one line, or null where there is none. */
export function lineOf(element: XmlElement | undefined): string | null {
  const text = element === undefined ? '' : oneLine(textOf(element));
  return text === '' ? null : text;
}

/** The first of those children, in the order of the names, that has text; on one line. */
export function firstLine(element: XmlElement, names: readonly string[]): string | null {
  for (const name of names) {
    for (const child of element.children) {
      const line = child.name === name ? lineOf(child) : null;
      if (line !== null) return line;
    }
  }
  return null;
}

/** The first readable date among those children, in the order of the names; unix ms or null. */
export function firstDate(element: XmlElement, names: readonly string[]): number | null {
  for (const name of names) {
    for (const child of element.children) {
      const date = child.name === name ? parseDate(textOf(child)) : null;
      if (date !== null) return date;
    }
  }
  return null;
}

/** White space, also the hard kind, to single spaces. */
export function oneLine(text: string): string {
  const trimmed = text.trim();
  return /[^\S ]|  |[\x00-\x1f\x7f-\x9f]/.test(trimmed) ? singleLine(trimmed) : trimmed;
}

function decodeOnceMore(text: string): string {
  return text.includes('&') ? text.replace(REFERENCE, decodeEntities) : text;
}
