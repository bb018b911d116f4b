import { refuseInTransaction } from '../../platform/db/open-database.ts';
import { isJsonObject, type JsonObject } from '../../platform/http/body.ts';
import { repairControls } from '../../platform/markup/decode-text.ts';
import { singleLine } from '../../platform/markup/tidy-text.ts';
import type { IncomingFile, IncomingPost } from '../posts/post-store.ts';
import { addAttachment, fileType, MAX_ITEM_FILES, parseByteCount } from './collect-attachments.ts';
import {
  absoluteUrl, decodeOnceMore, identifyItems, languageTag, newestItems, NotAFeedError, personNames, textToHtml,
  type ParsedFeed, type UnidentifiedItem,
} from './feed-values.ts';
import { parseDate } from './parse-date.ts';

/** Parses JSON Feed 1 and 1.1, and ignores JSON members of the wrong type. Throws NotAFeedError. */
export function parseJsonFeed(text: string, feedUrl: string): ParsedFeed {
  const feed = readDocument(text);
  const siteUrl = absoluteUrl(textIn(feed, 'home_page_url'), feedUrl);
  const given = { author: authorsOf(feed), language: languageTag(textIn(feed, 'language')) };
  const all = listIn(feed, 'items').filter(isJsonObject);
  const dateIn = (item: JsonObject): string => textIn(item, 'date_published') || textIn(item, 'date_modified');
  const items = newestItems(all, (item) => parseDate(dateIn(item), given.language));
  return {
    title: titleIn(feed, 'title'),
    description: titleIn(feed, 'description') || null,
    siteUrl,
    iconUrl: absoluteUrl(textIn(feed, 'favicon'), feedUrl) ?? absoluteUrl(textIn(feed, 'icon'), feedUrl),
    ttl: null,
    items: identifyItems(items.map((item) => readItem(item, siteUrl ?? feedUrl, given))),
    deleted: [],
    cut: null,
    hidesItems: false,
  };
}

function readDocument(text: string): JsonObject {
  refuseInTransaction('reading JSON Feed');
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new NotAFeedError('the document looks like JSON but is not valid', { cause });
  }
  if (!isJsonObject(document)) throw new NotAFeedError('the document is JSON, but not a JSON Feed');
  const version = textIn(document, 'version');
  const isDeclared = /jsonfeed\.org/i.test(version);
  const isShapedLikeOne = Array.isArray(document['items']) && (/^1(?:\.[01])?$/.test(version)
    || [document['title'], document['home_page_url'], document['feed_url']].some((value) => typeof value === 'string'));
  if (!isDeclared && !isShapedLikeOne) throw new NotAFeedError('the document is JSON, but not a JSON Feed');
  return document;
}

/** `given`: the author and language of the feed, which apply to items without an author or language. */
function readItem(
  item: JsonObject, base: string, given: Pick<IncomingPost, 'author' | 'language'>,
): UnidentifiedItem {
  const language = languageTag(textIn(item, 'language')) ?? given.language;
  const members = {
    title: titleIn(item, 'title'),
    url: absoluteUrl(textIn(item, 'url'), base) ?? absoluteUrl(textIn(item, 'external_url'), base),
    author: authorsOf(item) ?? given.author,
    language,
    html: textIn(item, 'content_html'),
    text: textIn(item, 'content_text'),
    summary: textIn(item, 'summary'),
    publishedAt: parseDate(textIn(item, 'date_published'), language),
    updatedAt: parseDate(textIn(item, 'date_modified'), language),
    attachments: attachmentsOf(item, base),
    picture: absoluteUrl(textIn(item, 'image') || textIn(item, 'banner_image'), base),
  };
  return { guid: singleLine(textIn(item, 'id')) || null, ...postOfItem(members, base) };
}

type ItemMembers = Pick<IncomingPost, 'title' | 'url' | 'author' | 'language' | 'publishedAt' | 'updatedAt' |
  'attachments' | 'picture'> & { html: string; text: string; summary: string };

/** Converts an item of a JSON Feed or webhook to a post. Without content, its summary is the content. */
export function postOfItem({ html, text, summary, ...members }: ItemMembers, base: string): Omit<IncomingPost, 'guid'> {
  const content = html.trim() || textToHtml(text);
  const summaryHtml = textToHtml(summary);
  return {
    ...members,
    contentHtml: content || summaryHtml,
    baseUrl: members.url ?? base,
    summary: (content && summaryHtml) || null,
    publishedAt: members.publishedAt ?? members.updatedAt,
  };
}

/** The names in `authors` (JSON Feed 1.1) or `author` (1), which may be an array, an object or a plain name. */
function authorsOf(holder: JsonObject): string | null {
  for (const member of ['authors', 'author']) {
    const names = personNames(listIn(holder, member).map(authorName));
    if (names !== null) return names;
  }
  return null;
}

function authorName(author: unknown): string {
  return isJsonObject(author) ? textIn(author, 'name') || textIn(author, 'url') : scalarText(author);
}

function attachmentsOf(item: JsonObject, base: string): IncomingFile[] {
  const found = new Map<string, IncomingFile>();
  for (const file of listIn(item, 'attachments').filter(isJsonObject)) {
    if (found.size >= MAX_ITEM_FILES) break;
    const url = absoluteUrl(textIn(file, 'url'), base);
    if (url === null) continue;
    const seconds = Number.parseFloat(textIn(file, 'duration_in_seconds'));
    addAttachment(found, {
      url,
      mediaType: fileType(textIn(file, 'mime_type'), url),
      bytes: parseByteCount(textIn(file, 'size_in_bytes')),
      title: titleIn(file, 'title') || null,
      durationSeconds: seconds >= 0 ? Math.round(seconds) : null,
    });
  }
  return [...found.values()];
}

/** Reads a member of a JSON object as text; a number is converted to text, and any other value becomes ''. */
function textIn(holder: JsonObject, name: string): string {
  return scalarText(holder[name]);
}

/** A reference to an angle bracket, which a writer of plain text means as it stands. */
const BRACKET = /(&(?:lt|gt|#0*6[02]|#x0*3[ce]);)/i;

/** A plain text on one line. Many programs write character references such as `&#8217;` into it all the same. */
function titleIn(holder: JsonObject, name: string): string {
  return singleLine(textIn(holder, name).split(BRACKET)
    .map((part) => BRACKET.test(part) ? part : decodeOnceMore(part)).join(''));
}

function scalarText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? repairControls(String(value)) : '';
}

/** Reads a member of a JSON object as an array; a single value becomes an array with one element. */
function listIn(holder: JsonObject, name: string): unknown[] {
  const value = holder[name];
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}
