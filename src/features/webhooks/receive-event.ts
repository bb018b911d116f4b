import { DAY, SECOND } from '../../platform/clock.ts';
import { batchingWrites, type Batch } from '../../platform/db/batched-writes.ts';
import { arrivalAfter, waitFor } from '../../platform/db/rate-limit-store.ts';
import { HttpError, invalid, notFound } from '../../platform/http/http-error.ts';
import { SealedSecretError } from '../../platform/secrets.ts';
import { bufferedCounts, counts, metLimit, once, type Hub } from '../hub/hub.ts';
import type { NamedLimit } from '../hub/limits.ts';
import { inTurn, preparePosts, storePosts } from '../posts/ingest-posts.ts';
import { matchRules } from '../rules/apply-rules.ts';
import { posts } from '../posts/post-store.ts';
import { contentFull, isSourceFull, requireContentRoom } from '../sources/content-quota.ts';
import type { SourceRun } from '../sources/run-store.ts';
import { sources } from '../sources/source-store.ts';
import { liveSecrets } from './manage-webhooks.ts';
import { countDelivery } from './note-deliveries.ts';
import { readEvent, type WebhookEvent } from './read-event.ts';
import { verifySignature, type SignedRequest, type SigningKeys, type VerifiedEvent } from './verify-signature.ts';
import { credibleTime, webhookEvents, webhooks, type AcceptedEvent } from './webhook-store.ts';

/** Time for which the hub remembers accepted events' ids. Senders of Standard Webhooks retry for up to three days. */
export const EVENTS_KEPT = 7 * DAY;

/** Posts up to this size are sanitised without an earlier check for a duplicate event: the check would take as long. */
const QUICK_BYTES = 4096;

export type IncomingEvent = SignedRequest & { sourceId: number; secrets: SigningKeys[]; headerType: string | null };

/** Verifies a signed event before it writes anything; resolves once the event is committed, and for a duplicate. */
export async function receiveEvent(hub: Hub, incoming: IncomingEvent): Promise<void> {
  const { sourceId } = incoming;
  const verified = verifyEvent(hub, incoming);
  const event = readVerified(hub, incoming, verified);
  try {
    if (event.kind === 'publish' && incoming.body.length > QUICK_BYTES) refuseEarly(hub, sourceId, verified);
    const makesRoom = event.kind === 'delete' && posts(hub).has(sourceId, event.guid);
    const apply = await prepareWrite(hub, sourceId, event, incoming.body.length);
    const delivered = { event: event.type, bytes: incoming.body.length };
    await batched(hub)({ sourceId, ...verified, ...subjectOf(event), delivered, makesRoom, apply });
    countDelivery(hub, sourceId, delivered);
  } catch (error) {
    if (!(error instanceof KnownEvent)) throw error;
    bufferedCounts(hub).add('webhook_events_total', 'duplicate');
  }
}

function verifyEvent(hub: Hub, { secrets, rawHeaders, body }: IncomingEvent): VerifiedEvent {
  const verified = verifySignature({ rawHeaders, body }, secrets, hub.clock());
  if (verified === undefined) throw new HttpError(401, 'The signature of this event is not valid.');
  return verified;
}

/** The keys of the valid secrets. Throws 404 for an unknown webhook, 410 if paused or deleted, 503 if unreadable. */
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

function readVerified(
  { config, clock }: Hub, { body, headerType }: IncomingEvent, { bodyId }: VerifiedEvent,
): WebhookEvent {
  const isGithub = bodyId !== null;
  const event = readEvent(body, config.baseUrl, isGithub ? headerType : null);
  if (isGithub && event.kind !== 'other') requireRecent(event.at, clock());
  return event;
}

/** Refuses an event further from now than ids are remembered: it may be a replay, as GitHub does not sign a time. */
function requireRecent(at: number, now: number): void {
  if (Math.abs(now - at) <= EVENTS_KEPT) return;
  const detail = 'The event’s timestamp must be within the last 7 days: an older event may be a replay.';
  throw invalid([{ pointer: '/timestamp', detail }], 400);
}

