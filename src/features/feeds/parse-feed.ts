import { essenceOf } from '../../platform/http/headers.ts';
import { decodeText } from '../../platform/markup/decode-text.ts';
import { singleLine } from '../../platform/markup/tidy-text.ts';
import { endOfTag, readAttributes, scanXml } from '../../platform/markup/xml-tokenizer.ts';
import { parseXmlTree } from '../../platform/markup/xml-tree.ts';
import { absoluteUrl, NotAFeedError, type ParsedFeed } from './feed-values.ts';
import { parseAtom } from './parse-atom.ts';
import { parseJsonFeed } from './parse-json-feed.ts';
import { parseRss } from './parse-rss.ts';

type Root = { kind: 'rss' | 'atom'; start: number };

/** The maximum number of start tags before the root element of a feed, such as the tags of a server's warning. */
const MAX_TAGS_BEFORE_ROOT = 50;
const ROOTS = new Map<string, Root['kind']>([['rss', 'rss'], ['rdf', 'rss'], ['channel', 'rss'], ['feed', 'atom']]);
const SIBLINGS = new Set(['item', 'entry']);

/** The namespaces of feed modules, in lower case and without a trailing slash, each with its usual prefix. */
const MODULES: [string, string][] = [
  ['http://purl.org/rss/1.0/modules/content', 'content'],
  ['http://purl.org/dc/elements/1.0', 'dc'],
  ['http://purl.org/dc/elements/1.1', 'dc'],
  ['http://purl.org/dc/terms', 'dcterms'],
  ['http://www.itunes.com/dtds/podcast-1.0.dtd', 'itunes'],
  ['http://example.com/dtds/podcast-1.0.dtd', 'itunes'],
  ['http://search.yahoo.com/mrss', 'media'],
  ['http://video.search.yahoo.com/mrss', 'media'],
  ['http://www.google.com/schemas/play-podcasts/1.0', 'googleplay'],
  ['http://rssnamespace.org/feedburner/ext/1.0', 'feedburner'],
  ['http://purl.org/rss/1.0/modules/syndication', 'sy'],
  ['http://purl.oclc.org/net/rss_2.0/enc#', 'enc'],
  ['http://www.w3.org/1999/02/22-rdf-syntax-ns#', 'rdf'],
  ['http://purl.org/atompub/tombstones/1.0', 'at'],
  ['http://www.w3.org/1999/xhtml', ''],
];

const RSS = [
  'http://purl.org/rss/1.0',
  'http://my.netscape.com/rdf/simple/0.9',
  'http://channel.netscape.com/rdf/simple/0.9',
  'http://my.netscape.com/publish/formats/rss-0.91.dtd',
  'http://backend.userland.com/rss',
  'http://backend.userland.com/rss2',
  'http://backend.userland.com/rss091',
  'http://backend.userland.com/rss092',
  'http://blogs.law.harvard.edu/tech/rss',
  'http://cyber.law.harvard.edu/rss',
];

const ATOM = ['http://www.w3.org/2005/atom', 'http://purl.org/atom/ns#'];

/** In an RSS document, elements of Atom get the prefix `atom:`. */
const NAMESPACES_IN_RSS: ReadonlyMap<string, string> = new Map([
  ...MODULES,
  ...RSS.map((uri): [string, string] => [uri, '']),
  ...ATOM.map((uri): [string, string] => [uri, 'atom']),
]);

/** In an Atom document, elements of Atom have no prefix. */
const NAMESPACES_IN_ATOM: ReadonlyMap<string, string> = new Map([
  ...MODULES,
  ...ATOM.map((uri): [string, string] => [uri, '']),
]);

/**
 * Parses RSS, Atom and JSON Feed in all versions, and tolerates common errors of feeds. `url`: the address of the
 * document after redirects. Throws NotAFeedError if the document is no feed, and XmlLimitError if the document exceeds
 * a limit of the XML parser.
 */
export function parseFeed(bytes: Buffer, source: { url: string; contentType: string | null }): ParsedFeed {
  const text = decodeText(bytes, source.contentType);
  const first = text.trimStart().charAt(0);
  if (first === '') throw new NotAFeedError('the document is empty');
  if (first === '{' || first === '[' || text.trim() === 'null') return parseJsonFeed(text.trim(), source.url);
  const isPage = isHtmlPage(text);
  const feed = isPage && startsWithHtml(text) ? null : parseXmlFeed(text, source.url);
  if (feed === null) throw new NotAFeedError(`the document is ${describe(text, first, isPage)}`);
  return feed;
}

/** Whether the document begins with `<html>`; tags such as `<br>` may belong to a server's warning before a feed. */
function startsWithHtml(text: string): boolean {
  return /^\s*(?:<\?xml[^>]*>\s*)?<html[\s>]/i.test(text.slice(0, 1024));
}

/** Whether a document begins with the doctype of HTML. Some servers put the doctype of HTML even in front of feeds. */
function claimsToBeHtml(text: string): boolean {
  return /^\s*(?:<\?xml[^>]*>\s*)?<!doctype\s+html/i.test(text.slice(0, 1024));
}

function describe(text: string, first: string, isPage: boolean): string {
  if (isPage) return 'an HTML page, not a feed';
  if (first === '<') return 'XML, but neither RSS nor Atom';
  return text.slice(0, 1024).includes('\0') ? 'binary data, not a feed' : 'text, but not a feed';
}

