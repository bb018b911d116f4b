import { setImmediate } from 'node:timers/promises';
import { isoTime } from '../../platform/clock.ts';
import { pathId } from '../../platform/http/input.ts';
import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { json, noContent, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { visiblePost } from '../posts/post-access.ts';
import { readingHistory, type ReadPost } from '../posts/reading-history-store.ts';

/** Entries removed in one transaction. */
const BATCH = 500;

export function markPostRead(hub: Hub, { params, viewer }: MemberRequest): Reply {
  readingHistory(hub).markRead(viewer.id, visiblePost(hub, pathId(params), viewer).id);
  return noContent();
}

export function markPostUnread(hub: Hub, { params, viewer }: MemberRequest): Reply {
  readingHistory(hub).markUnread(viewer.id, visiblePost(hub, pathId(params), viewer).id);
  return noContent();
}

export function listHistory(hub: Hub, req: MemberRequest): Reply {
  const { items, next } = readHistoryPage(hub, req);
  return json({ items: items.map(historyJson), next }, 200, nextLink(req.path, req.query, next));
}

export async function clearHistory(hub: Hub, req: MemberRequest): Promise<Reply> {
  await clearOwnHistory(hub, req);
  return noContent();
}

/** One page of the viewer's history, as `?cursor=&limit=` ask for it. */
export function readHistoryPage(hub: Hub, { query, viewer }: MemberRequest) {
  const limit = readLimit(query);
  const [readAt, postId] = readCursor(query, 2) ?? [];
  const after = readAt === undefined || postId === undefined ? undefined : { readAt, postId };
  const rows = readingHistory(hub).list(viewer.id, after, limit + 1);
  return pageOf(rows, limit, (last) => cursorOf(last.readAt, last.postId));
}

/** Clears the viewer's history in small transactions, so that nobody waits for a long one. */
export async function clearOwnHistory(hub: Hub, { viewer }: MemberRequest): Promise<void> {
  while (readingHistory(hub).removeOf(viewer.id, BATCH) === BATCH) await setImmediate();
}

/** An entry of the reading history as the API shows it. */
export function historyJson({ postId, title, sourceId, sourceTitle, readAt }: ReadPost) {
  return { postId, title, source: { id: sourceId, title: sourceTitle }, readAt: isoTime(readAt) };
}