/** Makes the checks of `accept` before a long post is sanitised, so that a flood of events costs little time. */
function refuseEarly(hub: Hub, sourceId: number, verified: VerifiedEvent): void {
  if (webhookEvents(hub).isKnown(sourceId, verified)) throw new KnownEvent();
  const waitMs = waitFor(RATE, webhooks(hub).arrivesAt(sourceId) ?? 0, hub.clock());
  if (waitMs > 0) throw metLimit(hub, RATE.name, waitMs / SECOND);
  requireContentRoom(hub, sourceId);
}

const OUTDATED = 'The event is outdated: a later change of the post had arrived before.';
const FINAL = 'The post was deleted here, for good.';
const AGAIN = 'It had been deleted, and is published again.';

async function prepareWrite(
  hub: Hub, sourceId: number, event: WebhookEvent, length: number,
): Promise<(() => Partial<SourceRun>) | null> {
  if (event.kind === 'other') return null;
  const { at } = event;
  if (event.kind === 'delete') return () => {
    if (webhookEvents(hub).isOutdated(sourceId, event.guid, at)) return { note: OUTDATED };
    return { changed: posts(hub).remove(sourceId, event.guid, credibleTime(at, hub.clock())) ? 1 : 0 };
  };
  const accountOf = () => sources(hub).find(sourceId)?.ownerId;
  const prepared = await preparePosts(hub, null, [event.item], (work) => inTurn(hub, { length, accountOf }, work));
  const storing = { kind: 'webhook', ...await matchRules(hub, { id: sourceId }, prepared) };
  return () => {
    if (webhookEvents(hub).isOutdated(sourceId, event.item.guid, at)) return { note: OUTDATED };
    const deletion = posts(hub).liftDeletion(sourceId, event.item.guid, at);
    if (deletion === 'later' || deletion === 'final') return { note: deletion === 'final' ? FINAL : OUTDATED };
    const { added, changed } = storePosts(hub, sourceId, storing, prepared);
    return { added, changed: changed - added, note: deletion === 'lifted' ? AGAIN : null };
  };
}

function subjectOf(event: WebhookEvent): { guid: string | null; happenedAt: number | null } {
  if (event.kind === 'other') return { guid: null, happenedAt: null };
  return { guid: event.kind === 'delete' ? event.guid : event.item.guid, happenedAt: event.at };
}

const RATE: NamedLimit = { name: 'webhook-rate', burst: 10_000, everyMs: SECOND / 100 };

/**
 * A verified event. `apply` stores or deletes its post in the caller's transaction and returns values for `delivered`,
 * the record of its delivery; null if it is about no post. `makesRoom`: whether it deletes a post, and is accepted even
 * beyond the quota.
 */
type Acceptance = AcceptedEvent & {
  delivered: Partial<SourceRun>;
  makesRoom: boolean;
  apply: (() => Partial<SourceRun>) | null;
};

/** The state of one webhook within a batch of events: read at the webhook's first event, written before the commit. */
type Activity = { arrivesAt: number; accepted: number; isFull: boolean };

class KnownEvent extends Error {}

const batched = once((hub: Hub) => batchingWrites(hub.db, () => beginBatch(hub)));

const acceptOrUndo = once((hub: Hub) =>
  hub.db.transaction('accept event', (event: Acceptance, activity: Activity) => accept(hub, event, activity)));

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
  const activity = { arrivesAt, accepted: 0, isFull: isSourceFull(hub, sourceId) };
  activities.set(sourceId, activity);
  return activity;
}

/** Accepts an event: writes to the database first, then to `activity` in memory, which a rollback does not undo. */
function accept(hub: Hub, event: Acceptance, activity: Activity): void {
  const { sourceId, delivered, makesRoom, apply } = event;
  const now = hub.clock();
  const waitMs = waitFor(RATE, activity.arrivesAt, now);
  if (waitMs > 0 && !webhookEvents(hub).isKnown(sourceId, event)) throw metLimit(hub, RATE.name, waitMs / SECOND);
  if (activity.isFull && !makesRoom && !webhookEvents(hub).isKnown(sourceId, event)) throw contentFull(hub);
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

/** The answer for a paused or deleted webhook: senders stop sending after a 410. */
function gone(): HttpError {
  return new HttpError(410, 'This webhook is not in use. Stop sending events to it.');
}
