import { essenceOf } from '../../platform/http/headers.ts';
import { excerpt, singleLine } from '../../platform/markup/tidy-text.ts';
import { endOfTag, readAttributes } from '../../platform/markup/xml-tokenizer.ts';
import { withoutFeedScheme } from './feed-address.ts';
import { absoluteUrl } from './feed-values.ts';

/** A feed to which a web page links. `title` and `format` are what the link says about the feed. */
export type FeedLink = { url: string; title: string | null; format: 'RSS' | 'Atom' | 'JSON Feed' | null };

type Attributes = ReadonlyMap<string, string>;

type Tag = { name: string; attributes: Attributes; end: number }; // `end`: the offset of the tag's `>`

const FEED_TYPE = /\b(?:rss|atom|rdf|feed)\b/;
/** Media types that links to feeds may declare, and also links to data that are no feed. */
const OPEN_TYPES = new Set(['application/json', 'application/xml', 'text/xml']);

const FEED_ADDRESS = /(?:^|[/._=&?-])(?:feeds?|rss2?|atom|rdf|xml)(?:[/._=&?]|$)/i;
const OTHER_XML = /sitemap|opensearch|osd\.xml|manifest|browserconfig|wp-json|oembed/i;
/** Finds in a link's text or attributes a word for a feed, such as RSS, but not `feed-item` or the prefix `xml:`. */
const FEED_WORD =
  /(?:^|[^a-z])(?:rss2?|atom|xml)(?![a-z:])|(?:^|[^a-z_-])(?:news|web)?feeds?(?![a-z_-])|フィード|订阅|訂閱|구독/i;
const COMMENTS = /[ck]om+ent|reacties|yorum|ком+ент|コメント|评论|評論|댓글/i;

const HTML_START =
  /^(?:<!doctype\s+html|<(?:html|head|body|title|meta|link|script|style|h1|div|table|p|center|br)[\s/>])/i;
/** Matches tags that tell of feeds or of the page's base address, comments, and elements whose content is skipped. */
const TAG = /<(?:!--|(link|base|meta|a|script|style|template|noembed|noframes|xmp|textarea|title|iframe)(?=[\s/>]))/gi;

/** At most this many tags of one page are read, so that a page with thousands of links costs little time. */
const HEAD_TAGS_MAX = 1_000;
const ANCHORS_MAX = 5_000;
const TAG_MAX = 4_000; // characters
const ANCHOR_REACH = 400; // characters of the content of an `a` element that are searched for words
const LINK_TITLE_MAX = 100; // characters
const FEED_ANCHORS = 3; // the most `a` elements of a page that the hub takes for links to feeds

/** Each advertised feed once, in document order, but feeds of comments last, and links of an uncertain type before. */
export function findFeedLinks(html: string, pageUrl: string, header = ''): FeedLink[] {
  const tags = headTags(html);
  const base = baseOf(tags, pageUrl);
  const linked = tags.flatMap(({ name, attributes }) => name === 'link' ? feedLink(attributes, base) : []);
  const found = [...headerLinks(header).flatMap((attributes) => feedLink(attributes, pageUrl)), ...linked];
  return eachOnce(found.toSorted((one, other) => one.rank - other.rank));
}

/** The `a` elements of a web page that look like links to feeds, the likeliest first. */
export function findFeedAnchors(html: string, pageUrl: string): FeedLink[] {
  const base = baseOf(headTags(html), pageUrl);
  const { host } = new URL(pageUrl);
  const found = [...pageTags(html, ['a'], ANCHORS_MAX)].flatMap(({ attributes, end }) => {
    const url = feedUrl(attributes.get('href'), base);
    if (url === null || url === pageUrl || OTHER_XML.test(url)) return [];
    const content = html.slice(end + 1, end + ANCHOR_REACH).split('</a', 1)[0] ?? '';
    const saysSo = FEED_WORD.test([...attributes].filter(([name]) => name !== 'href').flat().join(' ') + ' ' + content);
    const isHere = new URL(url).host === host;
    const looksSo = looksLikeFeed(url);
    if (!looksSo && !(saysSo && isHere)) return [];
    const comments = COMMENTS.test(url + content) ? 8 : 0;
    const title = linkTitle(content.replace(/<[^<>]*>/g, ' '));
    return { url, title, format: null, rank: comments - (isHere ? 4 : 0) - (looksSo ? 2 : 0) - (saysSo ? 1 : 0) };
  });
  return eachOnce(found.toSorted((one, other) => one.rank - other.rank)).slice(0, FEED_ANCHORS);
}

