import { isoTime } from '../../platform/clock.ts';
import type { Notification } from './notification-store.ts';

/** A notification as the API shows it. */
export function notificationJson({ id, kind, title, path, createdAt, readAt }: Notification) {
  return { id, kind, title, path, createdAt: isoTime(createdAt), readAt: isoTime(readAt) };
}
