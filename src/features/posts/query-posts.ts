import { cursorOf, pageOf, readAfter, readCursor, readLimit } from '../../platform/http/input.ts';
import { notFound } from '../../platform/http/reply.ts';
import type { HubRequest } from '../../platform/http/router.ts';
import { attachments } from '../attachments/attachment-store.ts';
import type { Hub, StoreHub } from '../hub/hub.ts';
import { maySeeSource } from '../sources/source-store.ts';
import { findPosts } from './find-posts.ts';
import { posts, type Position, type Post } from './post-store.ts';

/** Bytes of contents and files in one answer, which with very long posts ends early. */
const ANSWER_BYTES = 512 * 1024;

/** What a file beside a post adds to an answer, about. */
const FILE_BYTES = 512;

/** How many of these posts may give their contents and files to one answer: at least one. */
export function fittingContents(hub: StoreHub, posts: Post[]): number {
  const files = attachments(hub).countsOfPosts(posts.map(({ id }) => id));
  let bytes = 0;
  const fitting = posts.findIndex(({ id, contentBytes }) =>
    (bytes += contentBytes + FILE_BYTES * (files.get(id) ?? 0)) > ANSWER_BYTES);
  return fitting < 0 ? posts.length : Math.max(1, fitting);
}

type PostList = { items: Post[]; next: string | null };

/** `withContents`: the page holds no more posts than fit into one answer with their contents. */
type Wanted = { sourceId?: number | undefined; withContents?: boolean };

/** One page of posts, of all or of one source, as `?q=&cursor=&limit=` ask for it. 400, or 404 for a hidden source. */
export function queryPosts(hub: Hub, { query, viewer }: HubRequest, { sourceId, withContents }: Wanted = {}): PostList {
  if (sourceId !== undefined && !maySeeSource(hub, sourceId, viewer)) throw notFound('source');
  const limit = readLimit(query);
  const wanted = { viewerId: viewer?.id ?? null, limit: limit + 1, sourceId };
  const paged = (rows: Post[], cursor: (last: Post) => string): PostList =>
    pageOf(rows, withContents ? Math.min(limit, fittingContents(hub, rows)) : limit, cursor);
  const typed = query.get('q') ?? '';
  if (!typed.trim()) {
    const after = readAfter(query, ['publishedAt', 'id']);
    return paged(posts(hub).newest({ ...wanted, ...(after && { after }) }), positionCursor);
  }
  const [after] = readCursor(query, 1) ?? [];
  const found = findPosts(hub, { ...wanted, typed, after });
  return paged(found, (last) => cursorOf(last.searchKey));
}

/** The cursor after a post of a list that is in the order of publishing. */
export function positionCursor({ publishedAt, id }: Position): string {
  return cursorOf(publishedAt, id);
}
