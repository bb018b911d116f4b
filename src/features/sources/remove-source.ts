import { overwritingDeleted, type Db } from '../../platform/db/open-database.ts';
import type { PacedWrites } from '../../platform/db/paced-writes.ts';
import type { Job } from '../../platform/jobs/job-queue.ts';
import type { JobHandler } from '../../platform/jobs/worker.ts';
import type { SourceStore } from './source-store.ts';

export const REMOVE_SOURCE = 'remove-source';

/** A very large source takes longer than one lease, and what one try has removed is gone. */
export const REMOVE_ATTEMPTS = 1_000;

/** Rows of a kind that are removed at once: with an ordinary source all of it. */
const BATCH = 100;

export type RemoveSourceDeps = {
  db: Db;
  paced: PacedWrites;
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
export function removingSources({ db, paced, sources, removeParts, enqueue }: RemoveSourceDeps) {
  /**
   * Removes up to `limit` rows of each kind, and in the end the source. Whether that is done. A savepoint of its own:
   * what the search index frees is overwritten only where it is written before `secure_delete` ends.
   */
  const step = db.transaction('remove source, a step', (sourceId: number, limit: number): boolean => {
    if (!sources.isHidden(sourceId)) return true;
    if (!removeParts.every((remove) => remove(sourceId, limit) < limit)) return false;
    sources.delete(sourceId);
    return true;
  });

  /** Safe to repeat: it goes on where it was. */
  async function run(job: Job, signal: AbortSignal): Promise<void> {
    const { sourceId } = job.payload as { sourceId: number };
    const some = (limit: number): number => overwritingDeleted(db, () => step(sourceId, limit)) ? 0 : limit;
    await paced('remove source, some steps', some, () => signal.aborted);
    signal.throwIfAborted();
  }

  return {
    /** In the caller's transaction: hides the source and removes a first part of it, which for most is all. */
    begin(sourceId: number): void {
      sources.hide(sourceId);
      if (!overwritingDeleted(db, () => step(sourceId, BATCH))) enqueue(sourceId);
    },

    handler: { concurrency: 1, run } satisfies JobHandler,
  };
}
