import { essenceOf } from '../../platform/http/headers.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { singleLine } from '../../platform/markup/tidy-text.ts';
import {
  attributeOf, childOf, childrenOf, innerHtml, textOf, type XmlElement,
} from '../../platform/markup/xml-tree.ts';
import type { DeletedPost } from '../posts/feed-posts-store.ts';
import type { IncomingFile } from '../posts/post-store.ts';
import { addAttachment, collectAttachments, mediaTypeOf } from './collect-attachments.ts';
import {
  absoluteUrl, baseInside, firstDate, firstLine, hasItemLike, htmlToText, identifyItems, itemsWithin, keptGuid,
  languageInside, looksLikeHtml, MAX_ITEMS, newestItems, personNames, publishedInterval, textToHtml, titleText,
  truncationOf, undeclaredToHtml, type LinkBase, type ParsedFeed, type UnidentifiedItem,
} from './feed-values.ts';
import { parseDate } from './parse-date.ts';

type FeedContext = { base: LinkBase; siteUrl: string | null; author: string | null; language: string | null };
type TextKind = 'text' | 'html' | 'xhtml' | 'other';
type AtomContent = { html: string; summary: string | null; base: LinkBase };

const IDS = ['id', 'guid'];
const PUBLISHED = ['published', 'issued', 'dc:date', 'dcterms:issued', 'pubdate', 'created'];
const LANGUAGES = ['dc:language'];
const UPDATED = ['updated', 'modified', 'dcterms:modified'];

/** Parses a feed in Atom 1.0 (RFC 4287) or Atom 0.3. */
export function parseAtom(feed: XmlElement, feedUrl: string): ParsedFeed {
  const base = baseInside(feed, { url: feedUrl, given: false });
  const siteUrl = alternateLink(feed, base.url);
  const subtitle = childOf(feed, 'subtitle') ?? childOf(feed, 'tagline') ?? childOf(feed, 'dc:description');
  const language = languageInside(feed, LANGUAGES, null);
  const context = { base, siteUrl, author: authorsOf(feed), language };
  const all = itemsWithin([feed], 'entry');
  const entries = newestItems(all, (entry) => firstDate(entry, [...PUBLISHED, ...UPDATED], language, 1));
  return {
    title: atomTitle(childOf(feed, 'title')),
    description: subtitle === undefined ? null : htmlToText(atomHtml(subtitle)) || null,
    siteUrl,
    iconUrl: absoluteUrl(firstLine(feed, ['icon']), base.url),
    ttl: publishedInterval(feed),
    items: identifyItems(entries.map((entry) => readEntry(entry, context))),
    deleted: childrenOf(feed, 'at:deleted-entry').slice(0, MAX_ITEMS).flatMap(deletedEntry),
    cut: truncationOf(feed, all, IDS),
    hidesItems: all.length === 0 && hasItemLike(feed),
  };
}

/** Reads a tombstone, by which the publisher says that an entry was deleted (RFC 6721). */
function deletedEntry(element: XmlElement): DeletedPost[] {
  const guid = singleLine(attributeOf(element, 'ref') ?? '');
  return guid === '' ? [] : [{ guid: keptGuid(guid), deletedAt: parseDate(attributeOf(element, 'when') ?? '') }];
}

function readEntry(entry: XmlElement, feed: FeedContext): UnidentifiedItem {
  const base = baseInside(entry, feed.base);
  const outside = outsideContent(entry, base.url);
  const guid = firstLine(entry, IDS);
  const url = linkOf(entry, base.url) ?? outside?.url ?? webUrlOf(guid);
  const content = contentOf(entry, base);
  const language = languageInside(entry, LANGUAGES, feed.language);
  const updatedAt = firstDate(entry, UPDATED, language);
  const source = childOf(entry, 'source');
  return {
    guid,
    title: atomTitle(childOf(entry, 'title')) || titleText(firstLine(entry, ['media:title', 'dc:title']) ?? ''),
    url,
    author: authorsOf(entry) ?? (source === undefined ? null : authorsOf(source)) ?? feed.author,
    language,
    contentHtml: content.html,
    // Without xml:base, relative links in an entry usually belong to the entry's page rather than to the feed.
    baseUrl: content.base.given ? content.base.url : url ?? feed.siteUrl ?? base.url,
    summary: content.summary,
    publishedAt: firstDate(entry, PUBLISHED, language) ?? updatedAt,
    updatedAt,
    attachments: attachmentsOf(entry, base.url, outside),
  };
}

function linkOf(entry: XmlElement, base: string): string | null {
  return absoluteUrl(firstLine(entry, ['feedburner:origlink']), base) ?? alternateLink(entry, base);
}

/** The id of an entry as a link, if the id is a web address: some feeds give their entries no other address. */
function webUrlOf(guid: string | null): string | null {
  return guid !== null && /^https?:/i.test(guid) ? absoluteUrl(guid, guid) : null;
}

function alternateLink(parent: XmlElement, base: string): string | null {
  let first: string | null = null;
  for (const link of parent.children) {
    if (link.name !== 'link' || (attributeOf(link, 'rel') || 'alternate').toLowerCase() !== 'alternate') continue;
    const url = absoluteUrl(attributeOf(link, 'href') || textOf(link), base);
    const type = mediaTypeOf(attributeOf(link, 'type'));
    if (url !== null && (type === null || type.includes('html'))) return url;
    first ??= url;
  }
  return first;
}

