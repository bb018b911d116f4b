import { essenceOf } from '../../platform/http/headers.ts';
import { endOfTag, readAttributes } from '../../platform/markup/xml-tokenizer.ts';
import { absoluteUrl } from './feed-values.ts';

type FeedLink = { url: string };

const FEED_TYPES = new Set([
  'application/rss+xml', 'application/atom+xml', 'application/feed+json', 'application/json', 'application/rdf+xml',
  'application/x-rss+xml', 'application/x-atom+xml', 'application/xml', 'text/xml', 'text/rss+xml', 'text/rss',
]);
/** Tags that matter, and the starts of what hides tags: comments and elements whose content is text. */
const TAG = /<(?:!--|(link|base|script|style|template|noembed|noframes|xmp|textarea|title)(?=[\s/>]))/gi;
const HTML_START = /^(?:<!doctype\s+html|<(?:html|head|body|title|meta|script|style|h1|div|table|p|center|br)[\s/>])/i;

/** The feeds a web page advertises, in its order, each address once. */
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

/** Whether a document begins as a web page does, after white space, comments and an XML declaration. */
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

/** The `link` and `base` tags of a page, those in comments, scripts and other text left out. */
function headTags(html: string): { name: string; attributes: ReadonlyMap<string, string> }[] {
  const tags: { name: string; attributes: ReadonlyMap<string, string> }[] = [];
  TAG.lastIndex = 0;
  for (let match = TAG.exec(html); match !== null; match = TAG.exec(html)) {
    const name = match[1]?.toLowerCase();
    const end = endOfTag(html, TAG.lastIndex);
    if (name === 'link' || name === 'base') tags.push({ name, attributes: readAttributes(html, TAG.lastIndex, end) });
    TAG.lastIndex = name === undefined ? skipTo(html, '-->', TAG.lastIndex) : endOfElement(html, name, end);
  }
  return tags;
}

/** Where reading goes on after a tag: behind the end tag of an element whose content is text. */
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
  // WordPress advertises each page's data as an alternate of type application/json.
  if (url === null || (type === 'application/json' && url.includes('/wp-json/'))) return null;
  return { url };
}
