import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { decodeEntities, escapeHtml } from '../../platform/markup/entities.ts';
import { excerpt, plainText, singleLine } from '../../platform/markup/plain-text.ts';
import { webAddress } from '../../platform/markup/safe-url.ts';
import { attributeOf, textOf, type XmlElement } from '../../platform/markup/xml-tree.ts';
import { parseDate } from './parse-date.ts';

/** With a semicolon any name, without one only what cannot be part of a word or an address. */
const REFERENCE = /&(?:#\d{1,8}|#x[0-9a-f]{1,7}|[a-z][a-z0-9]{1,31});|&(?:#\d{2,7}|amp|lt|gt|quot|nbsp)(?![a-z0-9=])/gi;
const INLINE_NAMES = 'a abbr b big br cite code del div em font h1 h2 h3 h4 h5 h6 i img ins kbd mark nobr p q s small '
  + 'span strike strong sub sup tt u wbr';
const INLINE_TAG = new RegExp(`</?(?:${INLINE_NAMES.replaceAll(' ', '|')})(?:\\s[^<>]*)?/?>`, 'gi');
const WORD_BREAK = /<(?:br|\/?(?:p|div|h[1-6]|li|ul|ol|tr|td|table|blockquote))(?:\s[^<>]*)?\/?>/gi;
/** How many dates of one element are tried: an unknown time zone is costly to refuse. */
const MAX_DATES = 4;
const LOOKS_LIKE_HTML = /<\/[a-z][a-z0-9]*\s*>|<(?:br|img|wbr|hr|p)(?:\s[^<>]*)?\/?>/i;

const MAX_NAMES = 20;
/** In characters. What is longer is cut and not looked into: a feed repeats its author's name with every item. */
const MAX_NAME_LENGTH = 200;

const PERIODS = new Map([
  ['hourly', HOUR], ['daily', DAY], ['weekly', 7 * DAY], ['monthly', 30 * DAY], ['yearly', 365 * DAY],
]);

/** What relative links inside an element resolve against; `given` where the document says so itself (XML Base). */
export type LinkBase = { url: string; given: boolean };

/**
 * One line of plain text from a title whose markup is not declared. Inline tags go when they look meant as such;
 * `The <b> tag` keeps its words. References are decoded once more: double encoding is common in feeds.
 */
export function titleText(decoded: string): string {
  const untagged = LOOKS_LIKE_HTML.test(decoded) ? decoded.replace(WORD_BREAK, ' ').replace(INLINE_TAG, '') : decoded;
  return singleLine(decodeOnceMore(untagged));
}

/** One line of plain text from HTML. */
export function htmlToText(html: string): string {
  return singleLine(plainText(html));
}

/** One line of plain text from text that may be HTML or plain. */
export function undeclaredToLine(text: string): string {
  return looksLikeHtml(text) ? htmlToText(text) : titleText(text);
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
  const text = element === undefined ? '' : singleLine(textOf(element));
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

/** The first readable date among those children, in the order of the names; unix ms or null. Four are tried. */
export function firstDate(element: XmlElement, names: readonly string[]): number | null {
  let tried = 0;
  for (const name of names) {
    for (const child of element.children) {
      if (child.name !== name) continue;
      const date = parseDate(textOf(child));
      tried += 1;
      if (date !== null || tried === MAX_DATES) return date;
    }
  }
  return null;
}

function decodeOnceMore(text: string): string {
  return text.includes('&') ? text.replace(REFERENCE, decodeEntities) : text;
}

/** The different names among those written, at most twenty, joined by commas; null where there is none. */
export function personNames(written: Iterable<string>): string | null {
  const names = new Set<string>();
  for (const text of written) {
    const name = personName(titleText(text));
    if (name !== '') names.add(name);
    if (names.size === MAX_NAMES) break;
  }
  return names.size === 0 ? null : [...names].join(', ');
}

/** The name in `a@example.org (Ann)` and `Ann <a@example.org>`; the address where there is no name. */
function personName(text: string): string {
  if (text.length > MAX_NAME_LENGTH) return excerpt(text, MAX_NAME_LENGTH);
  const inBrackets = /^\S+@\S+\s*\(([^()]+)\)$/.exec(text)?.[1];
  const beforeAddress = /^"?([^"<>]+?)"?\s*<[^<>\s]+@[^<>\s]+>$/.exec(text)?.[1];
  return (inBrackets ?? beforeAddress ?? text.replace(/^mailto:/i, '')).trim();
}

/** As the sanitiser writes links: absolute http(s) without credentials; null where a link is none or too long. */
export function absoluteUrl(link: string | null | undefined, base: string): string | null {
  const trimmed = link?.trim() ?? '';
  return trimmed === '' ? null : webAddress(trimmed, base) ?? null;
}

/** The base inside an element, given what holds around it. */
export function baseInside(element: XmlElement | null, base: LinkBase): LinkBase {
  const url = element === null ? null : absoluteUrl(attributeOf(element, 'xml:base'), base.url);
  return url === null ? base : { url, given: true };
}

/** How long the publisher wants to be left alone, in ms: `ttl` in minutes, else the syndication module; or null. */
export function publishedInterval(channel: XmlElement): number | null {
  const minutes = Number(firstLine(channel, ['ttl']) ?? NaN);
  if (minutes > 0 && Number.isFinite(minutes)) return Math.round(minutes * MINUTE);
  const period = PERIODS.get(firstLine(channel, ['sy:updateperiod', 'syn:updateperiod'])?.toLowerCase() ?? '');
  if (period === undefined) return null;
  const frequency = Number(firstLine(channel, ['sy:updatefrequency', 'syn:updatefrequency']) ?? 1);
  return frequency > 0 && Number.isFinite(frequency) ? Math.round(period / frequency) : period;
}
