import {
  attributeOf, childOf, childrenOf, innerHtml, isBlank, textOf, type XmlElement,
} from '../../platform/markup/xml-tree.ts';
import { collectAttachments, pictureOf } from './collect-attachments.ts';
import {
  absoluteUrl, baseInside, contentToHtml, findInChildren, firstDate, firstLine, hasItemLike, identifyItems,
  itemsWithin, languageInside, lineOf, newestItems, personNames, publishedInterval, titleText, truncationOf,
  undeclaredToHtml, undeclaredToLine, type LinkBase, type ParsedFeed, type UnidentifiedItem,
} from './feed-values.ts';

const IDS = ['guid', 'atom:id', 'id', 'dc:identifier'];
/** What a channel says about its items; `picture`: for items without `itunes:image` and without `img` elements. */
type ChannelContext = { base: LinkBase; author: string | null; language: string | null; picture: string | null };
type RssContent = { html: string; summary: string | null; base: LinkBase };

const TITLES = ['title', 'media:title', 'dc:title', 'itunes:title', 'atom:title'];
const DESCRIPTIONS = ['description', 'dc:description', 'itunes:summary', 'googleplay:description', 'itunes:subtitle'];
const PUBLISHED = ['pubdate', 'dcterms:issued', 'dc:date', 'dcterms:created', 'atom:published', 'published', 'date'];
const LANGUAGES = ['language', 'dc:language'];
const UPDATED = ['dcterms:modified', 'atom:updated', 'updated', 'lastbuilddate'];
/** Elements that contain the full text of an RSS item, the best element first. */
const FULL_CONTENT = ['content:encoded', 'body', 'atom:content', 'content', 'encoded', 'fullitem'];
const SHORT_CONTENT = [
  'description', 'atom:summary', 'summary', 'dc:description', 'googleplay:description', 'media:description',
];
const PLAIN_CONTENT = ['itunes:summary', 'itunes:subtitle'];

/** Parses RSS 0.90 to 2.0 with the common feed modules. */
export function parseRss(root: XmlElement, feedUrl: string): ParsedFeed {
  const channel = root.name === 'channel' ? root : childOf(root, 'channel') ?? root;
  const base = baseInside(channel, baseInside(root, { url: feedUrl, given: false }));
  const siteUrl = linkOf(channel, base.url);
  const language = languageInside(channel, LANGUAGES, languageInside(root, [], null));
  const itemBase = base.given || siteUrl === null ? base : { url: siteUrl, given: false };
  const picture = pictureOf(channel, base.url);
  const context = { base: itemBase, author: channelAuthorOf(channel), language, picture };
  const all = itemsWithin([...childrenOf(root, 'channel'), root], 'item');
  const items = newestItems(all, (item) => firstDate(item, [...PUBLISHED, ...UPDATED], language, 1));
  const description = textOfFirst(channel, DESCRIPTIONS);
  return {
    title: firstTitle(channel),
    description: description === null ? null : undeclaredToLine(description) || null,
    siteUrl,
    iconUrl: iconOf(channel, root, base.url),
    ttl: publishedInterval(channel),
    items: identifyItems(items.map((item) => readItem(item, context))),
    deleted: [],
    cut: truncationOf(root, all, IDS),
    hidesItems: all.length === 0 && hasItemLike(root),
  };
}

/** The icon of an RSS feed: Atom's icon, else the channel's image (in RSS 1.0, a sibling of the channel). */
function iconOf(channel: XmlElement, root: XmlElement, base: string): string | null {
  const image = childOf(channel, 'image') ?? childOf(root, 'image');
  const named = firstLine(channel, ['atom:icon']) ?? (image === undefined ? null : firstLine(image, ['url']));
  return absoluteUrl(named, base);
}

function readItem(item: XmlElement, channel: ChannelContext): UnidentifiedItem {
  const base = baseInside(item, channel.base);
  const guid = childOf(item, 'guid');
  const id = lineOf(guid) ?? (attributeOf(item, 'rdf:about') || firstLine(item, IDS.slice(1)));
  const url = linkOf(item, base.url) ?? permalinkOf(guid);
  const content = contentOf(item, base);
  const language = languageInside(item, LANGUAGES, channel.language);
  const updatedAt = firstDate(item, UPDATED, language);
  return {
    guid: id,
    title: firstTitle(item),
    url,
    author: authorOf(item) ?? channel.author,
    language,
    contentHtml: content.html,
    baseUrl: content.base.given ? content.base.url : url ?? base.url,
    summary: content.summary,
    publishedAt: firstDate(item, PUBLISHED, language) ?? updatedAt,
    updatedAt,
    attachments: collectAttachments(item, base.url),
    picture: pictureOf(item, base.url) ?? (/<img\s/i.test(content.html) ? null : channel.picture),
  };
}

