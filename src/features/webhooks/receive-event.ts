import { DAY, SECOND, type Clock } from '../../platform/clock.ts';
import type { BatchedWrite } from '../../platform/db/batch-writes.ts';
import { HttpError, invalid, notFound, tooMany } from '../../platform/http/problem.ts';
import type { KeptCounts } from '../../platform/metrics/kept-counts.ts';
import { readEvent, type WebhookEvent } from './read-event.ts';
import type { IncomingItem } from './read-item.ts';
import { SealedSecretError } from './seal-secret.ts';
import { verifySignature, type SignedRequest, type VerifiedEvent } from './verify-signature.ts';
import type { AcceptedEvent, WebhookEventStore } from './webhook-event-store.ts';
import type { WebhookStore } from './webhook-store.ts';

/**
 * How long the ids of accepted events are remembered: Standard Webhooks' senders try again for three days, and their
 * signatures are good for five minutes.
 */
export const EVENTS_KEPT = 7 * DAY;

/** Of one source. */
const EVENT_LIMIT = { burst: 10_000, everyMs: SECOND / 100 };

/** What becomes of posts; given by app. */
export type EventPosts = {
  /** The slow part; what it returns stores the post, in the caller's transaction. */
  prepare(item: IncomingItem): (sourceId: number) => void;
  /** In the caller's transaction: the post goes and does not come back. */
  remove(sourceId: number, guid: string): void;
};

export type ReceiveEventDeps = {
  webhooks: WebhookStore;
  events: WebhookEventStore;
  /** Undefined where no webhook takes events; may throw SealedSecretError. */
  liveSecrets(sourceId: number): string[] | undefined;
  write: BatchedWrite;
  posts: EventPosts;
  counts: KeptCounts;
  /** Counts what leaves no other trace, so that nobody outside can have the database written. */
  countLater(result: 'duplicate' | 'rejected'): void;
  onUnreadable(error: SealedSecretError): void;
  baseUrl: string;
  clock: Clock;
};

/** A request to a webhook; `headerType` is GitHub's name for the event. */
export type IncomingEvent = SignedRequest & { sourceId: number; headerType: string | null };

export type ReceivingEvents = ReturnType<typeof receivingEvents>;

/** It has been accepted before. */
class KnownEvent extends Error {}

/** Takes signed events in: verified before anything is written, committed before they are acknowledged. */
export function receivingEvents(deps: ReceiveEventDeps) {
  const { webhooks, events, write, posts, counts, countLater, onUnreadable, baseUrl, clock } = deps;

  /** 404 where there never was a webhook, 410 where there is none any more or it is paused: senders stop then. */
  function secretsOf(sourceId: number): string[] {
    try {
      const secrets = deps.liveSecrets(sourceId);
      if (secrets) return secrets;
      throw webhooks.find(sourceId) || webhooks.isDeleted(sourceId) ? gone() : notFound('webhook');
    } catch (error) {
      if (!(error instanceof SealedSecretError)) throw error;
      onUnreadable(error);
      throw new HttpError(503, 'The hub cannot check signatures right now.', { headers: { 'retry-after': '300' } });
    }
  }

  function verify({ sourceId, rawHeaders, body }: IncomingEvent): VerifiedEvent {
    const verified = verifySignature({ rawHeaders, body }, secretsOf(sourceId), clock());
    if (verified === undefined) throw new HttpError(401, 'The signature of this event does not hold.');
    return verified;
  }

  function read({ body, headerType }: IncomingEvent, { bodyId }: VerifiedEvent): WebhookEvent {
    const isGithub = bodyId !== null;
    const event = readEvent(body, baseUrl, isGithub ? headerType : null);
    if (isGithub && event.kind !== 'other') requireRecent(event.at, clock());
    return event;
  }

  /** In a savepoint; what it throws undoes it. */
  function accept(event: WebhookEvent, accepted: AcceptedEvent, apply: (sourceId: number) => void): void {
    const { sourceId } = accepted;
    if (!events.add(accepted)) throw webhooks.takesEvents(sourceId) ? new KnownEvent() : gone();
    requireNoWait(webhooks.hear(sourceId, EVENT_LIMIT));
    const isOutrun = event.kind === 'publish' && events.isOutrun(sourceId, event.item.guid, event.at);
    if (!isOutrun) apply(sourceId);
    counts.add('webhook_events_total', 'accepted', 1);
  }

  /** Asked for certain by `accept`; here so that nobody who repeats or floods costs the hub the slow part. */
  function spareSlowPart(sourceId: number, verified: VerifiedEvent): void {
    if (events.isKnown(sourceId, verified)) throw new KnownEvent();
    requireNoWait(webhooks.waitFor(sourceId, EVENT_LIMIT));
  }

  function applying(event: WebhookEvent): (sourceId: number) => void {
    if (event.kind === 'publish') return posts.prepare(event.item);
    return (sourceId) => event.kind === 'delete' && posts.remove(sourceId, event.guid);
  }

  async function receive(incoming: IncomingEvent): Promise<void> {
    const { sourceId } = incoming;
    const verified = verify(incoming);
    const event = read(incoming, verified);
    if (event.kind === 'publish') spareSlowPart(sourceId, verified);
    const apply = applying(event);
    const happenedAt = event.kind === 'other' ? null : event.at;
    const accepted = { sourceId, ...verified, guid: guidOf(event), happenedAt };
    await write(() => accept(event, accepted, apply));
  }

  return {
    /**
     * Resolves once the event is committed, or was before. Rejects with HttpError 401 for every kind of signature that
     * does not hold, 400 and 422 for what is no event, 404, 410, 429.
     */
    async receive(incoming: IncomingEvent): Promise<void> {
      try {
        await receive(incoming);
      } catch (error) {
        if (error instanceof KnownEvent) return countLater('duplicate');
        throw error;
      }
    },

    /** Counts what was refused, for whatever reason. */
    noteRefusal(error: unknown): void {
      if (error instanceof HttpError && error.status < 500) countLater('rejected');
    },
  };
}

function guidOf(event: WebhookEvent): string | null {
  if (event.kind === 'other') return null;
  return event.kind === 'delete' ? event.guid : event.item.guid;
}

/** GitHub's form signs no time: an event older than what is remembered could be one that was overheard. */
function requireRecent(at: number, now: number): void {
  if (Math.abs(now - at) <= EVENTS_KEPT) return;
  const detail = 'The event’s timestamp must lie within the last 7 days: it cannot be told from a repeated one.';
  throw invalid([{ pointer: '/timestamp', detail }]);
}

function requireNoWait(waitMs: number): void {
  if (waitMs > 0) throw tooMany(waitMs / SECOND);
}

function gone(): HttpError {
  return new HttpError(410, 'This webhook is not in use. Stop sending to it.');
}
