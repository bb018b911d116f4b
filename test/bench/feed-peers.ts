import { comparableContent, type ReadFeed, type ReadItem } from './feed-expectations.ts';

/** A feed parser beside ours: what it makes of a document's text, and that in comparable form. */
export type FeedPeer = {
  name: string;
  parse(text: string): unknown;
  comparable(result: unknown): ReadFeed;
};

/** The peers, out of the benchmarks' own packages. Rejects where those are not installed. */
export async function loadFeedPeers(): Promise<FeedPeer[]> {
  // Names in variables: the type checker must not look for packages that are only there for benchmarks.
  const [feedsmithName, rssParserName]: string[] = ['feedsmith', 'rss-parser'];
  const feedsmith: FeedsmithModule = await import(String(feedsmithName));
  const rssParser: RssParserModule = await import(String(rssParserName));
  return [feedsmithPeer(feedsmith), rssParserPeer(rssParser)];
}

type FeedsmithModule = { parseFeed(text: string): unknown };
type RssParserModule = { default: new (options: object) => { parseString(text: string): Promise<unknown> } };

function feedsmithPeer({ parseFeed }: FeedsmithModule): FeedPeer {
  return {
    name: 'feedsmith',
    parse: parseFeed,
    comparable(result) {
      const feed = at(result, 'feed');
      const items = listAt(feed, 'items').concat(listAt(feed, 'entries'));
      return comparableFeed(textAt(feed, 'title', 'value') || textAt(feed, 'title'), items.map(feedsmithItem));
    },
  };
}

function feedsmithItem(item: unknown): ReadItem {
  const link = listAt(item, 'links').find((one) => ['', 'alternate'].includes(textAt(one, 'rel')));
  const url = textAt(item, 'feedburner', 'origLink') || textAt(item, 'link') || textAt(link, 'href');
  const media = [at(item, 'media'), at(item, 'media', 'group'), ...listAt(item, 'media', 'groups')];
  const files = media.flatMap((one) => [...listAt(one, 'contents'), ...listAt(one, 'thumbnails')]);
  const content = textAt(item, 'content', 'encoded') || textAt(item, 'content', 'value')
    || textAt(item, 'description') || textAt(item, 'summary', 'value')
    || textAt(item, 'media', 'group', 'description', 'value');
  return {
    title: oneLine(textAt(item, 'title', 'value') || textAt(item, 'title')),
    url: url || null,
    guid: textAt(item, 'guid', 'value') || textAt(item, 'id') || textAt(item, 'rdf', 'about') || url || null,
    date: isoDate(textAt(item, 'pubDate') || textAt(item, 'published') || textAt(item, 'updated')
      || textAt(item, 'dc', 'date') || textAt(item, 'dc', 'dates', '0')),
    author: textAt(item, 'dc', 'creator') || textAt(item, 'dc', 'creators', '0') || textAt(item, 'authors', '0', 'name')
      || textAt(item, 'authors', '0') || textAt(item, 'itunes', 'author') || null,
    content: comparableContent(content),
    files: distinct([...listAt(item, 'enclosures'), ...files].map((file) => textAt(file, 'url'))),
  };
}

function rssParserPeer({ default: Parser }: RssParserModule): FeedPeer {
  const parser = new Parser({});
  return {
    name: 'rss-parser',
    parse: (text) => parser.parseString(text),
    comparable: (result) => comparableFeed(textAt(result, 'title'), listAt(result, 'items').map(rssParserItem)),
  };
}

function rssParserItem(item: unknown): ReadItem {
  const url = textAt(item, 'link');
  return {
    title: oneLine(textAt(item, 'title')),
    url: url || null,
    guid: textAt(item, 'guid') || textAt(item, 'id') || textAt(item, 'rdf:about') || url || null,
    date: isoDate(textAt(item, 'pubDate') || textAt(item, 'isoDate')),
    author: textAt(item, 'creator') || textAt(item, 'author') || textAt(item, 'itunes', 'author') || null,
    content: comparableContent(textAt(item, 'content:encoded') || textAt(item, 'content')),
    files: distinct([textAt(item, 'enclosure', 'url')]),
  };
}

function comparableFeed(title: string, items: ReadItem[]): ReadFeed {
  const feed: ReadFeed = { title: oneLine(title), items: items.length };
  const [first, last] = [items[0], items.at(-1)];
  if (first !== undefined) feed.first = first;
  if (last !== undefined) feed.last = last;
  return feed;
}

/** The most generous reading of a peer's date text. */
function isoDate(text: string): string | null {
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

function distinct(urls: string[]): number {
  return new Set(urls.filter((url) => url !== '')).size;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function at(value: unknown, ...path: string[]): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = Reflect.get(found, key);
  }
  return found;
}

function textAt(value: unknown, ...path: string[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' || typeof found === 'number' ? String(found).trim() : '';
}

function listAt(value: unknown, ...path: string[]): unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}
