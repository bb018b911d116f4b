import type { SyncSources } from '../features/feeds/sync-source.ts';
import type { Notices } from './notices.ts';

/** The same sources, whose owners learn when one begins to fail for good, and when one is gone. */
export function tellingOwners(sources: SyncSources, { sourceFailing, sourceGone }: Notices): SyncSources {
  return {
    ...sources,

    recordFailure(sourceId, reason, final): void {
      const isNews = final && sources.find(sourceId)?.failures === 0;
      sources.recordFailure(sourceId, reason, final);
      if (isNews) sourceFailing(sourceId);
    },

    pauseGone(sourceId, reason): void {
      sources.pauseGone(sourceId, reason);
      sourceGone(sourceId);
    },
  };
}
