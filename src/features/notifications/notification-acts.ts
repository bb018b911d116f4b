import {
  array, choice, field, flag, id, integer, listOf, named, noted, object, optional, orNull, PAGE, text, time,
} from '../../platform/http/fields.ts';
import { invalid } from '../../platform/http/http-error.ts';
import { act, view, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { markAllRead, requestedPage, SECTIONS } from './notification-list.ts';
import { notifications } from './notification-store.ts';

const MAX_IDS = 1000;

/** A notification in the API and in the export. */
export const NOTIFICATION = named('Notification', object({
  id, kind: text, title: text, path: text,
  count: noted(integer, 'Number of equal notifications, shown as one; createdAt: time of the latest'),
  urgent: noted(flag, 'True for notifications about security and failures, false for news'),
  createdAt: time, readAt: orNull(time),
}));

const READ = {
  ids: optional(field<number[]>(array(id).schema, (input, name) => {
    const value = input.value(name);
    return isIds(value) ? value : undefined;
  })),
  all: optional(field<true>({ ...flag.schema, const: true }, (input, name) => input.value(name) === true || undefined)),
};

function isIds(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= MAX_IDS && value.every((one) => Number.isSafeInteger(one));
}

export const NOTIFICATION_ROUTES: Endpoint[] = [
  view('GET /api/notifications', {
    summary: 'Notifications, newest first; unread=1: only unread notifications',
    query: { ...PAGE, unread: choice(['0', '1']), only: choice(SECTIONS) },
  }, listOf(NOTIFICATION), (hub, req) => {
    const { items, next } = requestedPage(hub, req);
    return { items: items.map(NOTIFICATION.show), next };
  }),
  ...act({
    api: 'POST /api/notifications/read', summary: 'Mark notifications as read',
    fields: READ,
    check(input, { ids, all }) {
      if (input.has('ids') ? ids && !input.has('all') : all) return;
      throw invalid([{ pointer: '/ids', detail: `Send either "ids", at most ${MAX_IDS}, or "all": true.` }]);
    },
    run: (hub, { ids }, { viewer }) =>
      (ids ? notifications(hub).markRead(viewer.id, ids) : markAllRead(hub, viewer.id)),
  }),
  ...act({
    form: 'POST /notifications/read', summary: 'Mark all notifications as read',
    run: (hub, _given, { viewer }) => markAllRead(hub, viewer.id), to: saying('/notifications', 'notifications-read'),
  }),
];
