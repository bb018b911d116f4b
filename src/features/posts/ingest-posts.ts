import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import { imageAddresses } from '../../platform/markup/remote-media.ts';
import { excerpt, plainText } from '../../platform/markup/plain-text.ts';
import { sanitizeHtml } from '../../platform/markup/sanitize-html.ts';
import type { KeptCounts } from '../../platform/metrics/kept-counts.ts';
import type { IngestStore, PreparedPost } from './ingest-store.ts';
import type { RemoteAttachment } from './remote-attachment-store.ts';

/** Characters. What one post may hold, so that no publisher makes a page or an answer heavy for everybody. */
const MAX = {
  title: 500,
  author: 200,
  url: 4_096,
  content: 400_000, // as sent; sanitising adds attributes to links
  summary: 280,
  searchText: 200_000,
  attachments: 100, // files, not characters
  images: 200, // within the content
};

/** What a publisher sent, nothing of it trusted yet. */
export type IncomingPost = {
  guid: string;
  title: string;
  url: string | null;
  author: string | null;
  contentHtml: string;
  baseUrl: string;
  summary: string | null;
  publishedAt: number | null;
  updatedAt: number | null;
  attachments: Omit<RemoteAttachment, 'filename' | 'isInline'>[];
};

/** New or changed posts, sanitised, with their places in the feed. */
export type PreparedPosts = { position: number; prepared: PreparedPost }[];

type Deps = {
  store: IngestStore;
  counts: KeptCounts;
  clock: Clock;
  /** Told of new posts of a source, in the transaction that stores them; given by app. */
  onAdded?(sourceId: number, posts: number): void;
};

export type Ingesting = ReturnType<typeof ingesting>;

/** The one way by which posts of feeds and webhooks come in. */
export function ingesting({ store, counts, clock, onAdded }: Deps) {
  return {
    /**
     * Sanitises what is new or changed: the slow part, outside any transaction. `sourceId` is null for a source that
     * is yet to be made, in which everything is new.
     */
    prepare(sourceId: number | null, posts: IncomingPost[]): PreparedPosts {
      return posts
        .map((post, position) => ({ post, position, contentHash: hashOf(post) }))
        .filter(({ post, contentHash }) => sourceId === null || !store.isSettled(sourceId, post.guid, contentHash))
        .map(({ post, position, contentHash }) => ({ position, prepared: prepare(post, contentHash) }));
    },

    /** Stores what was prepared, in the caller's transaction. Returns how many posts were added or updated. */
    store(sourceId: number, kind: string, posts: PreparedPosts): number {
      const now = clock();
      // Oldest first, a millisecond apart: what has no date of its own keeps the order of the feed.
      const stored = posts.toReversed().map((post) => store.store(sourceId, post.prepared, now - post.position));
      const added = stored.filter((one) => one === 'added').length;
      if (added > 0) {
        counts.add('posts_ingested_total', kind, added);
        onAdded?.(sourceId, added);
      }
      return stored.filter((one) => one !== 'buried').length;
    },
  };
}

/** Of what the publisher sent, so that an unchanged post is not sanitised and written again. */
function hashOf(post: IncomingPost): string {
  return createHash('sha256').update(JSON.stringify(post)).digest('base64url');
}

function prepare(post: IncomingPost, contentHash: string): PreparedPost {
  const contentHtml = sanitizeHtml(post.contentHtml.slice(0, MAX.content), { baseUrl: post.baseUrl });
  const content = plainText(contentHtml);
  const summary = post.summary ? plainText(post.summary.slice(0, MAX.content)) : content;
  const author = post.author && excerpt(post.author, MAX.author);
  return {
    guid: post.guid,
    title: excerpt(post.title, MAX.title) || excerpt(content, 80),
    url: post.url !== null && post.url.length <= MAX.url ? post.url : null,
    author,
    contentHtml,
    summary: excerpt(summary, MAX.summary),
    searchText: `${content.slice(0, MAX.searchText)} ${author ?? ''}`,
    contentHash,
    publishedAt: post.publishedAt,
    updatedAt: post.updatedAt,
    attachments: remoteFiles(post.attachments.slice(0, MAX.attachments), contentHtml),
  };
}

/** The files beside a post, each address once, and the images within it that are not among them. */
export function remoteFiles(attachments: IncomingPost['attachments'], contentHtml: string): RemoteAttachment[] {
  const listed = new Set<string>();
  const beside = attachments.filter(({ url }) => !listed.has(url) && listed.add(url));
  const images = imageAddresses(contentHtml).filter((url) => !listed.has(url)).slice(0, MAX.images);
  return [...beside.map((attachment) => named(attachment, false)), ...images.map(inlineImage)];
}

function inlineImage(url: string): RemoteAttachment {
  return named({ url, mediaType: null, bytes: null, title: null, durationSeconds: null }, true);
}

function named(attachment: IncomingPost['attachments'][number], isInline: boolean): RemoteAttachment {
  return {
    ...attachment,
    isInline,
    filename: filenameOf(attachment.url),
    bytes: wholeNumber(attachment.bytes),
    durationSeconds: wholeNumber(attachment.durationSeconds),
  };
}

/** What SQLite takes for an integer; null for what a publisher cannot mean. */
function wholeNumber(value: number | null): number | null {
  const rounded = value === null ? NaN : Math.round(value);
  return Number.isSafeInteger(rounded) && rounded >= 0 ? rounded : null;
}

/** The last segment of the URL's path, for display. */
function filenameOf(url: string): string {
  const segment = new URL(url).pathname.split('/').findLast((part) => part !== '') ?? '';
  return cleanFilename(decode(segment)) || 'attachment';
}

/** Without controls, folders and marks that turn the direction of writing; dots alone would name a folder too. */
function cleanFilename(name: string): string {
  const cleaned = name.replace(/[\p{Cc}\p{Bidi_Control}/\\]/gu, '').slice(0, 120).toWellFormed();
  return /^[. ]*$/.test(cleaned) ? '' : cleaned;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
