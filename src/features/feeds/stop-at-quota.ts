import { HOUR, MINUTE } from '../../platform/clock.ts';
import { NotNowError } from '../../platform/jobs/run-job.ts';
import { mayRecord } from '../hub/disk-reserve.ts';
import type { Hub } from '../hub/hub.ts';
import { isSourceFull, NO_ROOM_FOR_CONTENT } from '../sources/content-quota.ts';
import { syncState } from '../sources/sync-state-store.ts';

/** If the hub may not store posts now, a synchronisation is tried again after this delay. */
const LATER = 5 * MINUTE;

/** Throws NotNowError if the disk or the owner's quota has become full since the job began. Called in a transaction. */
export function requireMayStore(hub: Hub, sourceId: number): void {
  if (!mayRecord(hub)) throw new NotNowError('the hub may not store posts now', hub.clock() + LATER);
  if (isSourceFull(hub, sourceId)) throw new NotNowError('the owner’s content quota is used up', hub.clock());
}

/** Stops a feed whose owner's quota is used up, in a transaction; `watchContentQuotas` later restarts stopped feeds. */
export function stopAtQuota(hub: Hub, sourceId: number): void {
  syncState(hub).recordFailure(sourceId, NO_ROOM_FOR_CONTENT, { isFinal: false, timedOut: false });
  syncState(hub).planNext(sourceId, hub.clock() + HOUR); // the feed is tried again, in case the quota is raised
}
