import {
  choice, flag, id, ids, integer, listOf, named, noted, object, optional, orNull, PAGE, text, time,
} from '../../platform/http/fields.ts';
import { act, view, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { markAllRead, requestedPage, SECTIONS } from './notification-list.ts';
import { notifications } from './notification-store.ts';

/** A notification in the API and in the export. */
export const NOTIFICATION = named('Notification', object({
  id, kind: text, title: text, path: text,
  count: noted(integer, 'Number of equal notifications, shown as one; createdAt: time of the latest'),
  urgent: noted(flag, 'True for notifications about security and failures, false for news'),
  createdAt: time, readAt: orNull(time),
}));

const READ = { ids: optional(ids(1_000)), all: optional(noted(flag, { const: true })) };

export const NOTIFICATION_ROUTES: Endpoint[] = [
  view('GET /api/notifications', {
    summary: 'Notifications, newest first; unread=1: only unread notifications',
    query: { ...PAGE, unread: choice(['0', '1']), only: choice(SECTIONS) },
  }, listOf(NOTIFICATION), (hub, req) => requestedPage(hub, req)),
  ...act({
    api: 'POST /api/notifications/read', summary: 'Mark notifications as read',
    fields: READ,
    check(input, { all }) {
      const isOne = input.has('ids') !== input.has('all');
      if (!isOne || all === false) input.refuse('ids', 'must be sent, or "all": true.');
    },
    run: (hub, { ids: some }, { viewer }) =>
      (some ? notifications(hub).markRead(viewer.id, some) : markAllRead(hub, viewer.id)),
  }),
  ...act({
    form: 'POST /notifications/read', summary: 'Mark all notifications as read',
    run: (hub, _given, { viewer }) => markAllRead(hub, viewer.id), to: saying('/notifications', 'notifications-read'),
  }),
];
