import type { JobProgress } from '../../platform/jobs/job-readings.ts';
import { forgetSourceAlerts } from '../alerts/raise-alerts.ts';
import { audit, type By } from '../audit/audit.ts';
import { settleFailedSyncs } from '../feeds/sync-source.ts';
import { isTight } from '../hub/disk-space.ts';
import { enqueue, jobs, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { manySources } from '../sources/many-sources-store.ts';
import { manageableSource, sources } from '../sources/source-store.ts';
import { webhookEvents } from '../webhooks/webhook-store.ts';
import { tellFollowers } from './tell-followers.ts';

/** Of posts, so that counting them keeps no other job waiting. */
const MOST_COUNTED = 100_000;

/** Rows of each kind that one step removes: all that an ordinary source has. */
const BATCH = 100;

/**
 * Deletes a source with its posts and their attachments: nobody sees them any more, and on disk they go in steps.
 * Those who follow it are told.
 */
export function deleteSource(hub: Hub, id: number, by: By): void {
  hub.db.write('delete source', () => {
    const source = manageableSource(hub, id, by.viewer);
    const { title, kind } = source;
    tellFollowers(hub, 'source.deleted', source, null);
    settleFailedSyncs(hub, id);
    sources(hub).hide(id);
    if (isTight(hub.disk) || !removeSome(hub, id, BATCH).isAll) enqueue(hub, removeSource, { sourceId: id });
    audit(hub, 'source.deleted', by, { kind: 'source', id, name: title }, { kind });
  });
}

/**
 * Removes what a deleted source held, in small steps: deleting 100,000 posts at once would stop the hub for 13 s. Safe
 * to repeat: it goes on where it was.
 */
export const removeSource: JobKind<{ sourceId: number }> = {
  name: 'remove-source',
  key: ({ sourceId }) => String(sourceId),
  attempts: 1_000, // a very large source takes longer than one lease, and what one try has removed is gone
  concurrency: 1,
  afterRestore: 'run',
  stores: false,

  async run(hub, { sourceId }, signal, job) {
    const counted = sourcePosts(hub).count(sourceId, MOST_COUNTED);
    const total = counted < MOST_COUNTED ? counted : null;
    let done = 0;
    const some = (limit: number): number => {
      const { removed, isAll } = removeSome(hub, sourceId, limit);
      if (isAll) return 0;
      done += removed;
      jobs(hub).noteProgress(job.id, Math.min(done, total ?? done), total);
      return limit;
    };
    await throttled(hub)('remove source, some steps', some, () => signal.aborted);
    signal.throwIfAborted();
  },
};

/** Sources of an account that are being removed, and how far that is. */
export function removalsOf(hub: Hub, ownerId: number): Removal[] {
  return manySources(hub).beingRemoved(ownerId).map(({ id, title }) => (
    { title, progress: jobs(hub).progressOf(removeSource.name, removeSource.key({ sourceId: id })) }));
}

export type Removal = { title: string; progress: JobProgress | undefined };

/**
 * Removes up to `limit` rows of each kind that a deleted source has, and when none are left the source itself. Returns
 * how many posts it removed and whether all of the source is gone.
 */
function removeSome(hub: Hub, sourceId: number, limit: number): { removed: number; isAll: boolean } {
  return hub.db.write('remove source, a step', () => {
    const { removed, isMore } = sourcePosts(hub).remove(sourceId, limit);
    const isAll = !isMore && webhookEvents(hub).removeOfSource(sourceId, limit) < limit &&
      notifications(hub).removeAbout(`/sources/${sourceId}`, limit) < limit; // they lead nowhere now
    if (isAll) forgetSourceAlerts(hub, sourceId);
    if (isAll) sources(hub).delete(sourceId);
    return { removed, isAll };
  });
}
