import { hash } from 'node:crypto';
import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { decodeEntities, escapeHtml } from '../../platform/markup/entities.ts';
import { plainText } from '../../platform/markup/plain-text.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { webAddress } from '../../platform/markup/safe-url.ts';
import { attributeOf, childrenOf, innerHtml, textOf, type XmlElement } from '../../platform/markup/xml-tree.ts';
import type { OutboundResponse } from '../../platform/net/outbound-fetch.ts';
import type { DeletedPost } from '../posts/feed-posts-store.ts';
import type { IncomingPost } from '../posts/post-store.ts';
import type { FeedFacts } from '../sources/sync-state-store.ts';
import { parseDate } from './parse-date.ts';

/** Character references in HTML. References without a semicolon count only if they cannot be part of a word or URL. */
const REFERENCE = /&(?:#\d{1,8}|#x[0-9a-f]{1,7}|[a-z][a-z0-9]{1,31});|&(?:#\d{2,7}|amp|lt|gt|quot|nbsp)(?![a-z0-9=])/gi;
const INLINE_NAMES = 'a abbr b big br cite code del div em font h1 h2 h3 h4 h5 h6 i img ins kbd mark nobr p q s small '
  + 'span strike strong sub sup tt u wbr';
const INLINE_TAG = new RegExp(`</?(?:${INLINE_NAMES.replaceAll(' ', '|')})(?:\\s[^<>]*)?/?>`, 'gi');
const WORD_BREAK = /<(?:br|\/?(?:p|div|h[1-6]|li|ul|ol|tr|td|table|blockquote))(?:\s[^<>]*)?\/?>/gi;
/** The most dates of one kind that are tried in an element, because rejecting an unknown time zone is slow. */
const MAX_DATES = 4;
const LOOKS_LIKE_HTML = /<\/[a-z][a-z0-9]*\s*>|<(?:br|img|wbr|hr|p)(?:\s[^<>]*)?\/?>/i;
const TAG = /<(\/?)([a-z][a-z0-9]*)(\s[^<>]*)?\/?>/gi;
/** The beginning of a tag or comment; an address in angle brackets (`<a@x.example>` or `<https://…`) is none. */
const MARKUP = /<(?:\/?[a-z][a-z0-9-]*(?::[a-z][\w-]*)?[\s/>]|!--)/i;
const LINE_END = /\r\n?|[\n\u2028\u2029]/g;
/** One paragraph that its author wrapped and indented as the elements around it; list items are no such lines. */
const WRAPPED = /^[^\n]*(?:\n[ \t]+[^\s\d*•–-][^\n]*)+$/;

const MAX_NAMES = 20;
/** Maximum characters of an author's name; longer names are cut unparsed, because every item may repeat the name. */
const MAX_NAME_LENGTH = 200;

const PERIODS = new Map([
  ['hourly', HOUR], ['daily', DAY], ['weekly', 7 * DAY], ['monthly', 30 * DAY], ['yearly', 365 * DAY],
]);

/** The base URL for relative links in an element; `given`: whether the document declares the URL (XML Base). */
export type LinkBase = { url: string; given: boolean };

/**
 * Converts a title, which may be HTML or plain text, to one line of plain text. Only a title that is HTML loses its
 * inline tags. Character references are decoded once more, because many feeds encode them twice.
 */
export function titleText(decoded: string): string {
  const untagged = isHtmlTitle(decoded) ? decoded.replace(WORD_BREAK, ' ').replace(INLINE_TAG, '') : decoded;
  return singleLine(decodeOnceMore(untagged));
}

/** Whether tags of a title are markup: a pair, a line break or a tag with attributes; `the <p> element` is text. */
function isHtmlTitle(title: string): boolean {
  if (!title.includes('<')) return false;
  const open = new Set<string>();
  for (const [, slash, name = '', attributes = ''] of title.toLowerCase().matchAll(TAG)) {
    if (slash ? open.has(name) : name === 'br' || name === 'wbr' || attributes.includes('=')) return true;
    if (!slash) open.add(name);
  }
  return false;
}

/** On one line. */
export function htmlToText(html: string): string {
  return singleLine(plainText(html));
}

/** Converts text that may be HTML or plain text to one line of plain text. */
export function undeclaredToLine(text: string): string {
  return looksLikeHtml(text) ? htmlToText(text) : titleText(text);
}

/** Keeps line breaks, except within one paragraph that its author wrapped (WRAPPED). */
export function textToHtml(text: string): string {
  return withLines(escapeHtml(text.trim()));
}

/** Converts the content of an item, which may be HTML or plain text, to HTML; text keeps lines as in `textToHtml`. */
export function contentToHtml(text: string): string {
  const content = text.trim();
  return MARKUP.test(content) ? content : withLines(content.replaceAll('<', '&lt;'));
}

function withLines(html: string): string {
  if (!/[\r\n\u2028\u2029]/.test(html)) return html;
  return WRAPPED.test(html) ? html : html.replace(LINE_END, '<br>\n');
}

/** Whether a text has an end tag, or a tag that needs none, such as `<br>` or `<p>`. */
export function looksLikeHtml(text: string): boolean {
  return text.includes('<') && LOOKS_LIKE_HTML.test(text);
}

/** HTML stays as it is; in plain text, character references are decoded once more. */
export function undeclaredToHtml(text: string): string {
  return looksLikeHtml(text) ? text : textToHtml(decodeOnceMore(text));
}

/** Null if the text is empty. */
export function lineOf(element: XmlElement | undefined): string | null {
  const text = element === undefined ? '' : singleLine(textOf(element));
  return text === '' ? null : text;
}

/** The text of the first child element that is not empty, on one line; children are tried in the order of `names`. */
export function firstLine(element: XmlElement, names: readonly string[]): string | null {
  return findInChildren(element, names, lineOf);
}

/** The first value that is not null, of the child elements in the order of `names`, not of the document. */
export function findInChildren<Value>(
  element: XmlElement, names: readonly string[], read: (child: XmlElement) => Value | null,
): Value | null {
  for (const name of names) {
    for (const child of element.children) {
      const value = child.name === name ? read(child) : null;
      if (value !== null) return value;
    }
  }
  return null;
}

/** The first date that can be parsed, in unix ms, among the first `most` child elements `names`; else null. */
export function firstDate(
  element: XmlElement, names: readonly string[], language: string | null, most = MAX_DATES,
): number | null {
  let tried = 0;
  return findInChildren(element, names, (child) => {
    if (++tried > most) return null;
    return parseDate(child.children.length > 0 ? innerHtml(child, 'html') : textOf(child), language);
  });
}

export function decodeOnceMore(text: string): string {
  return text.includes('&') ? text.replace(REFERENCE, decodeEntities) : text;
}

/** The names of up to MAX_NAMES authors, each name once, joined by commas; null if there are no names. */
export function personNames(written: Iterable<string>): string | null {
  const names = new Set<string>();
  for (const text of written) {
    const name = personName(titleText(text));
    if (name !== '') names.add(name);
    if (names.size === MAX_NAMES) break;
  }
  return names.size === 0 ? null : [...names].join(', ');
}

/** The name in `a@example.org (Ann)`, `Ann <a@example.org>` or `Ann a@example.org`; without a name, the address. */
function personName(text: string): string {
  if (text.length > MAX_NAME_LENGTH) return excerpt(text, MAX_NAME_LENGTH);
  const inBrackets = /^[^\s@]+@[^\s@()]+\s*\(([^()]+)\)$/.exec(text)?.[1];
  const beforeAddress = /^"?([^"<>]+)(?:"\s*)?<[^<>\s@]+@[^<>\s@]+>$/.exec(text)?.[1];
  return (inBrackets ?? beforeAddress ?? withoutAddresses(text)).trim();
}

