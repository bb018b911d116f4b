import { SECOND } from '../../platform/clock.ts';
import { type Batch, batchingWrites } from '../../platform/db/batched-writes.ts';
import { HttpError, tooMany } from '../../platform/http/problem.ts';
import { arrivalAfter, waitFor, type Rate } from '../../platform/db/rate-limit-store.ts';
import { counts, once, type Hub } from '../hub/hub.ts';
import { webhookEvents, webhooks, type AcceptedEvent } from './webhook-store.ts';

/** How often each webhook may send. */
const RATE: Rate = { burst: 10_000, everyMs: SECOND / 100 };

/** A verified event. `apply` does what it asks for, in the transaction; null for one that asks for nothing. */
type Acceptance = AcceptedEvent & { apply: (() => void) | null };

/** What a batch knows of a webhook: read when its first event comes, written before the commit. */
type Activity = { arrivesAt: number; accepted: number };

/** It has been accepted before: nothing changes. */
export class KnownEvent extends Error {}

const batched = once((hub: Hub) => batchingWrites(hub.db, () => beginBatch(hub)));

const acceptOrUndo = once((hub: Hub) =>
  hub.db.transaction('accept event', (event: Acceptance, activity: Activity) => accept(hub, event, activity)));

/**
 * Accepts an event; resolves once it is committed. Events that come together share a transaction. Rejects with
 * KnownEvent, or HttpError 410 or 429, and nothing was written.
 */
export function acceptEvent(hub: Hub, event: Acceptance): Promise<void> {
  return batched(hub)(event);
}

/** Milliseconds until the webhook may send one more. */
export function waitForWebhook(hub: Hub, sourceId: number): number {
  return waitFor(RATE, webhooks(hub).arrivesAt(sourceId) ?? 0, hub.clock());
}

function beginBatch(hub: Hub): Batch<Acceptance> {
  const activities = new Map<number, Activity>();
  return {
    write(event) {
      const isOneStatement = event.apply === null && event.bodyId === null;
      const activity = activityOf(hub, event.sourceId, activities);
      if (isOneStatement) accept(hub, event, activity);
      else acceptOrUndo(hub)(event, activity);
    },
    end: () => noteActivities(hub, activities),
  };
}

function activityOf(hub: Hub, sourceId: number, activities: Map<number, Activity>): Activity {
  const known = activities.get(sourceId);
  if (known) return known;
  const arrivesAt = webhooks(hub).arrivesAt(sourceId);
  if (arrivesAt === undefined) throw gone();
  const activity = { arrivesAt, accepted: 0 };
  activities.set(sourceId, activity);
  return activity;
}

/** What it changes in the activity comes last: that is not undone. */
function accept(hub: Hub, event: Acceptance, activity: Activity): void {
  const { sourceId, apply } = event;
  const now = hub.clock();
  const waitMs = waitFor(RATE, activity.arrivesAt, now);
  if (waitMs > 0 && !webhookEvents(hub).isKnown(sourceId, event)) throw tooMany(waitMs / SECOND);
  if (!webhookEvents(hub).add(event)) throw new KnownEvent();
  apply?.();
  activity.arrivesAt = arrivalAfter(RATE, activity.arrivesAt, now);
  activity.accepted += 1;
}

function noteActivities(hub: Hub, activities: Map<number, Activity>): void {
  let accepted = 0;
  for (const [sourceId, activity] of activities) {
    if (activity.accepted > 0) webhooks(hub).noteEvents(sourceId, hub.clock(), activity.arrivesAt);
    accepted += activity.accepted;
  }
  if (accepted > 0) counts(hub).add('webhook_events_total', 'accepted', accepted);
}

/** For senders to a webhook that is paused or deleted: they stop then. */
export function gone(): HttpError {
  return new HttpError(410, 'This webhook is not in use. Stop sending to it.');
}
