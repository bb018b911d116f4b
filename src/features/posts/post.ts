import type { RemoteFile } from '../attachments/attachment-store.ts';

/** A file that a publisher names beside a post; `url` is absolute http(s). */
export type IncomingFile = Omit<RemoteFile, 'filename' | 'isInline'>;

/** A post as a feed or an event has it: read, but nothing of it trusted yet. Times in unix ms. */
export type IncomingPost = {
  /** The publisher's id where there is one; never empty, unique within its source. */
  guid: string;
  /** Plain text on one line; empty where there is none. */
  title: string;
  url: string | null;
  author: string | null;
  /** Not sanitised. */
  contentHtml: string;
  /** What relative links in `contentHtml` resolve against. */
  baseUrl: string;
  /** Not sanitised; only where there is content besides it. */
  summary: string | null;
  /** The time of the last change where no other is given. */
  publishedAt: number | null;
  updatedAt: number | null;
  attachments: IncomingFile[];
};

/** A post ready to be stored: sanitised, with its searchable text. */
export type PreparedPost = Omit<IncomingPost, 'summary' | 'attachments'> & {
  summary: string;
  searchText: string;
  contentHash: string;
  attachments: RemoteFile[];
};

/** What a publisher says of a post, each member with its column: stored and read by this list. */
export const CONTENT_COLUMNS = {
  title: 'title', url: 'url', author: 'author', contentHtml: 'content_html', summary: 'summary',
} satisfies Partial<Record<keyof PreparedPost, string>>;

/** A post as it is stored, with what its source is called. Times in unix ms. */
export type Post = Pick<PreparedPost, 'guid' | keyof typeof CONTENT_COLUMNS> & {
  id: number;
  sourceId: number;
  sourceTitle: string;
  sourceKind: string;
  sourceIdSeed: string;
  ownerId: number;
  publishedAt: number;
  updatedAt: number;
  isPublic: number;
  searchKey: number;
};

/** Where a page of the timeline begins: after this post, newest first. */
export type Position = { publishedAt: number; id: number };
