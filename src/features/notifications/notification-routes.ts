import { setImmediate } from 'node:timers/promises';
import { readJson } from '../../platform/http/body.ts';
import { HttpError, invalid } from '../../platform/http/problem.ts';
import { cursorOf, nextLink, pageOf, readCursor, readLimit } from '../../platform/http/paging.ts';
import { json, noContent, page, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { notificationJson } from './notification-json.ts';
import { notifications } from './notification-store.ts';
import { notificationsPage } from './notification-views.ts';

const MAX_IDS = 1000;

/** Notifications marked in one transaction: a few milliseconds. */
const BATCH = 500;

export function listNotifications(hub: Hub, req: MemberRequest): Reply {
  const { items, next } = readPage(hub, req, readLimit(req.query));
  return json({ items: items.map(notificationJson), next }, 200, nextLink(req.path, req.query, next));
}

export function showNotifications(hub: Hub, req: MemberRequest): Reply {
  return page(notificationsPage({ ...readPage(hub, req, readLimit(req.query)), unreadOnly: isUnreadOnly(req) }));
}

function readPage(hub: Hub, req: MemberRequest, limit: number) {
  const [after = Number.MAX_SAFE_INTEGER] = readCursor(req.query, 1) ?? [];
  const query = { accountId: req.viewer.id, unreadOnly: isUnreadOnly(req), after, limit: limit + 1 };
  return pageOf(notifications(hub).list(query), limit, (last) => cursorOf(last.id));
}

export async function markNotificationsRead(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { ids, all } = await readJson(req);
  if (all === true && ids === undefined) await markAll(hub, req);
  else if (all === undefined && isIds(ids)) notifications(hub).markRead(req.viewer.id, ids);
  else throw invalid([{ pointer: '/ids', detail: `Send either ids, up to ${MAX_IDS} of them, or "all": true.` }]);
  return noContent();
}

export async function submitMarkAllRead(hub: Hub, req: MemberRequest): Promise<Reply> {
  await markAll(hub, req);
  return seeOther('/notifications');
}

/** In small transactions, so that nobody waits for many. What comes meanwhile stays unread. */
async function markAll(hub: Hub, { viewer: { id } }: MemberRequest): Promise<void> {
  const unread = { accountId: id, unreadOnly: true, after: Number.MAX_SAFE_INTEGER, limit: 1 };
  const [newest] = notifications(hub).list(unread);
  if (!newest) return;
  while (notifications(hub).markReadUpTo(id, newest.id, BATCH) === BATCH) await setImmediate();
}

function isUnreadOnly({ query }: MemberRequest): boolean {
  const unread = query.get('unread') ?? '';
  if (!['', '0', '1'].includes(unread)) throw new HttpError(400, 'unread must be 1 or 0.');
  return unread === '1';
}

function isIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= MAX_IDS && value.every((id) => Number.isSafeInteger(id));
}
