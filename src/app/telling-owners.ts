import type { SyncSources } from '../features/feeds/sync-source.ts';
import type { Hub } from '../features/hub/hub.ts';
import { notifyFailing, notifyGone } from '../features/sources/notify-owner.ts';

/** The same sources, whose owners learn when one begins to fail for good, and when one is gone. */
export function tellingOwners(hub: Hub, sources: SyncSources): SyncSources {
  return {
    ...sources,

    recordFailure(sourceId, reason, final): void {
      const isNews = final && sources.find(sourceId)?.failures === 0;
      sources.recordFailure(sourceId, reason, final);
      if (isNews) notifyFailing(hub, sourceId);
    },

    pauseGone(sourceId, reason): void {
      sources.pauseGone(sourceId, reason);
      notifyGone(hub, sourceId);
    },
  };
}