function linkOf(parent: XmlElement, base: string): string | null {
  const original = absoluteUrl(firstLine(parent, ['feedburner:origlink']), base);
  if (original !== null) return original;
  for (const link of parent.children) {
    if (link.name !== 'link') continue;
    const href = isAlternate(link) ? attributeOf(link, 'href') : null;
    const url = absoluteUrl(textOf(link), base) ?? absoluteUrl(href, base);
    if (url !== null) return url;
  }
  for (const link of parent.children) {
    const url = link.name === 'atom:link' && isAlternate(link) ? absoluteUrl(attributeOf(link, 'href'), base) : null;
    if (url !== null) return url;
  }
  return null;
}

function isAlternate(link: XmlElement): boolean {
  return (attributeOf(link, 'rel') || 'alternate').toLowerCase() === 'alternate';
}

/** The guid of an RSS item as a link, if the guid is an absolute URL without `isPermaLink="false"` (RSS 2.0). */
function permalinkOf(guid: XmlElement | undefined): string | null {
  if (guid === undefined || attributeOf(guid, 'ispermalink')?.toLowerCase() === 'false') return null;
  const text = textOf(guid).trim();
  return /^https?:/i.test(text) ? absoluteUrl(text, text) : null;
}

function firstTitle(parent: XmlElement): string {
  const title = textOfFirst(parent, TITLES);
  return title === null ? '' : titleText(title);
}

function authorOf(parent: XmlElement): string | null {
  const creators = personNames(childrenOf(parent, 'dc:creator').map(textOf));
  if (creators !== null) return creators;
  const name = firstLine(parent, ['author', 'dc:author', 'itunes:author', 'googleplay:author'])
    ?? lineInside(parent, 'atom:author', ['atom:name', 'name', 'atom:email', 'email']);
  return name === null ? null : personNames([name]);
}

function channelAuthorOf(channel: XmlElement): string | null {
  const author = authorOf(channel);
  if (author !== null) return author;
  const owner = lineInside(channel, 'itunes:owner', ['itunes:name', 'itunes:email']);
  return personNames([owner ?? firstLine(channel, ['managingeditor']) ?? '']);
}

function lineInside(parent: XmlElement, holder: string, names: readonly string[]): string | null {
  const element = childOf(parent, holder);
  return element === undefined ? null : firstLine(element, names);
}

function contentOf(item: XmlElement, base: LinkBase): RssContent {
  const full = firstFilled(item, FULL_CONTENT);
  const short = firstFilled(item, SHORT_CONTENT) ?? mediaDescription(item);
  const plain = textOfFirst(item, PLAIN_CONTENT);
  const plainHtml = plain === null ? null : undeclaredToHtml(plain);
  const shortHtml = short === null ? plainHtml : htmlOf(short);
  if (full === null) return { html: shortHtml ?? '', summary: null, base: baseInside(short, base) };
  const html = htmlOf(full);
  return { html, summary: shortHtml === html ? null : shortHtml, base: baseInside(full, base) };
}

/** The content of an element as HTML, whether or not the feed has escaped the HTML. */
function htmlOf(element: XmlElement): string {
  if (element.children.length > 0) return innerHtml(element, 'html').trim();
  return element.name === 'media:description' ? undeclaredToHtml(textOf(element)) : contentToHtml(textOf(element));
}

function mediaDescription(item: XmlElement): XmlElement | null {
  const group = childOf(item, 'media:group');
  return group === undefined ? null : firstFilled(group, ['media:description']);
}

function firstFilled(parent: XmlElement, names: readonly string[]): XmlElement | null {
  return findInChildren(parent, names, (child) => (isBlank(child) ? null : child));
}

function textOfFirst(parent: XmlElement, names: readonly string[]): string | null {
  const element = firstFilled(parent, names);
  const text = element === null ? '' : textOf(element);
  return text.trim() === '' ? null : text;
}
