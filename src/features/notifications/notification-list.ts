import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { isUnreadOnly, readPage } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { emptyText, nextPage, postButton } from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, timesOf, type Times } from '../../platform/http/times.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { notifications, type Notification } from './notification-store.ts';

const BATCH = 500; // marked as read in one transaction, in a few milliseconds

/** Page: notifications about security and failures, and news, each in a section; `?only=` shows and pages just one. */
export function showNotifications(hub: Hub, req: MemberRequest): Reply {
  const asked = sectionIn(req.query);
  const sections = SECTIONS.filter((only) => asked === undefined || only === asked)
    .map((only) => ({ only, ...requestedPage(hub, req, only) }));
  return page(notificationsPage({ sections, unreadOnly: isUnreadOnly(req.query) }, timesOf(hub, req.viewer)));
}

export const SECTIONS = ['urgent', 'news'] as const;
type Section = (typeof SECTIONS)[number];

function sectionIn(query: URLSearchParams): Section | undefined {
  const wanted = query.get('only');
  const only = SECTIONS.find((one) => one === wanted);
  if (wanted !== null && only === undefined) throw new HttpError(400, `only must be ${SECTIONS.join(' or ')}.`);
  return only;
}

/** A page of the viewer's notifications, newest first. */
export function requestedPage(hub: Hub, { query, viewer }: MemberRequest, only = sectionIn(query)) {
  const wanted = { accountId: viewer.id, unreadOnly: isUnreadOnly(query), only };
  return readPage<Notification, 'id'>(query, ['id'], (after, limit) =>
    notifications(hub).list({ ...wanted, after: after?.id ?? Number.MAX_SAFE_INTEGER, limit }));
}

/** Marks all notifications as read, in small transactions, except notifications that arrive in the meantime. */
export async function markAllRead(hub: Hub, accountId: number): Promise<void> {
  const unread = { accountId, unreadOnly: true, after: Number.MAX_SAFE_INTEGER, limit: 1 };
  const [newest] = notifications(hub).list(unread);
  if (!newest) return;
  while (notifications(hub).markReadUpTo(accountId, newest.id, BATCH) === BATCH) await nextTurn();
}

type Shown = { only: Section; items: Notification[]; next: string | null };

const HEADINGS: Record<Section, string> = { urgent: 'Security and problems', news: 'News' };

function notificationsPage({ sections, unreadOnly }: { sections: Shown[]; unreadOnly: boolean }, times: Times): Page {
  const filled = sections.filter(({ items }) => items.length > 0);
  const bar = html`<h1>Notifications</h1><span class="space"></span>
${filled.some(({ items }) => items.some(({ readAt }) => readAt === null)) && postButton('/notifications/read',
  html`${icon('done')}<span class="only-wide">Mark all as read</span>`, 'plain', 'Mark all as read')}`;
  const main = html`
<nav class="tabs" aria-label="Which notifications">
  <a href="/notifications" ${!unreadOnly && html`aria-current="page"`}>All</a>
  <a href="/notifications?unread=1" ${unreadOnly && html`aria-current="page"`}>Unread</a></nav>
${filled.map((one) => section(one, unreadOnly, times))}
${filled.length === 0 && emptyText(`No ${unreadOnly ? 'unread ' : ''}notifications.`)}`;
  return { title: 'Notifications', bar, main, section: 'notifications' };
}

function section({ only, items, next }: Shown, unreadOnly: boolean, times: Times): Html {
  const query = new URLSearchParams({ only, ...(unreadOnly ? { unread: '1' } : {}), cursor: next ?? '' });
  return html`<section aria-labelledby="${only}"><h2 id="${only}">${HEADINGS[only]}</h2>
<ul class="items">${items.map((one) => item(one, times))}</ul>
${nextPage(next && `/notifications?${query.toString()}`, 'Older')}
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
