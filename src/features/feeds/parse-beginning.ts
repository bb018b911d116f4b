import type { TakeBody } from '../../platform/net/outbound-exchange.ts';
import { NotAFeedError, type ParsedFeed } from './feed-values.ts';
import { isHtmlPage } from './page-links.ts';
import { parseFeed } from './parse-feed.ts';

/** While a person waits, the hub parses at most this many bytes of a large document. */
const BEGINNING = 64 * 1024;
const LARGE = 2 * BEGINNING;
const BEGINNING_BYTES = 512 * 1024;
/** The hub searches at most this many bytes of a web page for links to feeds; YouTube names its feeds at 600 kB. */
export const PAGE_BYTES = 2 * 1024 * 1024;

const MEMBERS = ['"items"', '"version"'];
const EMPTY_FEED = Buffer.from('{"version":"https://jsonfeed.org/version/1.1","items":[]}');
const XML_FEED = /<(?:[\w-]+:)?(?:rss|rdf|channel|feed)[\s>]/i;
const FEED_LINK = /<link\s[^<>]*\/(?:rss|atom)\+xml/i; // in scripts of pages, `rss+xml` stands without `<link`

type Beginning = { take: TakeBody; bytes(): Buffer; isLarge(): boolean; hasMembers(): boolean };

/**
 * Receives a document piece by piece, and stops when a large document is known to be a feed. JSON is received until it
 * has the members of a JSON Feed, but only about its first BEGINNING_BYTES are kept. Of any other large document, such
 * as a web page, hardly more than PAGE_BYTES are received, and of a page that names a feed only the head.
 */
export function takeBeginning(): Beginning {
  const pieces: Buffer[] = [];
  const missing = new Set(MEMBERS);
  let size = 0;
  let end: Buffer = Buffer.alloc(0);
  let kind: Kind | undefined;
  let namesFeed = false;
  let headEnded = false;

  function take(piece: Buffer): boolean {
    if (kind !== 'json' || size < BEGINNING_BYTES) pieces.push(piece);
    size += piece.length;
    namesFeed ||= FEED_LINK.test(piece.toString('latin1'));
    headEnded ||= namesFeed && (piece.includes('</head') || piece.includes('<body'));
    if (size <= LARGE) return true;
    kind ??= kindOf(Buffer.concat(pieces));
    if (kind === 'json') lookForMembers(Buffer.concat(end.length > 0 ? [end, piece] : pieces));
    if (kind === 'other') return size < PAGE_BYTES && !headEnded;
    return kind === 'json' && missing.size > 0;
  }

  function lookForMembers(bytes: Buffer): void {
    for (const member of missing) if (bytes.includes(member)) missing.delete(member);
    end = bytes.subarray(-10); // the name of a JSON member may be split between two pieces of the body
  }

  return {
    take,
    bytes: () => Buffer.concat(pieces),
    isLarge: () => size > LARGE,
    hasMembers: () => missing.size === 0,
  };
}

type Kind = 'xml' | 'json' | 'other';

function kindOf(bytes: Buffer): Kind {
  const text = bytes.toString('latin1', 0, BEGINNING);
  if (isJson(bytes)) return 'json';
  return XML_FEED.test(text) && !isHtmlPage(text) ? 'xml' : 'other';
}

function isJson(bytes: Buffer): boolean {
  return /^(?:\xef\xbb\xbf)?\s*\{/.test(bytes.toString('latin1', 0, 1024));
}

/**
 * Reads the title of a feed, but not all its posts. Of a JSON Feed it reads what stands before the posts; if that is no
 * feed, or longer than BEGINNING, it only asks whether the required members were seen, and the title stays empty.
 */
export function parseBeginning(document: Beginning, source: { url: string; contentType: string | null }): ParsedFeed {
  const bytes = document.bytes();
  if (!isJson(bytes)) return parseFeed(bytes.subarray(0, bytes.lastIndexOf('>', BEGINNING) + 1 || BEGINNING), source);
  const items = bytes.indexOf('"items"');
  if (items > 0 && items < BEGINNING) {
    try {
      return parseFeed(Buffer.concat([bytes.subarray(0, items), Buffer.from('"items":[]}')]), source);
    } catch (error) {
      if (!(error instanceof NotAFeedError)) throw error;
    }
  }
  if (!document.hasMembers()) throw new NotAFeedError('the document is JSON, but not a JSON Feed');
  return parseFeed(EMPTY_FEED, source);
}

/** Parses a feed that is larger than the hub reads. Of XML, the last post may not be whole, and counts as unsure. */
export function parseCut(bytes: Buffer, source: { url: string; contentType: string | null }): ParsedFeed {
  const isXml = !isJson(bytes);
  const end = bytes.lastIndexOf('>') + 1 || bytes.length; // so that no character is split
  const whole = isXml ? bytes.subarray(0, end) : wholeItems(bytes);
  return { ...parseFeed(whole, source), cut: { lastIsSure: !isXml } };
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d]; // `[` and `]` are braces without the bit 0x20

/** A JSON Feed that was cut off, ended after its last whole item. */
function wholeItems(bytes: Buffer): Buffer {
  let depth = 0;
  let isText = false;
  let end = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (isText && byte === BACKSLASH) at++;
    else if (byte === QUOTE) isText = !isText;
    else if (!isText && (byte | 0x20) === OPEN) depth++;
    else if (!isText && (byte | 0x20) === CLOSE && --depth === 2) end = at + 1;
  }
  return Buffer.concat([bytes.subarray(0, end), Buffer.from(']}')]);
}
