import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ParsedFeed } from '../../src/features/feeds/feed-values.ts';
import { decodeEntities } from '../../src/platform/markup/entities.ts';
import type { IncomingPost } from '../../src/features/posts/post-store.ts';

/** What a parser read of an item, in a form in which parsers can be compared. */
export type ReadItem = {
  title: string;
  url: string | null;
  guid: string | null;
  /** ISO 8601 in UTC with milliseconds. */
  date: string | null;
  author: string | null;
  /** The text of the content without tags and white space, its beginning. */
  content: string;
  /** How many different files the item points to. */
  files: number;
};

export type ReadFeed = { title: string; items: number; first?: ReadItem; last?: ReadItem };

/** `blank` items hold nothing to read: giving them or leaving them out are both right. */
type ExpectedFeed = ReadFeed & { blank?: number };

/** What a feed holds; or that it is none, with a word that the refusal contains. */
export type Expectation = ExpectedFeed | { refused: string };

type FieldCheck = { field: string; expected: unknown; found: unknown; right: boolean };

/** Where the feeds are taken to come from. */
export const CORPUS_FEED_URL = 'https://feeds.example.org/feed.xml';

/**
 * By file name of the corpus. Read off the sources with an XML parser of another language and, where dates, titles or
 * links need more than the text of an element, by a person; never taken from the output of this program.
 */
export function readExpectations(): Map<string, Expectation> {
  const text = readFileSync(join(import.meta.dirname, 'feed-expectations.json'), 'utf8');
  const read: Record<string, Expectation> = JSON.parse(text);
  return new Map(Object.entries(read));
}

/** Each expected field beside what was found; no field is expected of a guid that the feed does not give. */
export function checkFields(expected: ExpectedFeed, found: ReadFeed | null): FieldCheck[] {
  const withoutBlank = expected.items - (expected.blank ?? 0);
  const checks = [
    check('title', expected.title, found?.title),
    check('items', found?.items === withoutBlank ? withoutBlank : expected.items, found?.items),
  ];
  for (const place of ['first', 'last'] as const) {
    const item = expected[place];
    if (item !== undefined) checks.push(...checkItem(place, item, found?.[place]));
  }
  return checks;
}

function checkItem(place: string, expected: ReadItem, found: ReadItem | undefined): FieldCheck[] {
  return [
    check(`${place} title`, expected.title, found?.title),
    check(`${place} url`, normalUrl(expected.url), normalUrl(found?.url)),
    check(`${place} guid`, expected.guid, found?.guid),
    check(`${place} date`, expected.date, found?.date),
    check(`${place} author`, expected.author, found?.author),
    check(`${place} content`, expected.content, found?.content.slice(0, expected.content.length)),
    check(`${place} files`, expected.files, found?.files),
  ];
}

function check(field: string, expected: unknown, found: unknown): FieldCheck {
  return { field, expected, found, right: expected === found };
}

/** Absolute, as a browser writes it, so that a missing last slash or a relative link is no difference. */
function normalUrl(url: string | null | undefined): string | null {
  return url ? (URL.parse(url, CORPUS_FEED_URL)?.href ?? url) : null;
}

/** HTML in the form of `ReadItem.content`. */
export function comparableContent(html: string): string {
  return decodeEntities(html.replace(/<[^>]*>/g, '')).replace(/\s+/g, '');
}

/** Our own result in comparable form. */
export function comparableFeed(feed: ParsedFeed): ReadFeed {
  const [first, last] = [feed.items[0], feed.items.at(-1)];
  const read: ReadFeed = { title: feed.title, items: feed.items.length };
  if (first !== undefined) read.first = comparableItem(first);
  if (last !== undefined) read.last = comparableItem(last);
  return read;
}

function comparableItem(item: IncomingPost): ReadItem {
  return {
    title: item.title,
    url: item.url,
    guid: item.guid,
    date: item.publishedAt === null ? null : new Date(item.publishedAt).toISOString(),
    author: item.author,
    content: comparableContent(item.contentHtml),
    files: item.attachments.length,
  };
}
