import { SECOND, type Clock } from '../../platform/clock.ts';
import { batchingWrites, type Batch, type BatchedWrite } from '../../platform/db/batch-writes.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { HttpError, tooMany } from '../../platform/http/problem.ts';
import type { KeptCounts } from '../../platform/metrics/kept-counts.ts';
import type { AcceptedEvent, WebhookEventStore } from './webhook-event-store.ts';
import type { WebhookStore } from './webhook-store.ts';

/** Of one source: so many at once, and one each so many ms after that. */
const LIMIT = { burst: 10_000, everyMs: SECOND / 100 };

/** A verified event. `apply` does what it asks for; null where it only shows that its sender lives. */
export type Acceptance = AcceptedEvent & { apply: ((sourceId: number) => void) | null };

/** What a transaction knows of a webhook: read when its first event comes, written before the commit. */
type Hearing = { paidUntilAt: number; accepted: number };

export type AcceptingEventsDeps = {
  db: Db; webhooks: WebhookStore; events: WebhookEventStore; counts: KeptCounts; clock: Clock;
};

/** It has been accepted before: nothing changes. */
export class KnownEvent extends Error {}

/** Rejects, and nothing was written: with KnownEvent, or HttpError 410 or 429. */
export type AcceptEvent = BatchedWrite<Acceptance>;

/** Accepts events, those that come together in one transaction. */
export function acceptingEvents({ db, webhooks, events, counts, clock }: AcceptingEventsDeps): AcceptEvent {
  const undoable = db.transaction('accept event', accept);

  function begin(): Batch<Acceptance> {
    const hearings = new Map<number, Hearing>();
    return {
      write(one) {
        const isOneStatement = one.apply === null && one.bodyId === null;
        (isOneStatement ? accept : undoable)(one, hearingOf(one.sourceId, hearings));
      },
      end: () => note(hearings),
    };
  }

  function hearingOf(sourceId: number, hearings: Map<number, Hearing>): Hearing {
    const known = hearings.get(sourceId);
    if (known) return known;
    const paidUntilAt = webhooks.paidUntil(sourceId);
    if (paidUntilAt === undefined) throw gone();
    const hearing = { paidUntilAt, accepted: 0 };
    hearings.set(sourceId, hearing);
    return hearing;
  }

  /** What it changes in the hearing comes last: it is not undone. */
  function accept(one: Acceptance, hearing: Hearing): void {
    const { sourceId, apply } = one;
    const now = clock();
    const waitMs = waitFor(hearing.paidUntilAt, now);
    if (waitMs > 0 && !events.isKnown(sourceId, one)) throw tooMany(waitMs / SECOND);
    if (!events.add(one)) throw new KnownEvent();
    apply?.(sourceId);
    hearing.paidUntilAt = payOne(hearing.paidUntilAt, now);
    hearing.accepted += 1;
  }

  function note(hearings: Map<number, Hearing>): void {
    let accepted = 0;
    for (const [sourceId, hearing] of hearings) {
      if (hearing.accepted > 0) webhooks.hear(sourceId, clock(), hearing.paidUntilAt);
      accepted += hearing.accepted;
    }
    if (accepted > 0) counts.add('webhook_events_total', 'accepted', accepted);
  }

  return batchingWrites(db, begin);
}

/** Milliseconds until a webhook may send one more, by the generic cell rate algorithm; times in unix ms. */
export function waitFor(paidUntilAt: number, now: number): number {
  return isPaidByClockAhead(paidUntilAt, now) ? 0 : Math.max(0, paidUntilAt + LIMIT.everyMs - latestPaid(now));
}

function payOne(paidUntilAt: number, now: number): number {
  return (isPaidByClockAhead(paidUntilAt, now) ? now : Math.max(paidUntilAt, now)) + LIMIT.everyMs;
}

function isPaidByClockAhead(paidUntilAt: number, now: number): boolean {
  return paidUntilAt > latestPaid(now);
}

/** How far ahead a webhook may have paid. */
function latestPaid(now: number): number {
  return now + LIMIT.burst * LIMIT.everyMs;
}

/** Senders stop then. */
export function gone(): HttpError {
  return new HttpError(410, 'This webhook is not in use. Stop sending to it.');
}
