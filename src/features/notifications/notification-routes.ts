import { setImmediate } from 'node:timers/promises';
import { readJson } from '../../platform/http/body.ts';
import { HttpError, invalid } from '../../platform/http/problem.ts';
import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { json, noContent, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { notificationJson } from './notification-json.ts';
import type { NotificationStore } from './notification-store.ts';
import { notificationsPage } from './notification-views.ts';

const MAX_IDS = 1000;

/** Notifications marked in one transaction: a few milliseconds. */
const BATCH = 500;

/** What the hub has told a person: to read and to tick off. */
export function notificationRoutes({ notifications }: { notifications: NotificationStore }): Route[] {
  return [
    route('GET /api/notifications', 'member', 'Notifications, newest first; unread=1 only those not read', list),
    route('POST /api/notifications/read', 'member', 'Mark notifications as read: {ids} or {all: true}', markRead),
    route('GET /notifications', 'member', 'Page: notifications', show),
    route('POST /notifications/read', 'member', 'Form: mark all notifications as read', markAllRead),
  ];

  function list(req: MemberRequest): Reply {
    const { items, next } = readPage(req, readLimit(req.query));
    return json({ items: items.map(notificationJson), next }, 200, nextLink(req.path, req.query, next));
  }

  function show(req: MemberRequest): Reply {
    return page(notificationsPage({ ...readPage(req, readLimit(req.query)), unreadOnly: isUnreadOnly(req) }));
  }

  function readPage(req: MemberRequest, limit: number) {
    const [after = Number.MAX_SAFE_INTEGER] = readCursor(req.query, 1) ?? [];
    const query = { accountId: req.viewer.id, unreadOnly: isUnreadOnly(req), after, limit: limit + 1 };
    return pageOf(notifications.list(query), limit, (last) => cursorOf(last.id));
  }

  async function markRead(req: MemberRequest): Promise<Reply> {
    const { ids, all } = await readJson(req);
    if (all === true && ids === undefined) await markAll(req);
    else if (all === undefined && isIds(ids)) notifications.markRead(req.viewer.id, ids);
    else throw invalid([{ pointer: '/ids', detail: `Send either ids, up to ${MAX_IDS} of them, or "all": true.` }]);
    return noContent();
  }

  async function markAllRead(req: MemberRequest): Promise<Reply> {
    await markAll(req);
    return seeOther('/notifications');
  }

  /** In small transactions, so that nobody waits for many. What comes meanwhile stays unread. */
  async function markAll({ viewer: { id } }: MemberRequest): Promise<void> {
    const [newest] = notifications.list({ accountId: id, unreadOnly: true, after: Number.MAX_SAFE_INTEGER, limit: 1 });
    if (!newest) return;
    while (notifications.markReadUpTo(id, newest.id, BATCH) === BATCH) await setImmediate();
  }
}

function isUnreadOnly({ query }: MemberRequest): boolean {
  const unread = query.get('unread') ?? '';
  if (!['', '0', '1'].includes(unread)) throw new HttpError(400, 'unread must be 1 or 0.');
  return unread === '1';
}

function isIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= MAX_IDS && value.every((id) => Number.isSafeInteger(id));
}
