import type { JobProgress } from '../../platform/jobs/job-records.ts';
import { forgetSourceAlerts } from '../alerts/raise-alerts.ts';
import { audit, type By } from '../audit/audit.ts';
import { settleFailedSyncs } from '../feeds/sync-source.ts';
import { isTight } from '../hub/disk-space.ts';
import { enqueue, jobs, throttled, type Hub, type JobKind } from '../hub/hub.ts';
import { notifications } from '../notifications/notification-store.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { dropEntriesOf } from '../reading/settle-entries.ts';
import { manageableSource, manySources, sources } from '../sources/source-store.ts';
import { webhookEvents } from '../webhooks/webhook-store.ts';
import { offersPath, tellFollowers } from './tell-followers.ts';

/** Maximum number of posts counted for a removal's progress bar, so that counting stays short. */
const MOST_COUNTED = 100_000;

/** Maximum number of rows per table that a request to delete a source removes. */
const BATCH = 100;

/** Deletes a source and notifies its followers. It is hidden at once; a job removes the rows that are left. */
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

/** Removes a deleted source's rows in steps, because removing 100,000 posts at once would block the hub for 13 s. */
export const removeSource: JobKind<{ sourceId: number }> = {
  name: 'remove-source',
  key: ({ sourceId }) => String(sourceId),
  attempts: 1_000, // a very large source takes longer than one lease; each attempt removes the rows that are left
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
    await throttled(hub)('remove a source in some steps', some, () => signal.aborted);
    signal.throwIfAborted();
  },
};

export function removalsOf(hub: Hub, ownerId: number): Removal[] {
  return manySources(hub).beingRemoved(ownerId).map(({ id, title }) => (
    { title, progress: jobs(hub).progressOf(removeSource.name, removeSource.key({ sourceId: id })) }));
}

export type Removal = { title: string; progress: JobProgress | undefined };

/** So many entries of readers' lists take less time to remove than one post. */
const ENTRIES_PER_POST = 10;

function removeSome(hub: Hub, sourceId: number, limit: number): { removed: number; isAll: boolean } {
  return hub.db.write('remove a source, one step', () => {
    const entriesAtOnce = ENTRIES_PER_POST * limit;
    if (dropEntriesOf(hub, sourceId, entriesAtOnce) === entriesAtOnce) return { removed: 0, isAll: false };
    const { removed, isMore } = sourcePosts(hub).remove(sourceId, limit);
    const isAll = !isMore && webhookEvents(hub).removeOfSource(sourceId, limit) < limit &&
      [`/sources/${sourceId}`, offersPath(sourceId)].every((path) =>
        notifications(hub).removeAbout(path, limit) < limit); // notifications that link to the source
    if (isAll) forgetSourceAlerts(hub, sourceId);
    if (isAll) sources(hub).delete(sourceId);
    return { removed, isAll };
  });
}
