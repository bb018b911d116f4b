import type { Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import type { JobColumns } from './take-turns.ts';

/** Dead-lettered jobs kept for each kind and key, even of a source that fails for years. */
const KEPT = 10;

/** A function that discards the oldest dead letters beyond KEPT of a job's key, in the caller's transaction. */
export function createDeadLetterTrim(db: Db, clock: Clock): (job: Pick<JobColumns, 'kind' | 'dedupeKey'>) => void {
  const discard = db.prepare<[number, string, string | null, number]>('discard oldest dead letters', `
    UPDATE jobs SET state = 'discarded', finished_at = ? WHERE id IN
      (SELECT id FROM jobs WHERE kind = ? AND dedupe_key = ? AND state = 'failed'
        ORDER BY id DESC LIMIT 100 OFFSET ?)`);
  return ({ kind, dedupeKey }) => void discard.run(clock(), kind, dedupeKey, KEPT);
}
