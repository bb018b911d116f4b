import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HttpError } from '../../platform/http/http-error.ts';
import { once, type Hub } from '../hub/hub.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import { addRun, noteFailures, nothingNoted, writeRuns, type Noted } from '../sources/note-runs.ts';
import type { SourceRun } from '../sources/run-store.ts';

/** Notes for a webhook's owner about refused events, by status; for other statuses, the answer's text is the note. */
const REASONS: Record<number, string> = {
  401: 'The signature was not valid: another secret, a wrong clock, or a body that was changed on the way.',
  429: 'The webhook got more events than its rate limit allows.',
};

/** Statuses of refusals because a webhook does not exist or is paused; these are not noted. */
const UNKNOWN = [404, 410];

type Refusal = { sourceId: number; note: string; times: number };

const MAX_KINDS = 1_000; // maximum number of refusals of events, by source and reason, that are kept in memory
const MAX_NOTE = 300; // characters

const AT_ONCE = 50;

/** Refused events by source and reason, in memory: anybody can send them, so they must not cost a write each. */
const refusals = once((_hub: Hub) => new Map<string, Refusal>());

/** Accepted events by source, in memory: a write per event would take a quarter of the event's time (measured). */
const deliveries = once((_hub: Hub) => new Map<number, Noted>());

/** Counts an accepted event for the webhook's owner. */
export function countDelivery(hub: Hub, sourceId: number, delivered: Partial<SourceRun>): void {
  const noted = deliveries(hub).get(sourceId) ?? nothingNoted();
  deliveries(hub).set(sourceId, noted);
  addRun(hub, noted, delivered);
}

/** Counts a refused event for the webhook's owner. */
export function countRefusal(hub: Hub, sourceId: number, { status, message }: HttpError): void {
  if (UNKNOWN.includes(status)) return;
  const note = (REASONS[status] ?? message).slice(0, MAX_NOTE);
  const known = refusals(hub).get(`${sourceId} ${note}`);
  if (known) known.times++;
  else if (refusals(hub).size < MAX_KINDS) refusals(hub).set(`${sourceId} ${note}`, { sourceId, note, times: 1 });
}

/** Writes the events counted since the last call; keeps the counts in memory while `mayRecord` is false. */
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
