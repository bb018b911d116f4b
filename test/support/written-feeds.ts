import assert from 'node:assert/strict';
import { parseFeed } from '../../src/features/feeds/parse-feed.ts';
import type { ParsedFeed } from '../../src/features/feeds/feed-values.ts';
import type { IncomingPost } from '../../src/features/posts/post-store.ts';

/** Feeds written in a test, read as if they came from here. */
export const URL_OF_FEED = 'https://example.org/blog/feed.xml';

/** A whole document. */
export function parse(text: string, contentType: string | null = null): ParsedFeed {
  return parseFeed(Buffer.from(text), { url: URL_OF_FEED, contentType });
}

/** What a channel of the site https://site.example/ holds. */
export function rss(inner: string, attributes = 'version="2.0"'): ParsedFeed {
  const channel = `<channel><link>https://site.example/</link>${inner}</channel>`;
  return parse(`<?xml version="1.0"?><rss ${attributes}>${channel}</rss>`);
}

/** The first item of a feed that has one. */
export function first(feed: ParsedFeed): IncomingPost {
  const [item] = feed.items;
  assert.ok(item !== undefined, 'the feed has an item');
  return item;
}

/** What an RSS item holds. */
export function rssItem(inner: string, attributes?: string): IncomingPost {
  return first(rss(`<item>${inner}</item>`, attributes));
}

/** What an Atom feed holds. */
export function atom(inner: string, attributes = 'xmlns="http://www.w3.org/2005/Atom"'): ParsedFeed {
  return parse(`<feed ${attributes}>${inner}</feed>`);
}

/** What an Atom entry holds. */
export function entry(inner: string, attributes?: string): IncomingPost {
  return first(atom(`<entry>${inner}</entry>`, attributes));
}

/** Members of a JSON Feed. */
export function json(feed: object): ParsedFeed {
  return parse(JSON.stringify({ version: 'https://jsonfeed.org/version/1.1', title: 'T', ...feed }));
}

/** Members of an item of a JSON Feed. */
export function jsonItem(item: object): IncomingPost {
  return first(json({ items: [item] }));
}
