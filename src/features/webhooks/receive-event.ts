import { DAY, SECOND } from '../../platform/clock.ts';
import { batchingWrites, type Batch } from '../../platform/db/batched-writes.ts';
import { arrivalAfter, waitFor } from '../../platform/db/rate-limit-store.ts';
import { HttpError, invalid, notFound } from '../../platform/http/reply.ts';
import { SealedSecretError } from '../../platform/secrets.ts';
import { bufferedCounts, counts, metLimit, once, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { inTurn, preparePosts, storePosts } from '../posts/ingest-posts.ts';
import { posts } from '../posts/post-store.ts';
import type { SourceRun } from '../sources/run-store.ts';
import { sources } from '../sources/source-store.ts';
import { liveSecrets } from './manage-webhooks.ts';
import { countDelivery } from './note-deliveries.ts';
import { readEvent, type WebhookEvent } from './read-event.ts';
import { verifySignature, type SignedRequest, type SigningKeys, type VerifiedEvent } from './verify-signature.ts';
import { webhookEvents, webhooks, type AcceptedEvent } from './webhook-store.ts';

/**
 * How long the ids of accepted events are remembered: Standard Webhooks' senders try again for three days, and their
 * signatures are good for five minutes.
 */
export const EVENTS_KEPT = 7 * DAY;

/** Of a post. To sanitise so little takes no longer than to ask the database whether it is wanted. */
const QUICK_BYTES = 4096;

/** A request to a webhook; `headerType` is GitHub's name for the event. */
export type IncomingEvent = SignedRequest & { sourceId: number; headerType: string | null };

/**
 * Takes a signed event in: verified before anything is written, committed before it is acknowledged. Resolves once it
 * is committed, or was before. Rejects with HttpError 401 for every kind of signature that does not hold, 400 for what
 * is no event, 404, 410, 429.
 */
export async function receiveEvent(hub: Hub, incoming: IncomingEvent): Promise<void> {
  const { sourceId } = incoming;
  const verified = verify(hub, incoming);
  const event = read(hub, incoming, verified);
  try {
    if (event.kind === 'publish' && incoming.body.length > QUICK_BYTES) refuseEarly(hub, sourceId, verified);
    const apply = await applying(hub, sourceId, event, incoming.body.length);
    const delivered = { event: event.type, bytes: incoming.body.length };
    await batched(hub)({ sourceId, ...verified, ...subjectOf(event), delivered, apply });
    countDelivery(hub, sourceId, delivered);
  } catch (error) {
    if (!(error instanceof KnownEvent)) throw error;
    bufferedCounts(hub).add('webhook_events_total', 'duplicate');
  }
}

function verify(hub: Hub, { sourceId, rawHeaders, body }: IncomingEvent): VerifiedEvent {
  const verified = verifySignature({ rawHeaders, body }, secretsOf(hub, sourceId), hub.clock());
  if (verified === undefined) throw new HttpError(401, 'The signature of this event is not valid.');
  return verified;
}

/** Throws 404 or 410 where there is no such webhook in use, which is asked before the body is read, too. */
export function secretsOf(hub: Hub, sourceId: number): SigningKeys[] {
  try {
    const secrets = liveSecrets(hub, sourceId);
    if (secrets) return secrets;
  } catch (error) {
    if (!(error instanceof SealedSecretError)) throw error;
    hub.log.error('webhook secrets cannot be read', { error: error.message });
    throw new HttpError(503, 'The hub cannot check signatures right now.', { headers: { 'retry-after': '300' } });
  }
  throw webhooks(hub).find(sourceId) || sources(hub).wasDeleted(sourceId) ? gone() : notFound('webhook');
}

function read({ config, clock }: Hub, { body, headerType }: IncomingEvent, { bodyId }: VerifiedEvent): WebhookEvent {
  const isGithub = bodyId !== null;
  const event = readEvent(body, config.baseUrl, isGithub ? headerType : null);
  if (isGithub && event.kind !== 'other') requireRecent(event.at, clock());
  return event;
}

/** GitHub's form signs no time: an event older than what is remembered could be one that was overheard. */
function requireRecent(at: number, now: number): void {
  if (Math.abs(now - at) <= EVENTS_KEPT) return;
  const detail = 'The event’s timestamp must be within the last 7 days: an older one may be a repetition.';
  throw invalid([{ pointer: '/timestamp', detail }], 400);
}

/** `accept` decides; here so that nobody who repeats an event or floods the hub has it sanitise long posts. */
function refuseEarly(hub: Hub, sourceId: number, verified: VerifiedEvent): void {
  if (webhookEvents(hub).isKnown(sourceId, verified)) throw new KnownEvent();
  const waitMs = waitForWebhook(hub, sourceId);
  if (waitMs > 0) throw metLimit(hub, RATE.name, waitMs / SECOND);
}

const OUTDATED = 'A later change of this post had come before.';

/** Does the slow part, and returns what is to be done in the transaction. */
async function applying(
  hub: Hub, sourceId: number, event: WebhookEvent, length: number,
): Promise<(() => Partial<SourceRun>) | null> {
  if (event.kind === 'other') return null;
  if (event.kind === 'delete') return () => (posts(hub).remove(sourceId, event.guid), {});
  const accountOf = () => sources(hub).find(sourceId)?.ownerId;
  const prepared = await inTurn(hub, { length, accountOf }, () => preparePosts(hub, null, [event.item]));
  return () => {
    if (webhookEvents(hub).isOutdated(sourceId, event.item.guid, event.at)) return { note: OUTDATED };
    const { added, changed } = storePosts(hub, sourceId, 'webhook', prepared);
    return { added, changed: changed - added };
  };
}

/** Which post an event speaks of, and when that happened. */
function subjectOf(event: WebhookEvent): { guid: string | null; happenedAt: number | null } {
  if (event.kind === 'other') return { guid: null, happenedAt: null };
  return { guid: event.kind === 'delete' ? event.guid : event.item.guid, happenedAt: event.at };
}

/** Forgets up to `limit` ids of events that have been remembered long enough. Returns how many. */
export function removeOldEvents(hub: Hub, limit: number): number {
  return webhookEvents(hub).removeBefore(hub.clock() - EVENTS_KEPT, limit);
}

/** How often each webhook may send. */
const RATE: NamedLimit = { name: 'webhook-rate', burst: 10_000, everyMs: SECOND / 100 };

/**
 * A verified event. `apply` does what it asks for, in the transaction; null for one that asks for nothing. `delivered`
 * is added to: what came of it.
 */
type Acceptance = AcceptedEvent & { delivered: Partial<SourceRun>; apply: (() => Partial<SourceRun>) | null };

/** What a batch knows of a webhook: read when its first event comes, written before the commit. */
type Activity = { arrivesAt: number; accepted: number };

/** It has been accepted before: nothing changes. */
class KnownEvent extends Error {}

/**
 * Accepts an event; resolves once it is committed. Events that come together share a transaction. Rejects with
 * KnownEvent, or HttpError 410 or 429, and nothing was written.
 */
const batched = once((hub: Hub) => batchingWrites(hub.db, () => beginBatch(hub)));

const acceptOrUndo = once((hub: Hub) =>
  hub.db.transaction('accept event', (event: Acceptance, activity: Activity) => accept(hub, event, activity)));

/** Milliseconds until the webhook may send one more. */
function waitForWebhook(hub: Hub, sourceId: number): number {
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
  const { sourceId, delivered, apply } = event;
  const now = hub.clock();
  const waitMs = waitFor(RATE, activity.arrivesAt, now);
  if (waitMs > 0 && !webhookEvents(hub).isKnown(sourceId, event)) throw metLimit(hub, RATE.name, waitMs / SECOND);
  if (!webhookEvents(hub).add(event)) throw new KnownEvent();
  Object.assign(delivered, apply?.());
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
function gone(): HttpError {
  return new HttpError(410, 'This webhook is not in use. Stop sending to it.');
}
