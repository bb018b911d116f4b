import { html, type Html } from '../../platform/http/html.ts';
import { moment } from '../../platform/http/readable.ts';
import type { Page } from '../../platform/http/reply.ts';
import type { Notification } from './notification-store.ts';

type NotificationList = { items: Notification[]; next: string | null; unreadOnly: boolean };

/** What the hub has told its reader. */
export function notificationsPage({ items, next, unreadOnly }: NotificationList): Page {
  const query = new URLSearchParams({ ...(unreadOnly ? { unread: '1' } : {}), cursor: next ?? '' });
  const main = html`
<header class="page-head">
  <h1>Notifications</h1>
  <p class="meta">${unreadOnly
    ? html`<a href="/notifications">All</a> <span>Unread</span>`
    : html`<span>All</span> <a href="/notifications?unread=1">Unread</a>`}</p>
</header>
${items.length > 0 ? list(items) : html`<p class="empty">No ${unreadOnly ? 'unread ' : ''}notifications.</p>`}
${next && html`<p class="more"><a class="button" rel="next" href="/notifications?${query.toString()}">Older</a></p>`}`;
  return { title: 'Notifications', main, section: 'notifications' };
}

function list(items: Notification[]): Html {
  const isAnyUnread = items.some(({ readAt }) => readAt === null);
  return html`
<ul class="sources">${items.map(item)}</ul>
${isAnyUnread && html`
<form method="post" action="/notifications/read" class="actions"><button>Mark all as read</button></form>`}`;
}

function item({ title, path, createdAt, readAt }: Notification): Html {
  return html`
  <li>
    <a class="title" href="${path}">${title}</a> ${readAt === null && html`<span class="tag">new</span>`}
    <p class="meta">${moment(createdAt)}</p>
  </li>`;
}