/** The addresses to which a page sends browsers within five seconds (`meta http-equiv=refresh`): at most one. */
export function refreshAddress(html: string, pageUrl: string): string[] {
  return [...pageTags(html, ['meta'], HEAD_TAGS_MAX)].flatMap(({ attributes }) => {
    if (attributes.get('http-equiv')?.toLowerCase() !== 'refresh') return [];
    const content = attributes.get('content') ?? '';
    return absoluteUrl(/^\s*[0-5]\s*[;,]\s*(?:url\s*=\s*)?["']?([^"']+)/i.exec(content)?.[1], pageUrl) ?? [];
  }).slice(0, 1);
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

/** The first `link` and `base` tags of a page, without tags in comments, scripts and similar elements. */
export function headTags(html: string): Tag[] {
  return [...pageTags(html, ['link', 'base'], HEAD_TAGS_MAX)];
}

function* pageTags(html: string, names: string[], most: number): Generator<Tag> {
  let count = 0;
  let at = 0;
  for (;;) {
    TAG.lastIndex = at;
    const match = TAG.exec(html);
    if (match === null) return;
    const start = TAG.lastIndex;
    const name = match[1]?.toLowerCase();
    const end = name === undefined ? start : endOfTag(html, start);
    // `<!-->` is a whole comment, so its end is searched from its own dashes.
    at = name === undefined ? skipTo(html, '-->', start - 2) : endOfElement(html, name, end);
    if (name === undefined || !names.includes(name) || end - start > TAG_MAX) continue;
    yield { name, attributes: readAttributes(html, start, end), end };
    count += 1;
    if (count === most) return;
  }
}

/** The offset at which reading continues after a tag: for an element whose content is skipped, in its end tag. */
function endOfElement(html: string, name: string, tagEnd: number): number {
  if (['link', 'base', 'meta', 'a'].includes(name)) return tagEnd;
  const endTag = new RegExp(`</${name}`, 'gi');
  endTag.lastIndex = tagEnd;
  return endTag.test(html) ? endTag.lastIndex : html.length;
}

function skipTo(html: string, wanted: string, from: number): number {
  const index = html.indexOf(wanted, from);
  return index === -1 ? html.length : index + wanted.length;
}

/** The base address of the links of a page: from its first `base` tag with an address, else its own address. */
export function baseOf(tags: Tag[], pageUrl: string): string {
  return tags.map(({ name, attributes }) => name === 'base' ? absoluteUrl(attributes.get('href'), pageUrl) : null)
    .find((url) => url !== null) ?? pageUrl;
}

/** The links of a `Link` header (RFC 8288), each with its parameters and its target as `href`. */
function headerLinks(header: string): Attributes[] {
  return header.split('<').slice(1, 1 + HEAD_TAGS_MAX).map((link) => {
    const [, href = '', parameters = ''] = /^([^>]*)>(.*)/s.exec(link) ?? [];
    return new Map([...readAttributes(parameters.replaceAll(/[;,]/g, ' '), 0, TAG_MAX), ['href', href]]);
  });
}

type RankedLink = FeedLink & { rank: number };

function feedLink(attributes: Attributes, base: string): RankedLink[] {
  const rel = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/);
  const type = essenceOf(attributes.get('type'));
  const url = feedUrl(attributes.get('href'), base);
  // WordPress links the data of each page as an alternate of type application/json, which is no feed.
  if (url === null || (type === 'application/json' && url.includes('/wp-json/'))) return [];
  const isSure = FEED_TYPE.test(type) || rel.includes('feed');
  const title = linkTitle(attributes.get('title') ?? '');
  const saysSo = looksLikeFeed(url) || FEED_WORD.test(title ?? '');
  const isLikely = OPEN_TYPES.has(type) || (saysSo && !/oembed|opensearch/.test(type) && !attributes.has('hreflang'));
  const isAlternate = rel.includes('alternate') && !rel.includes('stylesheet') && (isSure || isLikely);
  if (!isAlternate && !rel.includes('feed')) return [];
  const isOfComments = COMMENTS.test(`${new URL(url).pathname} ${title ?? ''}`);
  return [{ url, title, format: formatOf(type), rank: isOfComments ? 2 : isSure ? 0 : 1 }];
}

function linkTitle(text: string): string | null {
  return excerpt(singleLine(text), LINK_TITLE_MAX) || null;
}

function formatOf(type: string): FeedLink['format'] {
  if (/rss|rdf/.test(type)) return 'RSS';
  return type.includes('atom') ? 'Atom' : type.includes('feed+json') ? 'JSON Feed' : null;
}

function feedUrl(href: string | undefined, base: string): string | null {
  return absoluteUrl(withoutFeedScheme(href ?? ''), base)?.split('#', 1)[0] ?? null;
}

function looksLikeFeed(url: string): boolean {
  const { host, pathname, search } = new URL(url);
  return FEED_ADDRESS.test(host + pathname + search) && !OTHER_XML.test(url);
}

function eachOnce(links: RankedLink[]): FeedLink[] {
  return [...Map.groupBy(links, ({ url }) => url).values()].flatMap(([first]) => first ?? [])
    .map(({ rank: _, ...link }) => link);
}
