import { decodeText } from '../../platform/markup/decode-text.ts';
import { scanXml } from '../../platform/markup/xml-tokenizer.ts';
import { parseXmlTree } from '../../platform/markup/xml-tree.ts';
import { NotAFeedError, type ParsedFeed } from './feed-values.ts';
import { isHtmlPage } from './page-links.ts';
import { parseAtom } from './parse-atom.ts';
import { parseJsonFeed } from './parse-json-feed.ts';
import { parseRss } from './parse-rss.ts';

type Root = { kind: 'rss' | 'atom'; start: number };

/** The first start tags, among which the root element of a feed must be: a server's warning may precede it. */
const MAX_TAGS_BEFORE_ROOT = 50;
const ROOTS = new Map<string, Root['kind']>([['rss', 'rss'], ['rdf', 'rss'], ['channel', 'rss'], ['feed', 'atom']]);
const SIBLINGS = new Set(['channel', 'items', 'item', 'entries', 'entry']);

/** The namespaces of feed modules, in lower case, with http, without a trailing slash, each with its usual prefix. */
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

const NAMESPACES_IN_RSS: ReadonlyMap<string, string> = new Map([
  ...MODULES,
  ...RSS.map((uri): [string, string] => [uri, '']),
  ...ATOM.map((uri): [string, string] => [uri, 'atom']),
]);

const NAMESPACES_IN_ATOM: ReadonlyMap<string, string> = new Map([
  ...MODULES,
  ...ATOM.map((uri): [string, string] => [uri, '']),
]);

/** Throws NotAFeedError, or XmlLimitError beyond a limit of the XML parser. `url`: the address after redirects. */
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

/** Some servers put the doctype of HTML even in front of feeds. */
function claimsToBeHtml(text: string): boolean {
  return /^\s*(?:<\?xml[^>]*>\s*)?<!doctype\s+html/i.test(text.slice(0, 1024));
}

function describe(text: string, first: string, isPage: boolean): string {
  if (isPage) return 'an HTML page, not a feed';
  if (first === '<') return 'XML, but neither RSS nor Atom';
  return text.slice(0, 1024).includes('\0') ? 'binary data, not a feed' : 'text, but not a feed';
}

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