/** Parses the feed in an XML document; returns null if its root is no feed's root. Throws XmlLimitError. */
function parseXmlFeed(text: string, feedUrl: string): ParsedFeed | null {
  const root = findRoot(text);
  if (root === null) return null;
  const namespaces = root.kind === 'atom' ? NAMESPACES_IN_ATOM : NAMESPACES_IN_RSS;
  const tree = parseXmlTree(text, { namespaces, siblings: SIBLINGS, from: root.start });
  if (tree === null) return null;
  return root.kind === 'atom' ? parseAtom(tree, feedUrl) : parseRss(tree, feedUrl);
}

function findRoot(text: string): Root | null {
  let root: Root | null = null;
  let seen = 0;
  const most = claimsToBeHtml(text) ? 1 : MAX_TAGS_BEFORE_ROOT;
  const ignore = (): boolean => true;
  scanXml(text, {
    startTag(tag) {
      const kind = ROOTS.get(tag.name.slice(tag.name.indexOf(':') + 1).toLowerCase());
      if (kind !== undefined) root = { kind, start: tag.start };
      seen += 1;
      return root === null && seen < most;
    },
    endTag: ignore, text: ignore, cdata: ignore, skipped: ignore,
  });
  return root;
}

/** A feed to which a web page links; `title` is the title that the link names. */
export type FeedLink = { url: string; title: string | null };

const FEED_TYPES = new Set([
  'application/rss+xml', 'application/atom+xml', 'application/feed+json', 'application/json', 'application/rdf+xml',
  'application/x-rss+xml', 'application/x-atom+xml', 'application/xml', 'text/xml', 'text/rss+xml', 'text/rss',
]);
/** Matches `link` and `base` tags, and the beginnings of comments and elements whose content must be skipped. */
const TAG = /<(?:!--|(link|base|script|style|template|noembed|noframes|xmp|textarea|title)(?=[\s/>]))/gi;
const HTML_START = /^(?:<!doctype\s+html|<(?:html|head|body|title|meta|script|style|h1|div|table|p|center|br)[\s/>])/i;

/** The feeds to which a web page links, in document order; each address occurs once. */
export function findFeedLinks(html: string, pageUrl: string): FeedLink[] {
  const found = new Map<string, FeedLink>();
  const links: ReadonlyMap<string, string>[] = [];
  let base: string | null = null;
  for (const { name, attributes } of headTags(html)) {
    if (name === 'link') links.push(attributes);
    else base ??= absoluteUrl(attributes.get('href'), pageUrl);
  }
  for (const attributes of links) {
    const link = feedLink(attributes, base ?? pageUrl);
    if (link !== null && !found.has(link.url)) found.set(link.url, link);
  }
  return [...found.values()];
}

/** Whether a document begins like a web page, after white space, comments and an XML declaration. */
export function isHtmlPage(text: string): boolean {
  let at = 0;
  for (;;) {
    at += text.slice(at, at + 4096).search(/[^\s\ufeff]|$/);
    const prolog = text.startsWith('<!--', at) ? '-->' : text.startsWith('<?', at) ? '?>' : null;
    if (prolog === null) return HTML_START.test(text.slice(at, at + 64));
    const end = text.indexOf(prolog, at);
    if (end === -1) return false;
    at = end + prolog.length;
  }
}

/** At most this many tags of one page are read, so that a page with thousands of links costs little time. */
const HEAD_TAGS_MAX = 1_000;

/** The first `link` and `base` tags of a page, without tags in comments, scripts and similar elements. */
export function headTags(html: string): { name: string; attributes: ReadonlyMap<string, string> }[] {
  const tags: { name: string; attributes: ReadonlyMap<string, string> }[] = [];
  TAG.lastIndex = 0;
  for (let match = TAG.exec(html); match !== null && tags.length < HEAD_TAGS_MAX; match = TAG.exec(html)) {
    const name = match[1]?.toLowerCase();
    const end = endOfTag(html, TAG.lastIndex);
    if (name === 'link' || name === 'base') tags.push({ name, attributes: readAttributes(html, TAG.lastIndex, end) });
    TAG.lastIndex = name === undefined ? skipTo(html, '-->', TAG.lastIndex) : endOfElement(html, name, end);
  }
  return tags;
}

/** The offset at which reading continues after a tag: for an element of text, the end of its end tag. */
function endOfElement(html: string, name: string, tagEnd: number): number {
  if (name === 'link' || name === 'base') return tagEnd;
  const endTag = new RegExp(`</${name}`, 'gi');
  endTag.lastIndex = tagEnd;
  return endTag.test(html) ? endTag.lastIndex : html.length;
}

function skipTo(html: string, wanted: string, from: number): number {
  const index = html.indexOf(wanted, from);
  return index === -1 ? html.length : index;
}

function feedLink(attributes: ReadonlyMap<string, string>, base: string): FeedLink | null {
  const rel = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/);
  const type = essenceOf(attributes.get('type'));
  const isAlternate = rel.includes('alternate') && !rel.includes('stylesheet') && FEED_TYPES.has(type);
  if (!isAlternate && !rel.includes('feed')) return null;
  const url = absoluteUrl(attributes.get('href'), base);
  // WordPress links the data of each page as an alternate of type application/json, which is no feed.
  if (url === null || (type === 'application/json' && url.includes('/wp-json/'))) return null;
  return { url, title: singleLine(attributes.get('title') ?? '') || null };
}
