import { isoTime } from '../../platform/clock.ts';
import {
  array, choice, flag, id, named, noted, object, optional, orNull, text, time, type Shown,
} from '../../platform/http/fields.ts';
import { cursorOf, pageOf, readAfter, readCursor, readLimit } from '../../platform/http/input.ts';
import { invalid, notFound } from '../../platform/http/http-error.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { ATTACHMENT, attachmentJson, listedAttachments, type LinkHub } from '../attachments/attachment-links.ts';
import { attachments } from '../attachments/attachment-store.ts';
import { contentWithImages } from '../attachments/own-files.ts';
import type { Hub, StoreHub } from '../hub/hub.ts';
import { maySeeSource, SOURCE_KINDS, VISIBILITIES } from '../sources/source-store.ts';
import { faultOfSearch } from './expression.ts';
import { findPosts } from './find-posts-store.ts';
import { FORMATS } from './post-text-store.ts';
import { posts, type Position, type Post, type WholePost } from './post-store.ts';

/** Maximum bytes of contents and files in an API answer of several posts: with very long posts it has fewer. */
const ANSWER_BYTES = 512 * 1024;

/** Estimated bytes that each file of a post adds to an API answer. */
export const FILE_BYTES = 512;

/** How many of the first posts fit into one API answer with contents and files; 1 even if the first does not. */
export function fittingContents(hub: StoreHub, posts: Pick<Post, 'id' | 'contentBytes'>[]): number {
  const files = attachments(hub).countsOfPosts(posts.map(({ id }) => id));
  let bytes = 0;
  for (const [index, { id, contentBytes }] of posts.entries()) {
    bytes += contentBytes + FILE_BYTES * (files.get(id) ?? 0);
    if (bytes > ANSWER_BYTES) return Math.max(1, index);
  }
  return posts.length;
}

/** `searchedTo`: the time (unix ms) back to which a search looked; null if it filled the page or looked at all. */
type PostPage = { items: Post[]; next: string | null; searchedTo: number | null };

/** `withContents`: a page has fewer posts if their contents do not fit into one answer. `find`: searches for posts. */
type PostFilter = { sourceId?: number | undefined; withContents?: boolean; find?: typeof findPosts };

/** A page of public and own posts, or of a source's posts, by `?q=&cursor=&limit=`. Throws 404 for a hidden source. */
export function queryPosts(
  hub: Hub, { query, viewer }: HubRequest, { sourceId, withContents, find = findPosts }: PostFilter = {},
): PostPage {
  if (sourceId !== undefined && !maySeeSource(hub, sourceId, viewer)) throw notFound('source');
  const limit = readLimit(query);
  const wanted = { limit: limit + 1, sourceId };
  const paged = (rows: Post[], cursor: (last: Post) => string) =>
    pageOf(rows, withContents ? Math.min(limit, fittingContents(hub, rows)) : limit, cursor);
  const typed = query.get('q') ?? '';
  if (!typed.trim()) {
    const after = readAfter(query, ['publishedAt', 'id']);
    const from = { viewerId: viewer?.id ?? null, ...(after && { after }) };
    return { ...paged(posts(hub).newest({ ...wanted, ...from }), positionCursor), searchedTo: null };
  }
  refuseFault(typed);
  const [after] = readCursor(query, 1) ?? [];
  const { posts: found, reached, searchedTo } = find(hub, { ...wanted, viewer, typed, after });
  const { items, next } = paged(found, (last) => cursorOf(last.searchKey));
  if (next !== null) return { items, next, searchedTo: null };
  return { items, next: reached === null ? null : cursorOf(reached), searchedTo };
}

/** Throws status 400 if a typed search has a fault that keeps the hub from searching; names the first fault. */
export function refuseFault(typed: string, { hasStates = false } = {}): void {
  const fault = faultOfSearch(typed, { hasStates });
  if (fault) throw invalid([{ pointer: '/q', ...fault }], 400);
}

/** Returns the paging cursor after a post, for lists in the order of publishing. */
export function positionCursor({ publishedAt, id }: Position): string {
  return cursorOf(publishedAt, id);
}

const SOURCE_OF_POST = object({ id, title: text, kind: choice(SOURCE_KINDS) });

export const FULL_TEXT = named('FullText', object({
  state: choice(['none', 'waiting', 'ready', 'refused', 'failed']),
  reason: optional(noted(text, 'Why there is no full text, such as paywall or robots')),
  explanation: optional(noted(text, 'A sentence for readers why the post has no full text')),
  contentHtml: optional(text),
}));

/** A post in the API and in the export. */
export const POST = named('Post', object({
  id, source: SOURCE_OF_POST, title: text, url: orNull(text), author: orNull(text), contentHtml: text, summary: text,
  publishedAt: time, updatedAt: time, visibility: choice(VISIBILITIES), attachments: array(ATTACHMENT),
  read: optional(noted(flag, 'Whether you have read the post; only signed-in clients get this field')),
  starred: optional(flag),
  also: optional(noted(
    array(object({ id, source: SOURCE_OF_POST })),
    'Posts with the same link as this post, in other sources that you follow',
  )),
  fullText: optional(noted(FULL_TEXT, 'Only signed-in clients that request a single post get its full text')),
  content: optional(noted(text, 'The text as its author wrote the text; only for those who may change the post')),
  contentType: optional(choice(FORMATS)),
}));

export function postJson(hub: LinkHub, post: WholePost): Shown<typeof POST> {
  return {
    id: post.id,
    source: { id: post.sourceId, title: post.sourceTitle, kind: post.sourceKind },
    title: post.title,
    url: post.url,
    author: post.author,
    contentHtml: contentWithImages(hub, post, hub.config.baseUrl),
    summary: post.summary,
    publishedAt: isoTime(post.publishedAt),
    updatedAt: isoTime(post.updatedAt),
    visibility: post.isPublic === 1 ? 'public' : 'private',
    attachments: listedAttachments(post.attachments).map((attachment) => attachmentJson(hub, attachment)),
  };
}
