import type { Hub } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { sources, type Source } from './source-store.ts';

/** Tells the owner, in the caller's transaction, that a source cannot be synchronised. */
export function notifyFailing(hub: Hub, sourceId: number): void {
  notifyOwner(hub, sourceId, 'source.failing', ({ title }) =>
    `“${title}” cannot be synchronised; the hub keeps trying`);
}

/** Tells the owner, in the caller's transaction, that a source is paused because its publisher has removed it. */
export function notifyGone(hub: Hub, sourceId: number): void {
  notifyOwner(hub, sourceId, 'source.gone', ({ title }) =>
    `“${title}” has been paused: its publisher says that it is permanently gone`);
}

/** Tells the previous owner and the new one, in the caller's transaction; neither learns the other's name. */
export function notifyTransferred(hub: Hub, { id, title, kind, ownerId }: Source, newOwnerId: number): void {
  const advice = kind === 'webhook' ? '. Create a new secret for it: the previous owner knows the current one' : '';
  const event = 'source.transferred';
  notify(hub, ownerId, event, `“${title}” now belongs to someone else`, '/sources');
  notify(hub, newOwnerId, event, `“${title}” now belongs to you${advice}`, `/sources/${id}`);
}

function notifyOwner(hub: Hub, sourceId: number, kind: string, title: (source: Source) => string): void {
  const source = sources(hub).find(sourceId);
  if (source) notify(hub, source.ownerId, kind, title(source), `/sources/${sourceId}`);
}

function notify(hub: Hub, accountId: number, kind: string, title: string, path: string): void {
  notifications(hub).add({ accountId, kind, title, path });
}
