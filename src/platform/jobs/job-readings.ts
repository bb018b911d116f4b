import { SECOND, type Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';

export type JobReadings = ReturnType<typeof createJobReadings>;

/** `total` is null if it is unknown. */
export type JobProgress = { done: number; total: number | null };

/** Figures of the queue for health, metrics and the worker. Each costs the same however large the table is. */
export function createJobReadings(db: Db, clock: Clock) {
  const failed = db.prepare<[string], { value: number }>('failed jobs', `
    SELECT value FROM counts WHERE metric = 'jobs' AND label = ? || ',failed'`);
  const firstFailed = db.prepare<[], { at: number }>('job that failed first', `
    SELECT finished_at AS at FROM jobs INDEXED BY jobs_failed_at
     WHERE state = 'failed' AND finished_at > 0 ORDER BY finished_at LIMIT 1`);
  const underWay = db.prepare<[string, string, number], { id: number }>('job under way', `
    SELECT id FROM jobs WHERE kind = ? AND dedupe_key = ? AND state IN ('queued', 'retrying', 'running')
       AND (state = 'running' OR run_at <= ?)`);
  const live = db.prepare<[string, string], { id: number }>('live job', `
    SELECT id FROM jobs WHERE kind = ? AND dedupe_key = ? AND state IN ('queued', 'retrying', 'running')`);
  const progress = db.prepare<[string, string], JobProgress>('progress of job', `
    SELECT progress AS done, progress_total AS total FROM jobs WHERE kind = ? AND dedupe_key = ?
       AND state IN ('queued', 'retrying', 'running') AND progress IS NOT NULL`);
  const leaseEnd = db.prepare<[number, string], { at: number }>('end of lease', `
    SELECT lease_expires_at AS at FROM jobs WHERE id = ? AND lease_token = ?`);
  const firstDue = db.prepare<[string, number], { at: number }>('first due job', `
    SELECT run_at AS at FROM jobs WHERE kind = ? AND state IN ('queued', 'retrying') AND run_at > ?
     ORDER BY run_at LIMIT 1`);
  const firstLeaseEnd = db.prepare<[string, number], { at: number }>('first end of a lease', `
    SELECT lease_expires_at AS at FROM jobs WHERE kind = ? AND state = 'running' AND lease_expires_at > ?
     ORDER BY lease_expires_at LIMIT 1`);

  return {
    /** Jobs of the kind that used up their attempts and that nobody has retried, discarded or settled. */
    failedCount: (kind: string): number => failed.get(kind)?.value ?? 0,
    /** When the first of the failed jobs failed, unix ms; null if there is none. */
    failedSince: (): number | null => firstFailed.get()?.at ?? null,
    /** Whether a job with that kind and key runs, or is about to. */
    isUnderWay: (kind: string, dedupeKey: string): boolean => underWay.get(kind, dedupeKey, clock()) !== undefined,
    /** Whether a job with that kind and key waits or runs. */
    isLive: (kind: string, dedupeKey: string): boolean => live.get(kind, dedupeKey) !== undefined,
    /** Progress of the live job with that kind and key; undefined if there is none or it reports none. */
    progressOf: (kind: string, dedupeKey: string): JobProgress | undefined => progress.get(kind, dedupeKey),
    /** When the lease of a claimed job ends, unix ms; null when it was lost. */
    leaseEnd: ({ id, leaseToken }: { id: number; leaseToken: string }): number | null =>
      leaseEnd.get(id, leaseToken)?.at ?? null,

    /** How long the oldest due job of the kind has waited; 0 if none is due. */
    oldestDueSeconds(kind: string): number {
      const first = firstDue.get(kind, -1);
      return first ? Math.max(0, (clock() - first.at) / SECOND) : 0;
    },

    /** The first moment later than `after` at which a job falls due or a lease ends; null when there is none. */
    nextDueAt(kinds: string[], after = -1): number | null {
      const moments = kinds.flatMap((kind) => [firstDue.get(kind, after), firstLeaseEnd.get(kind, after)]);
      const times = moments.flatMap((moment) => (moment ? [moment.at] : []));
      return times.length > 0 ? Math.min(...times) : null;
    },
  };
}
