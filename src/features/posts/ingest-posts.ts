import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import { excerpt, plainText } from '../../platform/markup/plain-text.ts';
import { sanitizeHtml } from '../../platform/markup/sanitize-html.ts';
import type { KeptCounts } from '../../platform/metrics/kept-counts.ts';
import type { IngestStore, NewAttachment, PreparedPost } from './ingest-store.ts';

const SUMMARY_LENGTH = 280;
const SEARCH_TEXT_LENGTH = 200_000;

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
  attachments: Omit<NewAttachment, 'filename'>[];
};

type Deps = { store: IngestStore; counts: KeptCounts; clock: Clock };

/**
 * The one way by which posts of feeds and webhooks come in. `ingest` sanitises what is new or changed, outside any
 * transaction; the function it returns stores that, in the caller's transaction, and says how many posts changed.
 */
export function ingesting({ store, counts, clock }: Deps) {
  return (sourceId: number, kind: string, posts: IncomingPost[]): (() => number) => {
    const changed = posts
      .map((post, position) => ({ post, position, contentHash: hashOf(post) }))
      .filter(({ post, contentHash }) => !store.isSettled(sourceId, post.guid, contentHash))
      .map(({ post, position, contentHash }) => ({ position, prepared: prepare(post, contentHash) }));

    return () => {
      const now = clock();
      // Oldest first, a millisecond apart: what has no date of its own keeps the order of the feed.
      const stored = changed.toReversed().filter(({ prepared, position }) => store.store(sourceId, prepared, now - position));
      if (stored.length > 0) counts.add('posts_ingested_total', kind, stored.length);
      return stored.length;
    };
  };
}

/** Of what the publisher sent, so that an unchanged post is not sanitised and written again. */
function hashOf(post: IncomingPost): string {
  return createHash('sha256').update(JSON.stringify(post)).digest('base64url');
}

function prepare(post: IncomingPost, contentHash: string): PreparedPost {
  const contentHtml = sanitizeHtml(post.contentHtml, { baseUrl: post.baseUrl });
  const content = plainText(contentHtml);
  const summary = post.summary ? plainText(post.summary) : content;
  return {
    guid: post.guid,
    title: post.title || excerpt(content, 80),
    url: post.url,
    author: post.author,
    contentHtml,
    summary: excerpt(summary, SUMMARY_LENGTH),
    searchText: `${content.slice(0, SEARCH_TEXT_LENGTH)} ${post.author ?? ''}`,
    contentHash,
    publishedAt: post.publishedAt,
    updatedAt: post.updatedAt,
    attachments: post.attachments.map((attachment) => ({ ...attachment, filename: filenameOf(attachment.url) })),
  };
}

/** The last segment of the URL's path, for display. */
function filenameOf(url: string): string {
  const segment = new URL(url).pathname.split('/').findLast((part) => part !== '') ?? '';
  return cleanFilename(decode(segment)) || 'attachment';
}

function cleanFilename(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f/\\]/g, '').slice(0, 120);
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
