import { setImmediate } from 'node:timers/promises';
import { isoTime, MINUTE } from '../../platform/clock.ts';
import { readJson } from '../../platform/http/body.ts';
import { html, moment, type Html } from '../../platform/http/html.ts';
import { isUnreadOnly, nextLink, readPage } from '../../platform/http/input.ts';
import { invalid, json, noContent, page, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { store, type Hub } from '../hub/hub.ts';

/** `path` is the hub's page about it. */
type NewNotification = { accountId: number; kind: string; title: string; path: string };
export type Notification = Omit<NewNotification, 'accountId'> & {
  id: number;
  createdAt: number; // unix ms
  readAt: number | null;
};

type NotificationQuery = { accountId: number; unreadOnly: boolean; after: number; limit: number };

/** As long as a feed is left alone at least: what comes in between was sent post by post. */
const ONE_STORY = 15 * MINUTE;

/** What the hub tells people, newest first. */
export const notifications = store(({ db, clock }) => {
  const insert = db.prepare<[NewNotification & { now: number }]>('notify', `
    INSERT INTO notifications (account_id, kind, title, path, created_at)
    VALUES (@accountId, @kind, @title, @path, @now)`);
  const columns = 'id, kind, title, path, created_at AS createdAt, read_at AS readAt';
  const selectAll = db.prepare<[number, number, number], Notification>('notifications', `
    SELECT ${columns} FROM notifications WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?`);
  const selectUnread = db.prepare<[number, number, number], Notification>('unread notifications', `
    SELECT ${columns} FROM notifications WHERE account_id = ? AND read_at IS NULL AND id < ? ORDER BY id DESC LIMIT ?`);
  const readSome = db.prepare<[number, number, string]>('mark notifications read', `
    UPDATE notifications SET read_at = ?
     WHERE account_id = ? AND read_at IS NULL AND id IN (SELECT value FROM json_each(?))`);
  const readUpTo = db.prepare<[number, number, number, number]>('mark older notifications read', `
    UPDATE notifications SET read_at = ? WHERE id IN
      (SELECT id FROM notifications WHERE account_id = ? AND read_at IS NULL AND id <= ? ORDER BY id DESC LIMIT ?)`);

  const selectRecent = db.prepare<[number, string, number], { id: number; posts: number }>('recent unread of source', `
    SELECT id, posts FROM notifications
     WHERE account_id = ? AND read_at IS NULL AND posts IS NOT NULL AND path = ? AND created_at > ?
     ORDER BY id DESC LIMIT 1`);
  const insertPosts = db.prepare<[NewNotification & { posts: number; now: number }]>('notify of posts', `
    INSERT INTO notifications (account_id, kind, title, path, posts, created_at)
    VALUES (@accountId, @kind, @title, @path, @posts, @now)`);
  const addPosts = db.prepare<[string, number, number]>('notify of more posts',
    'UPDATE notifications SET title = ?, posts = ? WHERE id = ?');
  const countUnread = db.prepare<[number, number], { n: number }>('count unread notifications', `
    SELECT COUNT(*) AS n FROM (SELECT 1 FROM notifications WHERE account_id = ? AND read_at IS NULL LIMIT ?)`);
  const removeOf = db.prepare<[number, number]>('remove notifications of account',
    'DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE account_id = ? LIMIT ?)');
  const removeAbout = db.prepare<[string, number]>('remove notifications of a page',
    'DELETE FROM notifications WHERE id IN (SELECT id FROM notifications WHERE path = ? LIMIT ?)');
  const removeBefore = db.prepare<[number, number]>('remove old notifications', `
    DELETE FROM notifications WHERE id IN
      (SELECT id FROM notifications WHERE created_at < ? ORDER BY created_at LIMIT ?)`);
  const countBefore = db.prepare<[number], { n: number }>('count old notifications',
    'SELECT COUNT(*) AS n FROM notifications WHERE created_at < ?');

  return {
    /** In the caller's transaction, with what it tells of. */
    add: (notification: NewNotification): void => void insert.run({ ...notification, now: clock() }),

    /** The same for new posts of a source, which join an unread one that is not older than a quarter of an hour. */
    addPosts(notification: Omit<NewNotification, 'title'>, posts: number, title: (posts: number) => string): void {
      const { accountId, path } = notification;
      const now = clock();
      const recent = selectRecent.get(accountId, path, now - ONE_STORY);
      if (recent) addPosts.run(title(recent.posts + posts), recent.posts + posts, recent.id);
      else insertPosts.run({ ...notification, title: title(posts), posts, now });
    },

    list({ accountId, unreadOnly, after, limit }: NotificationQuery): Notification[] {
      return (unreadOnly ? selectUnread : selectAll).all(accountId, after, limit);
    },

    markRead: (accountId: number, ids: number[]): void => void readSome.run(clock(), accountId, JSON.stringify(ids)),
    /** Up to `limit` of those that are not newer than `newestId`; returns how many. */
    markReadUpTo: (accountId: number, newestId: number, limit: number): number =>
      readUpTo.run(clock(), accountId, newestId, limit).changes,
    /** How many are unread; counts no further than `most`. */
    countUnread: (accountId: number, most: number): number => countUnread.get(accountId, most)?.n ?? 0,
    /** Up to `limit` of an account; returns how many. */
    removeOf: (accountId: number, limit: number): number => removeOf.run(accountId, limit).changes,
    /** Up to `limit`, of whomever, that lead to this page; returns how many. */
    removeAbout: (path: string, limit: number): number => removeAbout.run(path, limit).changes,
    /** Up to `limit` older than that (unix ms), read or not, oldest first; returns how many. */
    removeBefore: (before: number, limit: number): number => removeBefore.run(before, limit).changes,
    countBefore: (before: number): number => countBefore.get(before)?.n ?? 0,
  };
});

const MAX_IDS = 1000;

/** Notifications marked in one transaction: a few milliseconds. */
const BATCH = 500;

export function listNotifications(hub: Hub, req: MemberRequest): Reply {
  const { items, next } = requestedPage(hub, req);
  return json({ items: items.map(notificationJson), next }, 200, nextLink(req.path, req.query, next));
}

export function showNotifications(hub: Hub, req: MemberRequest): Reply {
  return page(notificationsPage({ ...requestedPage(hub, req), unreadOnly: isUnreadOnly(req.query) }));
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

/** In small transactions, so that nobody waits for many. What comes meanwhile stays unread. */
export async function markAllRead(hub: Hub, { viewer: { id } }: MemberRequest): Promise<void> {
  const unread = { accountId: id, unreadOnly: true, after: Number.MAX_SAFE_INTEGER, limit: 1 };
  const [newest] = notifications(hub).list(unread);
  if (!newest) return;
  while (notifications(hub).markReadUpTo(id, newest.id, BATCH) === BATCH) await setImmediate();
}

function isIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= MAX_IDS && value.every((id) => Number.isSafeInteger(id));
}

/** A notification as the API shows it. */
export function notificationJson({ id, kind, title, path, createdAt, readAt }: Notification) {
  return { id, kind, title, path, createdAt: isoTime(createdAt), readAt: isoTime(readAt) };
}

/** What the hub has told its reader. */
function notificationsPage(
  { items, next, unreadOnly }: { items: Notification[]; next: string | null; unreadOnly: boolean },
): Page {
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
