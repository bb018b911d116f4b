import { isoTime } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { isUnreadOnly, nextLink, readPage } from '../../platform/http/input.ts';
import { HttpError, invalid } from '../../platform/http/http-error.ts';
import { json, noContent, page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications, type Notification } from './notification-store.ts';

const MAX_IDS = 1000;

const BATCH = 500; // marked as read in one transaction, in a few milliseconds

/** GET /api/notifications: a page of the viewer's notifications, newest first. */
export function listNotifications(hub: Hub, req: MemberRequest): Reply {
  const { items, next } = requestedPage(hub, req);
  return json({ items: items.map(notificationJson), next }, 200, nextLink(req.path, req.query, next));
}

/** Page: notifications about security and failures, and news, each in a section; `?only=` shows and pages just one. */
export function showNotifications(hub: Hub, req: MemberRequest): Reply {
  const asked = sectionIn(req.query);
  const sections = SECTIONS.filter((only) => asked === undefined || only === asked)
    .map((only) => ({ only, ...requestedPage(hub, req, only) }));
  return page(notificationsPage({ sections, unreadOnly: isUnreadOnly(req.query) }, timesOf(hub, req.viewer)));
}

const SECTIONS = ['urgent', 'news'] as const;
type Section = (typeof SECTIONS)[number];

function sectionIn(query: URLSearchParams): Section | undefined {
  const wanted = query.get('only');
  const only = SECTIONS.find((one) => one === wanted);
  if (wanted !== null && only === undefined) throw new HttpError(400, `only must be ${SECTIONS.join(' or ')}.`);
  return only;
}

function requestedPage(hub: Hub, { query, viewer }: MemberRequest, only = sectionIn(query)) {
  const wanted = { accountId: viewer.id, unreadOnly: isUnreadOnly(query), only };
  return readPage<Notification, 'id'>(query, ['id'], (after, limit) =>
    notifications(hub).list({ ...wanted, after: after?.id ?? Number.MAX_SAFE_INTEGER, limit }));
}

/** POST /api/notifications/read: marks the notifications `ids`, or all, as read. Throws 422 if the body is invalid. */
export async function markNotificationsRead(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { ids, all } = await readJson(req);
  if (all === true && ids === undefined) await markAllRead(hub, req);
  else if (all === undefined && isIds(ids)) notifications(hub).markRead(req.viewer.id, ids);
  else throw invalid([{ pointer: '/ids', detail: `Send either "ids", at most ${MAX_IDS}, or "all": true.` }]);
  return noContent();
}

/** Marks all notifications as read, in small transactions, except notifications that arrive in the meantime. */
export async function markAllRead(hub: Hub, { viewer: { id } }: MemberRequest): Promise<void> {
  const unread = { accountId: id, unreadOnly: true, after: Number.MAX_SAFE_INTEGER, limit: 1 };
  const [newest] = notifications(hub).list(unread);
  if (!newest) return;
  while (notifications(hub).markReadUpTo(id, newest.id, BATCH) === BATCH) await nextTurn();
}

function isIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= MAX_IDS && value.every((id) => Number.isSafeInteger(id));
}

/** A notification in the API and in the export. */
export function notificationJson({ createdAt, readAt, urgent, ...rest }: Notification) {
  return { ...rest, urgent: urgent === 1, createdAt: isoTime(createdAt), readAt: isoTime(readAt) };
}

type Shown = { only: Section; items: Notification[]; next: string | null };

const HEADINGS: Record<Section, string> = { urgent: 'Security and problems', news: 'News' };

function notificationsPage({ sections, unreadOnly }: { sections: Shown[]; unreadOnly: boolean }, times: Times): Page {
  const filled = sections.filter(({ items }) => items.length > 0);
  const bar = html`<h1>Notifications</h1><span class="space"></span>
${filled.some(({ items }) => items.some(({ readAt }) => readAt === null)) && html`
<form method="post" action="/notifications/read"><button class="plain" aria-label="Mark all as read">${
  icon('done')}<span class="only-wide">Mark all as read</span></button></form>`}`;
  const main = html`
<nav class="tabs" aria-label="Which notifications">
  <a href="/notifications" ${!unreadOnly && html`aria-current="page"`}>All</a>
  <a href="/notifications?unread=1" ${unreadOnly && html`aria-current="page"`}>Unread</a></nav>
${filled.map((one) => section(one, unreadOnly, times))}
${filled.length === 0 && html`<p class="empty">No ${unreadOnly ? 'unread ' : ''}notifications.</p>`}`;
  return { title: 'Notifications', bar, main, section: 'notifications' };
}

function section({ only, items, next }: Shown, unreadOnly: boolean, times: Times): Html {
  const query = new URLSearchParams({ only, ...(unreadOnly ? { unread: '1' } : {}), cursor: next ?? '' });
  return html`<section aria-labelledby="${only}"><h2 id="${only}">${HEADINGS[only]}</h2>
<ul class="items">${items.map((one) => item(one, times))}</ul>
${next && html`<p class="more"><a class="button" rel="next" href="/notifications?${query.toString()}">Older</a></p>`}
</section>`;
}

function item({ kind, title, path, count, createdAt, readAt }: Notification, times: Times): Html {
  const isRepeated = count > 1 && kind !== 'source.posts'; // notifications of new posts have the count in their title
  return html`
  <li ${readAt === null && html`class="new"`}><div>
    <a class="title" href="${path}">${title}</a> ${readAt === null && html`<span class="tag">new</span>`}</div>
    <span class="meta">${isRepeated && html`<span>${count} times, last</span>`}
      ${showTime(times, createdAt)}</span></li>`;
}
