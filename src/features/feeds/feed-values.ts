import { hash } from 'node:crypto';
import { DAY, HOUR, MINUTE } from '../../platform/clock.ts';
import { decodeEntities, escapeHtml } from '../../platform/markup/entities.ts';
import { plainText } from '../../platform/markup/plain-text.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { webAddress } from '../../platform/markup/safe-url.ts';
import { attributeOf, textOf, type XmlElement } from '../../platform/markup/xml-tree.ts';
import type { DeletedPost } from '../posts/feed-posts-store.ts';
import type { IncomingPost } from '../posts/post-store.ts';
import type { FeedFacts } from '../sources/sync-state-store.ts';
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

/** The first readable date among those children, in the order of the names; unix ms or null. At most four are tried. */
export function firstDate(element: XmlElement, names: readonly string[], most = MAX_DATES): number | null {
  let tried = 0;
  for (const name of names) {
    for (const child of element.children) {
      if (child.name !== name) continue;
      const date = parseDate(textOf(child));
      tried += 1;
      if (date !== null || tried === most) return date;
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

/** The name beside an address, as in `a@example.org (Ann)`, `Ann <a@example.org>` or `Ann a@example.org`, or that. */
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

const LANGUAGE = /^[a-z]{2,3}(?:-[a-z0-9]{1,8}){0,3}$/i;

/** A language as in BCP 47, as it was written; null for what can be none. */
export function languageTag(written: string | null | undefined): string | null {
  const tag = written?.trim().slice(0, 40).replaceAll('_', '-') ?? '';
  return LANGUAGE.test(tag) ? tag : null;
}

/** The language of what an element holds: of these children or `xml:lang`, else that of what is around it. */
export function languageInside(element: XmlElement, names: readonly string[], outer: string | null): string | null {
  return languageTag(firstLine(element, names)) ?? languageTag(attributeOf(element, 'xml:lang')) ?? outer;
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

/** More items than this are not read: the newest count. */
export const MAX_ITEMS = 2000;

/** Of more items than this only those at both ends are looked at for the newest: reading a date may be costly. */
const MAX_DATED = 10_000;

/** Longer ids are replaced by their hash. */
const MAX_GUID_LENGTH = 1024;

export type ParsedFeed = FeedFacts & {
  items: IncomingPost[];
  /** What the publisher says is gone (RFC 6721). */
  deleted: DeletedPost[];
  /** Set for a document that ended too early; `lastIsSure`: the last item was whole, or its id and what is before. */
  cut: { lastIsSure: boolean } | null;
};

/** The document is no feed; the message tells a person what was found instead. */
export class NotAFeedError extends Error {
  override name = 'NotAFeedError';
}

/** An item whose `guid` is still what the publisher wrote, possibly nothing or not unique. */
export type UnidentifiedItem = Omit<IncomingPost, 'guid'> & { guid: string | null };

/**
 * Gives each item an id that stays the same from one reading to the next: the publisher's, else the link, else a hash
 * of what it holds. Where several items share one (some feeds give all the same), each is told apart by its link or
 * hash, so that no id wanders from item to item as the list moves on. Exact repetitions and items that
 * hold nothing at all are dropped; at most MAX_ITEMS stay.
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

/** Records a guid for each item of a group that shares one; repetitions of an earlier item get none. */
function tellApart(guid: string, group: UnidentifiedItem[], guids: Map<UnidentifiedItem, string>): void {
  const different = [...new Map(group.toReversed().map((item) => [contentHash(item), item]))];
  const withUrl = Map.groupBy(different, ([, item]) => item.url);
  for (const [contents, item] of different) {
    const byUrl = item.url !== null && withUrl.get(item.url)?.length === 1;
    guids.set(item, different.length === 1 ? guid : keptGuid(`${guid}|${byUrl ? item.url : contents}`));
  }
}

/** At most MAX_ITEMS, the newest by their dates, in the order of the feed; those without a date count as oldest. */
export function newestItems<T>(items: T[], dateOf: (item: T) => number | null): T[] {
  if (items.length <= MAX_ITEMS) return items;
  const half = MAX_DATED / 2;
  const ends = [...items.slice(0, half), ...items.slice(Math.max(half, items.length - half))];
  const dated = ends.map((item, place) => ({ item, place, date: dateOf(item) ?? 0 }));
  const newest = dated.sort((a, b) => b.date - a.date || a.place - b.place).slice(0, MAX_ITEMS);
  return newest.sort((a, b) => a.place - b.place).map(({ item }) => item);
}

/** The items that can be stored: those that were not taken back later, and of a cut one only what is known again. */
export function lastingItems({ items, deleted, cut }: ParsedFeed): IncomingPost[] {
  const sure = cut && !cut.lastIsSure ? items.slice(0, -1) : items;
  const gone = new Map(deleted.map(({ guid, deletedAt }) => [guid, deletedAt ?? Infinity]));
  return sure.filter(({ guid, updatedAt, publishedAt }) =>
    (updatedAt ?? publishedAt ?? 0) > (gone.get(guid) ?? -Infinity));
}

/** Whether the document was cut off, and if so, whether the item that was cut has its id. */
export function cutOf(root: XmlElement, items: XmlElement[], ids: readonly string[]): ParsedFeed['cut'] {
  if (!root.isCut) return null;
  const last = items.at(-1);
  return { lastIsSure: !last?.isCut || last.children.some(({ name, isCut }) => !isCut && ids.includes(name)) };
}

/** The id of an item as it is kept. */
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
