import { setImmediate } from 'node:timers/promises';
import type { Db } from '../../platform/db/open-database.ts';
import { overwritingDeleted } from '../../platform/db/overwrite-deleted.ts';
import type { Job } from '../../platform/jobs/job-queue.ts';
import type { JobHandler } from '../../platform/jobs/worker.ts';
import type { SourceStore } from './source-store.ts';

export const REMOVE_SOURCE = 'remove-source';

/** Rows of a kind per transaction: for posts seldom more than 50 ms, so that nobody waits long for the write lock. */
const BATCH = 100;

export type RemoveSourceDeps = {
  db: Db;
  sources: SourceStore;
  /** Each deletes up to `limit` rows of one kind that a source has, and returns how many that were; given by app. */
  removeParts: ((sourceId: number, limit: number) => number)[];
  /** Enqueues a REMOVE_SOURCE job; given by app. */
  enqueue(sourceId: number): void;
};

export type RemovingSources = ReturnType<typeof removingSources>;

/**
 * Removes sources in small steps: deleting 100,000 posts at once would stop the hub for 13 s. What they held is
 * overwritten in the file: whoever leaves the hub deletes their sources first.
 */
export function removingSources({ db, sources, removeParts, enqueue }: RemoveSourceDeps) {
  const step = db.transaction('remove source, a step', (sourceId: number): boolean => {
    if (!removeParts.every((remove) => remove(sourceId, BATCH) < BATCH)) return false;
    sources.delete(sourceId);
    return true;
  });

  /** Safe to repeat: it goes on where it was. */
  async function run(job: Job, signal: AbortSignal): Promise<void> {
    const { sourceId } = job.payload as { sourceId: number };
    while (!overwritingDeleted(db, () => step(sourceId))) {
      await setImmediate();
      signal.throwIfAborted();
    }
  }

  return {
    /** In the caller's transaction: hides the source and removes a first part of it, which for most is all. */
    begin(sourceId: number): void {
      sources.hide(sourceId);
      if (!overwritingDeleted(db, () => step(sourceId))) enqueue(sourceId);
    },

    handler: { concurrency: 1, run } satisfies JobHandler,
  };
}
