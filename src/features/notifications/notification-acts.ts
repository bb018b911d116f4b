import { flag, ids, noted, optional } from '../../platform/http/fields.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { markAllRead, notificationList } from './notification-list.ts';
import { notifications } from './notification-store.ts';

const READ = { ids: optional(ids(1_000)), all: optional(noted(flag, { const: true })) };

export const NOTIFICATION_ROUTES: Endpoint[] = [
  ...notificationList.routes,
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