function withoutAddresses(text: string): string {
  const words = text.split(' ').filter((word) => !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(word));
  return words.length > 0 ? words.join(' ') : text.replace(/^mailto:/i, '');
}

/** An absolute http(s) URL without user name and password, as the sanitiser writes links; null for other links. */
export function absoluteUrl(link: string | null | undefined, base: string): string | null {
  const trimmed = link?.trim() ?? '';
  return trimmed === '' ? null : webAddress(trimmed, base) ?? null;
}

/** `base`: what applies around the element. */
export function baseInside(element: XmlElement | null, base: LinkBase): LinkBase {
  const url = element === null ? null : absoluteUrl(attributeOf(element, 'xml:base'), base.url);
  return url === null ? base : { url, given: true };
}

const LANGUAGE = /^[a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3}$/i;

/** A language tag (BCP 47) as the feed writes it, but with `-` for `_`; null if the text cannot be one. */
export function languageTag(written: string | null | undefined): string | null {
  const tag = written?.trim().slice(0, 40).replaceAll('_', '-') ?? '';
  return LANGUAGE.test(tag) ? tag : null;
}

/** The language of an element's content: from the child elements `names`, else `xml:lang`, else `outer`. */
export function languageInside(element: XmlElement, names: readonly string[], outer: string | null): string | null {
  return languageTag(firstLine(element, names)) ?? languageTag(attributeOf(element, 'xml:lang')) ?? outer;
}

