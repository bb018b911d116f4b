import { decodeText } from '../../platform/markup/decode-text.ts';
import { isHtmlPage } from './find-feed-links.ts';
import { parseJsonFeed } from './parse-json-feed.ts';
import { NotAFeedError, type ParsedFeed } from './parsed-feed.ts';
import { parseXmlFeed } from './parse-xml-feed.ts';

export { isHtmlPage } from './find-feed-links.ts';
export { NotAFeedError, type ParsedAttachment, type ParsedFeed, type ParsedItem } from './parsed-feed.ts';

/**
 * Reads RSS, Atom and JSON Feed of all versions, with the faults that feeds have. `url` is where the document came
 * from, after redirects. Throws NotAFeedError for any other document and XmlLimitError for one beyond all bounds.
 */
export function parseFeed(bytes: Buffer, source: { url: string; contentType: string | null }): ParsedFeed {
  const text = decodeText(bytes, source.contentType);
  const first = firstCharacter(text);
  if (first === '') throw new NotAFeedError('the document is empty');
  if (first === '{' || first === '[' || text.trim() === 'null') return parseJsonFeed(text.trim(), source.url);
  const isPage = isHtmlPage(text);
  const feed = isPage && startsWithHtml(text) ? null : parseXmlFeed(text, source.url);
  if (feed === null) throw new NotAFeedError(`the document is ${describe(text, first, isPage)}`);
  return feed;
}

function firstCharacter(text: string): string {
  return text.trimStart().charAt(0);
}

/** Other tags may be a server's warning in front of a feed; these are not. */
function startsWithHtml(text: string): boolean {
  return /^\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html[\s>])/i.test(text.slice(0, 1024));
}

function describe(text: string, first: string, isPage: boolean): string {
  if (isPage) return 'an HTML page, not a feed';
  if (first === '<') return 'XML, but neither RSS nor Atom';
  return text.slice(0, 1024).includes('\0') ? 'binary data, not a feed' : 'text, but no feed';
}
