import { DAY, SECOND, type Clock } from '../../platform/clock.ts';
import { HttpError, invalid, notFound, tooMany } from '../../platform/http/problem.ts';
import type { IncomingPost } from '../posts/incoming-post.ts';
import { gone, KnownEvent, waitFor, type AcceptEvent } from './accept-events.ts';
import { readEvent, type WebhookEvent } from './read-event.ts';
import { SealedSecretError } from '../../platform/secrets.ts';
import { verifySignature, type SignedRequest, type VerifiedEvent } from './verify-signature.ts';
import type { WebhookEventStore } from './webhook-event-store.ts';
import type { SigningKeys } from './webhook-secret.ts';
import type { WebhookStore } from './webhook-store.ts';

/**
 * How long the ids of accepted events are remembered: Standard Webhooks' senders try again for three days, and their
 * signatures are good for five minutes.
 */
export const EVENTS_KEPT = 7 * DAY;

/** Of a post. To sanitise so little takes no longer than to ask the database whether it is wanted. */
const QUICK_BYTES = 4096;

/** What becomes of posts; given by app. */
export type EventPosts = {
  /** The slow part; what it returns stores the post, in the caller's transaction. */
  prepare(item: IncomingPost): (sourceId: number) => void;
  /** In the caller's transaction: the post goes and does not come back. */
  remove(sourceId: number, guid: string): void;
};

export type ReceiveEventDeps = {
  webhooks: WebhookStore;
  events: WebhookEventStore;
  /** Undefined where no webhook takes events; may throw SealedSecretError. */
  liveSecrets(sourceId: number): SigningKeys[] | undefined;
  accept: AcceptEvent;
  posts: EventPosts;
  /** Counts what leaves no other trace, so that nobody outside can have the database written. */
  countLater(result: 'duplicate' | 'rejected'): void;
  onUnreadable(error: SealedSecretError): void;
  baseUrl: string;
  clock: Clock;
};

/** A request to a webhook; `headerType` is GitHub's name for the event. */
export type IncomingEvent = SignedRequest & { sourceId: number; headerType: string | null };

export type ReceivingEvents = ReturnType<typeof receivingEvents>;

/** Takes signed events in: verified before anything is written, committed before they are acknowledged. */
export function receivingEvents(deps: ReceiveEventDeps) {
  const { webhooks, events, accept, posts, countLater, onUnreadable, baseUrl, clock } = deps;

  /** 404 where there never was a webhook, 410 where there is none any more or it is paused: senders stop then. */
  function secretsOf(sourceId: number): SigningKeys[] {
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

  /** Asked for certain by `accept`; here so that nobody who repeats or floods costs the hub a slow part. */
  function spareSlowPart(sourceId: number, verified: VerifiedEvent): void {
    if (events.isKnown(sourceId, verified)) throw new KnownEvent();
    const waitMs = waitFor(webhooks.paidUntil(sourceId) ?? 0, clock());
    if (waitMs > 0) throw tooMany(waitMs / SECOND);
  }

  function applying(event: WebhookEvent): ((sourceId: number) => void) | null {
    if (event.kind === 'other') return null;
    if (event.kind === 'delete') return (sourceId) => posts.remove(sourceId, event.guid);
    const store = posts.prepare(event.item);
    return (sourceId) => {
      if (!events.isOutrun(sourceId, event.item.guid, event.at)) store(sourceId);
    };
  }

  async function receive(incoming: IncomingEvent): Promise<void> {
    const { sourceId } = incoming;
    const verified = verify(incoming);
    const event = read(incoming, verified);
    if (event.kind === 'publish' && incoming.body.length > QUICK_BYTES) spareSlowPart(sourceId, verified);
    const apply = applying(event);
    const happenedAt = event.kind === 'other' ? null : event.at;
    await accept({ sourceId, ...verified, guid: guidOf(event), happenedAt, apply });
  }

  return {
    /**
     * Resolves once the event is committed, or was before. Rejects with HttpError 401 for every kind of signature that
     * does not hold, 400 for what is no event, 404, 410, 429.
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
  throw invalid([{ pointer: '/timestamp', detail }], 400);
}
