import type { Notification } from './notification-store.ts';

/** A notification as the API shows it. */
export function notificationJson({ id, kind, title, path, createdAt, readAt }: Notification) {
  const readTime = readAt === null ? null : new Date(readAt).toISOString();
  return { id, kind, title, path, createdAt: new Date(createdAt).toISOString(), readAt: readTime };
}
