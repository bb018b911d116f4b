import { setImmediate } from 'node:timers/promises';
import { pathId } from '../../platform/http/input.ts';
import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { notFound } from '../../platform/http/problem.ts';
import { json, noContent, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import type { Viewer } from '../../platform/viewer.ts';
import { historyJson } from './history-json.ts';
import type { HistoryStore } from './history-store.ts';
import { historyPage } from './history-views.ts';

/** Entries removed in one transaction. */
const BATCH = 500;

export type HistoryRouteDeps = {
  history: HistoryStore;
  /** Whether there is such a post and the viewer may see it; given by app. */
  maySeePost(postId: number, viewer: Viewer): boolean;
};

/** What a person has read: to look at, to tick off, and to forget. */
export function historyRoutes({ history, maySeePost }: HistoryRouteDeps): Route[] {
  return [
    route('PUT /api/posts/:id/read', 'member', 'Mark a post as read', markRead),
    route('DELETE /api/posts/:id/read', 'member', 'Mark a post as unread', markUnread),
    route('GET /api/history', 'member', 'What you have read, the last first', list),
    route('DELETE /api/history', 'member', 'Forget all that you have read', clear),
    route('GET /history', 'member', 'Page: reading history', show),
    route('POST /history/clear', 'member', 'Form: forget the reading history', clearByForm),
    route('POST /posts/:id/unread', 'member', 'Form: mark a post as unread', markUnreadByForm),
  ];

  function visiblePost({ params, viewer }: MemberRequest): number {
    const id = pathId(params);
    if (!maySeePost(id, viewer)) throw notFound('post');
    return id;
  }

  function markRead(req: MemberRequest): Reply {
    history.markRead(req.viewer.id, visiblePost(req));
    return noContent();
  }

  function markUnread(req: MemberRequest): Reply {
    history.markUnread(req.viewer.id, visiblePost(req));
    return noContent();
  }

  function markUnreadByForm(req: MemberRequest): Reply {
    history.markUnread(req.viewer.id, pathId(req.params));
    return seeOther('/history');
  }

  function readPage({ query, viewer }: MemberRequest) {
    const limit = readLimit(query);
    const [readAt, postId] = readCursor(query, 2) ?? [];
    const after = readAt === undefined || postId === undefined ? undefined : { readAt, postId };
    const rows = history.list(viewer.id, after, limit + 1);
    return pageOf(rows, limit, (last) => cursorOf(last.readAt, last.postId));
  }

  function list(req: MemberRequest): Reply {
    const { items, next } = readPage(req);
    return json({ items: items.map(historyJson), next }, 200, nextLink(req.path, req.query, next));
  }

  function show(req: MemberRequest): Reply {
    return page(historyPage({ ...readPage(req), isFirstPage: !req.query.get('cursor') }));
  }

  /** In small transactions, so that nobody waits for a long history. */
  async function forgetAll({ viewer }: MemberRequest): Promise<void> {
    while (history.removeOf(viewer.id, BATCH) === BATCH) await setImmediate();
  }

  async function clear(req: MemberRequest): Promise<Reply> {
    await forgetAll(req);
    return noContent();
  }

  async function clearByForm(req: MemberRequest): Promise<Reply> {
    await forgetAll(req);
    return seeOther('/history');
  }
}
