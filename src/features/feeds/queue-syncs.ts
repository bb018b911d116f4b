import { DAY, HOUR } from '../../platform/clock.ts';
import { enqueue } from '../hub/job-kind.ts';
import { jobs, throttled, type Hub } from '../hub/hub.ts';
import type { Source } from '../sources/source-store.ts';
import { syncState } from '../sources/sync-state-store.ts';
import { syncSource } from './sync-source.ts';

/** No retry is ever put off further than a day, so a later one was planned while the clock was ahead. */
const NEVER_LATER = DAY + HOUR;

/** Enqueues a job for every source that is due. */
export async function planDueSyncs(hub: Hub, stopping: AbortSignal): Promise<void> {
  const take = (limit: number): number => syncState(hub).takeDue(limit, ({ sourceId, host }) => {
    enqueue(hub, syncSource, { sourceId }, { lane: host });
  });
  await throttled(hub)('plan due syncs', take, () => stopping.aborted);
}

/** Retries that are planned for later than any may be become due. */
export function pullBackStrayedSyncs(hub: Hub): void {
  jobs(hub).pullBack(syncSource.name, hub.clock() + NEVER_LATER);
}

/** A job for the feed is due now: a new one, or the one that waits for its next try. */
export function syncSoon(hub: Hub, { id: sourceId, feedUrl }: Source): void {
  const lane = new URL(feedUrl ?? '').host;
  if (!enqueue(hub, syncSource, { sourceId }, { lane })) jobs(hub).hurry(syncSource.name, syncSource.key({ sourceId }));
}

/** Whether a job for the source waits or runs. */
export function isSyncing(hub: Hub, sourceId: number): boolean {
  return jobs(hub).isUnderWay(syncSource.name, syncSource.key({ sourceId }));
}
