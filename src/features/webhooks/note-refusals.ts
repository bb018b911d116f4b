import type { HttpError } from '../../platform/http/reply.ts';
import { once, type Hub } from '../hub/hub.ts';
import { noteFailures } from '../sources/note-runs.ts';
import { liveSecrets } from './manage-webhooks.ts';

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

/** By source and reason. Anybody may send what is refused: nothing is written for each. */
const refusals = once((_hub: Hub) => new Map<string, Refusal>());

/** Remembers for the owner of a webhook that an event was refused. */
export function countRefusal(hub: Hub, sourceId: number, { status, message }: HttpError): void {
  if (UNKNOWN.includes(status) || !liveSecrets(hub, sourceId)) return;
  const note = (REASONS[status] ?? message).slice(0, LONGEST_NOTE);
  const known = refusals(hub).get(`${sourceId} ${note}`);
  if (known) known.times++;
  else if (refusals(hub).size < MOST_KINDS) refusals(hub).set(`${sourceId} ${note}`, { sourceId, note, times: 1 });
}

/** Writes what was refused since it was last called; what is refused for the same reason on one day is one row. */
export function noteRefusals(hub: Hub): void {
  const all = [...refusals(hub).values()];
  if (all.length === 0) return;
  hub.db.write('note refused events', () => {
    for (const { sourceId, note, times } of all) noteFailures(hub, sourceId, note, times);
  });
  refusals(hub).clear();
}
