import { choice, flag, id, integer, named, noted, object, orNull, text, time } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { isUnreadOnly } from '../../platform/http/input.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import { emptyText, postButton } from '../../platform/http/page-parts.ts';
import { page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { nextTurn } from '../../platform/turns.ts';
import type { Hub } from '../hub/hub.ts';
import { each, pagedList } from '../hub/lists.ts';
import { notifications, type Notification } from './notification-store.ts';

const BATCH = 500; // marked as read in one transaction, in a few milliseconds

/** A notification in the API and in the export. */
export const NOTIFICATION = named('Notification', object({
  id, kind: text, title: text, path: text,
  count: noted(integer, 'Number of equal notifications, shown as one; createdAt: time of the latest'),
  urgent: noted(flag, 'True for notifications about security and failures, false for news'),
  createdAt: time, readAt: orNull(time),
}));

const SECTIONS = ['urgent', 'news'] as const;
type Section = (typeof SECTIONS)[number];

type Filter = { unreadOnly: boolean; only?: Section | undefined };

export const notificationList = pagedList<Notification, 'id', Filter>({
  access: 'member',
  api: '/api/notifications',
  title: 'Notifications',
  summary: 'Notifications, newest first; unread=1: only unread notifications',
  key: ['id'],
  select: (hub, { req, after, limit, filter }) => notifications(hub).list(
    { accountId: req.viewer.id, ...filter, after: after?.id ?? Number.MAX_SAFE_INTEGER, limit }),
  filter: { read: readFilter, query: { unread: choice(['0', '1']), only: choice(SECTIONS) } },
  shape: NOTIFICATION,
  rows: each(item),
});

function readFilter(query: URLSearchParams): Filter {
  const wanted = query.get('only');
  const only = SECTIONS.find((one) => one === wanted);
  if (wanted !== null && only === undefined) throw new HttpError(400, `only must be ${SECTIONS.join(' or ')}.`);
  return { unreadOnly: isUnreadOnly(query), only };
}

/** Marks all notifications as read, in small transactions, except notifications that arrive in the meantime. */
export async function markAllRead(hub: Hub, accountId: number): Promise<void> {
  const unread = { accountId, unreadOnly: true, after: Number.MAX_SAFE_INTEGER, limit: 1 };
  const [newest] = notifications(hub).list(unread);
  if (!newest) return;
  while (notifications(hub).markReadUpTo(accountId, newest.id, BATCH) === BATCH) await nextTurn();
}

const HEADINGS: Record<Section, string> = { urgent: 'Security and problems', news: 'News' };

/** Page: notifications about security and failures, and news, each in a section; `?only=` shows and pages just one. */
export function showNotifications(hub: Hub, req: MemberRequest): Reply {
  const { unreadOnly, only: asked } = readFilter(req.query);
  const sections = SECTIONS.filter((only) => asked === undefined || only === asked)
    .map((only) => ({ only, ...notificationList.find(hub, req, { unreadOnly, only }) }))
    .filter(({ items }) => items.length > 0);
  const bar = html`<h1>Notifications</h1><span class="space"></span>
${sections.some(({ items }) => items.some(({ readAt }) => readAt === null)) && postButton('/notifications/read',
  html`${icon('done')}<span class="only-wide">Mark all as read</span>`, 'plain', 'Mark all as read')}`;
  const main = html`
<nav class="tabs" aria-label="Which notifications">
  <a href="/notifications" ${!unreadOnly && html`aria-current="page"`}>All</a>
  <a href="/notifications?unread=1" ${unreadOnly && html`aria-current="page"`}>Unread</a></nav>
${sections.map(({ only, ...found }) => html`<section aria-labelledby="${only}"><h2 id="${only}">${HEADINGS[only]}</h2>
${notificationList.part(hub, req, found, new URLSearchParams({ only, ...unreadOnly ? { unread: '1' } : {} }))}
</section>`)}
${sections.length === 0 && emptyText(`No ${unreadOnly ? 'unread ' : ''}notifications.`)}`;
  return page({ title: 'Notifications', bar, main, section: 'notifications' });
}

function item({ kind, title, path, count, createdAt, readAt }: Notification, times: Times): Html {
  const isRepeated = count > 1 && kind !== 'source.posts'; // notifications of new posts have the count in their title
  return html`
  <li ${readAt === null && html`class="new"`}><div>
    <a class="title" href="${path}">${title}</a> ${readAt === null && html`<span class="tag">new</span>`}</div>
    <span class="meta">${isRepeated && html`<span>${count} times, last</span>`}
      ${showTime(times, createdAt)}</span></li>`;
}