/** The pause between two fetches in ms that `ttl` or the syndication module asks for; null without such a request. */
export function publishedInterval(channel: XmlElement): number | null {
  const minutes = Number(firstLine(channel, ['ttl']) ?? NaN);
  if (minutes > 0 && Number.isFinite(minutes)) return Math.round(minutes * MINUTE);
  const period = PERIODS.get(firstLine(channel, ['sy:updateperiod', 'syn:updateperiod'])?.toLowerCase() ?? '');
  if (period === undefined) return null;
  const frequency = Number(firstLine(channel, ['sy:updatefrequency', 'syn:updatefrequency']) ?? 1);
  return frequency > 0 && Number.isFinite(frequency) ? Math.round(period / frequency) : period;
}

export const MAX_ITEMS = 2000; // the newest items of a feed, which are the items that the hub reads

/** The items, half from each end of a feed, among which the newest items are found, because reading dates is slow. */
const MAX_DATED = 10_000;

const MAX_GUID_LENGTH = 1024; // characters of a feed item's id; a hash replaces each longer id of an item

export type ParsedFeed = FeedFacts & {
  items: IncomingPost[];
  deleted: DeletedPost[]; // tombstones (RFC 6721)
  /** Null if the feed's document is whole. `lastIsSure`: its last item's id is known to be whole. */
  cut: { lastIsSure: boolean } | null;
  /** Whether the feed has no items, but elements that look like items, which the hub cannot read. */
  hidesItems: boolean;
};

/** The message says what the document is instead. */
export class NotAFeedError extends Error {
  override name = 'NotAFeedError';
  /** The document that is no feed; of a large document, `body` is only the beginning. */
  document?: Pick<OutboundResponse, 'url' | 'headers' | 'body'>;
}

/** `guid`: the id as the publisher wrote it, which may be missing or not unique. */
export type UnidentifiedItem = Omit<IncomingPost, 'guid'> & { guid: string | null };

/**
 * Gives each item an id: the publisher's, else the link, else a hash of the content. If several items share one, the
 * link or hash of each is appended, so that ids do not depend on the order of the items. Removes duplicates and empty
 * items, and keeps at most MAX_ITEMS items.
 */