function authorsOf(parent: XmlElement): string | null {
  const authors = parent.children.values().filter(({ name }) => ['author', 'dc:creator', 'dc:author'].includes(name));
  return personNames(authors.map((author) =>
    firstLine(author, ['name', 'email', 'uri']) ?? (author.children.length === 0 ? textOf(author) : '')));
}

function contentOf(entry: XmlElement, base: LinkBase): AtomContent {
  const summary = childOf(entry, 'summary') ?? childOf(entry, 'dc:description');
  const summaryHtml = summary === undefined ? '' : atomHtml(summary);
  for (const content of bestFirst(childrenOf(entry, 'content'))) {
    const html = atomHtml(content);
    if (html === '') continue;
    const other = summaryHtml === '' || summaryHtml === html ? null : summaryHtml;
    return { html, summary: other, base: baseInside(content, base) };
  }
  const html = summaryHtml === '' ? mediaDescription(entry) : summaryHtml;
  return { html, summary: null, base: baseInside(summary ?? null, base) };
}

/** Sorts HTML content before plain text, because Atom 0.3 allows the same content in several types. */
function bestFirst(contents: XmlElement[]): XmlElement[] {
  if (contents.length < 2) return contents;
  return contents.toSorted((a, b) => Number(isPlain(a)) - Number(isPlain(b)));
}

function isPlain(content: XmlElement): boolean {
  return ['text', 'text/plain'].includes(attributeOf(content, 'type')?.toLowerCase() || 'text');
}

/** The Media RSS description of an entry without content and summary, as video platforms publish entries. */
function mediaDescription(entry: XmlElement): string {
  const holder = childOf(entry, 'media:group') ?? entry;
  const description = childOf(holder, 'media:description');
  return description === undefined ? '' : undeclaredToHtml(textOf(description));
}

/** The element `<content src>`: the content is at another address (RFC 4287, 4.1.3.2). */
function outsideContent(entry: XmlElement, base: string): { url: string; mediaType: string | null } | null {
  for (const content of childrenOf(entry, 'content')) {
    const url = absoluteUrl(attributeOf(content, 'src'), baseInside(content, { url: base, given: false }).url);
    if (url !== null) return { url, mediaType: mediaTypeOf(attributeOf(content, 'type')) };
  }
  return null;
}

function attachmentsOf(
  entry: XmlElement, base: string, outside: { url: string; mediaType: string | null } | null,
): IncomingFile[] {
  const listed = collectAttachments(entry, base);
  if (outside === null || outside.mediaType === null || outside.mediaType.includes('html')) return listed;
  const all = new Map(listed.map((file) => [file.url, file]));
  addAttachment(all, { ...outside, bytes: null, title: null, durationSeconds: null });
  return [...all.values()];
}

function atomTitle(title: XmlElement | undefined): string {
  if (title === undefined) return '';
  const kind = kindOf(title);
  if (kind === 'html' || kind === 'xhtml') return htmlToText(atomHtml(title));
  // Many publishers who write no type mean HTML, against RFC 4287.
  return attributeOf(title, 'type') ? singleLine(sourceText(title)) : titleText(sourceText(title));
}

/** An Atom text or content construct as HTML; returns '' if the construct is neither text nor markup. */
function atomHtml(element: XmlElement): string {
  const kind = kindOf(element);
  if (kind === 'other') return '';
  if (element.children.length > 0) {
    const content = withoutDiv(element);
    // Some feeds wrap the escaped HTML of an entry in a div element.
    if (kind === 'html' && content.children.length === 0) return textOf(content).trim();
    return innerHtml(content, kind === 'html' ? 'html' : 'text').trim();
  }
  const text = sourceText(element).trim();
  return kind === 'html' || (kind === 'xhtml' && looksLikeHtml(text)) ? text : textToHtml(text);
}

/** Atom 1.0 declares text, html, xhtml or a media type (RFC 4287, 3.1.1, 4.1.3), Atom 0.3 only a media type. */
function kindOf(element: XmlElement): TextKind {
  const type = essenceOf(attributeOf(element, 'type')) || 'text';
  const mode = attributeOf(element, 'mode')?.toLowerCase();
  if (type === 'html' || type === 'text/html') return mode === 'xml' ? 'xhtml' : 'html';
  if (type === 'xhtml' || type === 'application/xhtml+xml') return mode === 'escaped' ? 'html' : 'xhtml';
  if (type === 'text' || type.startsWith('text/')) return 'text';
  return mode === undefined && !type.includes('/') ? 'text' : 'other';
}

function sourceText(element: XmlElement): string {
  const text = textOf(element);
  const isBase64 = attributeOf(element, 'mode')?.toLowerCase() === 'base64';
  return isBase64 ? decodeText(Buffer.from(text, 'base64'), null) : text;
}

/** The content of an Atom construct without the `div` that must wrap XHTML (RFC 4287, 3.1.1.3). */
function withoutDiv(element: XmlElement): XmlElement {
  const [only, second] = element.children;
  return only !== undefined && second === undefined && only.name === 'div' ? only : element;
}
