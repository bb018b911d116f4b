import { isoTime } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { isUnreadOnly, nextLink, readPage } from '../../platform/http/input.ts';
import { invalid, json, noContent, page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications, type Notification } from './notification-store.ts';

const MAX_IDS = 1000;

/** Notifications marked in one transaction, which takes a few milliseconds. */
const BATCH = 500;

export function listNotifications(hub: Hub, req: MemberRequest): Reply {
  const { items, next } = requestedPage(hub, req);
  return json({ items: items.map(notificationJson), next }, 200, nextLink(req.path, req.query, next));
}

export function showNotifications(hub: Hub, req: MemberRequest): Reply {
  const shown = { ...requestedPage(hub, req), unreadOnly: isUnreadOnly(req.query) };
  return page(notificationsPage(shown, timesOf(hub, req.viewer)));
}

function requestedPage(hub: Hub, { query, viewer }: MemberRequest) {
  const wanted = { accountId: viewer.id, unreadOnly: isUnreadOnly(query) };
  return readPage<Notification, 'id'>(query, ['id'], (after, limit) =>
    notifications(hub).list({ ...wanted, after: after?.id ?? Number.MAX_SAFE_INTEGER, limit }));
}

export async function markNotificationsRead(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { ids, all } = await readJson(req);
  if (all === true && ids === undefined) await markAllRead(hub, req);
  else if (all === undefined && isIds(ids)) notifications(hub).markRead(req.viewer.id, ids);
  else throw invalid([{ pointer: '/ids', detail: `Send either ids, up to ${MAX_IDS} of them, or "all": true.` }]);
  return noContent();
}

/** Marks in small transactions, so that other writers hardly wait. Later notifications stay unread. */
export async function markAllRead(hub: Hub, { viewer: { id } }: MemberRequest): Promise<void> {
  const unread = { accountId: id, unreadOnly: true, after: Number.MAX_SAFE_INTEGER, limit: 1 };
  const [newest] = notifications(hub).list(unread);
  if (!newest) return;
  while (notifications(hub).markReadUpTo(id, newest.id, BATCH) === BATCH) await nextTurn();
}

function isIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= MAX_IDS && value.every((id) => Number.isSafeInteger(id));
}

/** A notification as the API shows it. */
export function notificationJson({ id, kind, title, path, createdAt, readAt }: Notification) {
  return { id, kind, title, path, createdAt: isoTime(createdAt), readAt: isoTime(readAt) };
}

/** The notifications of the viewer. */
function notificationsPage(
  { items, next, unreadOnly }: { items: Notification[]; next: string | null; unreadOnly: boolean }, times: Times,
): Page {
  const query = new URLSearchParams({ ...(unreadOnly ? { unread: '1' } : {}), cursor: next ?? '' });
  const bar = html`<h1>Notifications</h1><span class="space"></span>
${items.some(({ readAt }) => readAt === null) && html`
<form method="post" action="/notifications/read"><button class="plain" aria-label="Mark all as read">${
  icon('done')}<span class="only-wide">Mark all as read</span></button></form>`}`;
  const main = html`
<nav class="tabs" aria-label="Which notifications">
  <a href="/notifications" ${!unreadOnly && html`aria-current="page"`}>All</a>
  <a href="/notifications?unread=1" ${unreadOnly && html`aria-current="page"`}>Unread</a></nav>
${items.length > 0 ? html`<ul class="items">${items.map((one) => item(one, times))}</ul>`
    : html`<p class="empty">No ${unreadOnly ? 'unread ' : ''}notifications.</p>`}
${next && html`<p class="more"><a class="button" rel="next" href="/notifications?${query.toString()}">Older</a></p>`}`;
  return { title: 'Notifications', bar, main, section: 'notifications' };
}

function item({ title, path, createdAt, readAt }: Notification, times: Times): Html {
  return html`
  <li ${readAt === null && html`class="new"`}><div>
    <a class="title" href="${path}">${title}</a> ${readAt === null && html`<span class="tag">new</span>`}</div>
    <span class="meta">${showTime(times, createdAt)}</span></li>`;
}