export function identifyItems(items: UnidentifiedItem[]): IncomingPost[] {
  const read = items.filter(holdsSomething).slice(0, MAX_ITEMS);
  const groups = Map.groupBy(read, firstChoice);
  if (groups.size === read.length) return read.map((item) => ({ ...item, guid: firstChoice(item) }));
  const guids = new Map<UnidentifiedItem, string>();
  for (const [guid, group] of groups) tellApart(guid, group, guids);
  return read.flatMap((item) => {
    const guid = guids.get(item);
    return guid === undefined ? [] : [{ ...item, guid }];
  });
}

function tellApart(guid: string, group: UnidentifiedItem[], guids: Map<UnidentifiedItem, string>): void {
  const different = [...new Map(group.toReversed().map((item) => [contentHash(item), item]))];
  const withUrl = Map.groupBy(different, ([, item]) => item.url);
  for (const [contents, item] of different) {
    const byUrl = item.url !== null && withUrl.get(item.url)?.length === 1;
    guids.set(item, different.length === 1 ? guid : keptGuid(`${guid}|${byUrl ? item.url : contents}`));
  }
}

/** The MAX_ITEMS newest items, in the order of the feed. Items without a date count as the oldest items. */
export function newestItems<T>(items: T[], dateOf: (item: T) => number | null): T[] {
  if (items.length <= MAX_ITEMS) return items;
  const half = MAX_DATED / 2;
  const ends = [...items.slice(0, half), ...items.slice(Math.max(half, items.length - half))];
  const dated = ends.map((item, place) => ({ item, place, date: dateOf(item) ?? 0 }));
  const newest = dated.sort((a, b) => b.date - a.date || a.place - b.place).slice(0, MAX_ITEMS);
  return newest.sort((a, b) => a.place - b.place).map(({ item }) => item);
}

/** The items to store: none that was deleted after its last change, and no last one whose id may be truncated. */
export function lastingItems({ items, deleted, cut }: ParsedFeed): IncomingPost[] {
  const sure = cut && !cut.lastIsSure ? items.slice(0, -1) : items;
  const gone = new Map(deleted.map(({ guid, deletedAt }) => [guid, deletedAt ?? Infinity]));
  return sure.filter(({ guid, updatedAt, publishedAt }) =>
    (updatedAt ?? publishedAt ?? 0) > (gone.get(guid) ?? -Infinity));
}

/** Null for a whole document. `ids`: the elements that may hold an item's id. */
export function truncationOf(root: XmlElement, items: XmlElement[], ids: readonly string[]): ParsedFeed['cut'] {
  if (!root.isCut) return null;
  const last = items.at(-1);
  return { lastIsSure: !last?.isCut || last.children.some(({ name, isCut }) => !isCut && ids.includes(name)) };
}

/** The children `name` of the `parents` or, if there are none, one level deeper, as some feeds wrap them. */
export function itemsWithin(parents: XmlElement[], name: string): XmlElement[] {
  const within = (holders: XmlElement[]): XmlElement[] => holders.flatMap((holder) => childrenOf(holder, name));
  const items = within(parents);
  return items.length > 0 ? items : within(parents.flatMap(({ children }) => children));
}

/** Whether any element inside is called an item or entry, under whatever prefix. */
export function hasItemLike({ children }: XmlElement): boolean {
  return children.some((child) => /(?:^|:)(?:item|entry)$/.test(child.name) || hasItemLike(child));
}

/** The item's id as it is stored: a hash if it is longer than MAX_GUID_LENGTH. */
export function keptGuid(guid: string): string {
  return guid.length <= MAX_GUID_LENGTH ? guid : hash('sha256', guid);
}

function holdsSomething(item: UnidentifiedItem): boolean {
  return Boolean(item.guid || item.url || item.title || item.contentHtml) || item.attachments.length > 0;
}

function firstChoice(item: UnidentifiedItem): string {
  return keptGuid(item.guid || item.url || contentHash(item));
}

function contentHash(item: UnidentifiedItem): string {
  const enclosures = item.attachments.map((attachment) => attachment.url);
  return hash('sha256', JSON.stringify([item.url, item.title, item.contentHtml, item.publishedAt, enclosures]));
}
