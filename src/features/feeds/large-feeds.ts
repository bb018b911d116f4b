import { createLanes } from '../../platform/limit-concurrency.ts';
import type { LargeBody } from '../../platform/net/outbound-exchange.ts';
import { once, type Hub } from '../hub/hub.ts';

/** Bytes. Only feeds beyond that wait for one another. */
const LARGE_BODY = 1024 * 1024;

/** Of these, so many are received at once, each of 10 MiB at the most, and one of them is read and stored. */
const RECEIVED_AT_ONCE = 3;

const lanes = once((_: Hub) => ({ receive: createLanes(RECEIVED_AT_ONCE), read: createLanes() }));

/** What one synchronisation takes of the memory that all large feeds share. */
export type LargeFeedTurns = {
  body: LargeBody;
  /** Resolves at once for a small body, for a large one when no other is being read. */
  read(bytes: number): Promise<void>;
  /** Its body and posts are let go. */
  end(): void;
};

export function largeFeedTurns(hub: Hub, signal: AbortSignal): LargeFeedTurns {
  const { receive, read } = lanes(hub);
  const over = Promise.withResolvers<void>();
  const begin = (lane: typeof read): Promise<void> => new Promise((resolve, reject) => {
    lane('large', signal, () => (resolve(), over.promise)).catch(reject);
  });
  return {
    body: { bytes: LARGE_BODY, turn: () => begin(receive) },
    read: async (bytes) => bytes > LARGE_BODY ? begin(read) : undefined,
    end: over.resolve,
  };
}
