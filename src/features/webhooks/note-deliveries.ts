import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpError } from '../../platform/http/reply.ts';
import { once, type Hub } from '../hub/hub.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { addRun, noteFailures, nothingNoted, writeRuns, type Noted } from '../sources/note-runs.ts';
import type { SourceRun } from '../sources/run-store.ts';

/** What the owner reads of a refusal; of others what the sender was told. */
const REASONS: Record<number, string> = {
  401: 'The signature was not valid: another secret, a clock that is wrong, or a body that was changed on its way.',
  429: 'More events came than one webhook may send.',
};

/** For senders that are told that there is nothing. */
const UNKNOWN = [404, 410];

type Refusal = { sourceId: number; note: string; times: number };

const MOST_KINDS = 1_000;
const LONGEST_NOTE = 300;

/** Webhooks that are written in one transaction. */
const AT_ONCE = 50;

/** By source and reason. Anybody may send what is refused: nothing is written for each. */
const refusals = once((_hub: Hub) => new Map<string, Refusal>());

/** By source. Written with each event, they would take a quarter of its time (measured). */
const deliveries = once((_hub: Hub) => new Map<number, Noted>());

/** Remembers for the owner of a webhook what came of an accepted event. */
export function countDelivery(hub: Hub, sourceId: number, delivered: Partial<SourceRun>): void {
  const noted = deliveries(hub).get(sourceId) ?? nothingNoted();
  deliveries(hub).set(sourceId, noted);
  addRun(hub, noted, delivered);
}

/** Remembers for the owner of a webhook that an event was refused. */
export function countRefusal(hub: Hub, sourceId: number, { status, message }: HttpError): void {
  if (UNKNOWN.includes(status)) return;
  const note = (REASONS[status] ?? message).slice(0, LONGEST_NOTE);
  const known = refusals(hub).get(`${sourceId} ${note}`);
  if (known) known.times++;
  else if (refusals(hub).size < MOST_KINDS) refusals(hub).set(`${sourceId} ${note}`, { sourceId, note, times: 1 });
}

/**
 * Writes what came since it was last called; while the hub may record nothing, that waits. What is refused for the same
 * reason on one day is one row.
 */
export async function noteDeliveries(hub: Hub): Promise<void> {
  if (!mayRecord(hub)) return;
  const sourceIds = [...deliveries(hub).keys()];
  for (let from = 0; from < sourceIds.length; from += AT_ONCE) {
    writeDeliveries(hub, sourceIds.slice(from, from + AT_ONCE));
    await nextTurn();
  }
  const all = [...refusals(hub).values()];
  if (all.length === 0) return;
  hub.db.write('note refused events', () => {
    for (const { sourceId, note, times } of all) noteFailures(hub, sourceId, note, times);
  });
  refusals(hub).clear();
}

function writeDeliveries(hub: Hub, sourceIds: number[]): void {
  hub.db.write('note deliveries', () => {
    for (const id of sourceIds) writeRuns(hub, id, deliveries(hub).get(id) ?? nothingNoted());
  });
  for (const id of sourceIds) deliveries(hub).delete(id);
}
