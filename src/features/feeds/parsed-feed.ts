/** A file an item points to; `url` is absolute http(s). */
export type ParsedAttachment = {
  url: string;
  mediaType: string | null;
  bytes: number | null;
  title: string | null;
  durationSeconds: number | null;
};

export type ParsedItem = {
  /** The publisher's id where there is one; never empty, unique within the feed. */
  guid: string;
  /** Plain text on one line; empty where the item has none. */
  title: string;
  url: string | null;
  author: string | null;
  /** Not sanitised. */
  contentHtml: string;
  /** What relative links in `contentHtml` resolve against. */
  baseUrl: string;
  /** Not sanitised; only where there is content besides it. */
  summary: string | null;
  /** Unix ms; the time of the last change where no other is given. */
  publishedAt: number | null;
  updatedAt: number | null;
  attachments: ParsedAttachment[];
};

export type ParsedFeed = {
  title: string;
  description: string | null;
  siteUrl: string | null;
  /** How long the publisher wants to be left alone, in ms. */
  ttl: number | null;
  items: ParsedItem[];
};

/** The document is no feed; the message tells a person what was found instead. */
export class NotAFeedError extends Error {
  override name = 'NotAFeedError';
}

/** More items than this are not read; feeds list the newest first. */
export const MAX_ITEMS = 2000;
