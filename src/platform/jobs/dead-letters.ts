import type { Clock } from '../clock.ts';
import type { Db } from '../db/open-database.ts';
import type { JobColumns } from './take-turns.ts';

/** The number of dead-lettered jobs kept per job kind and dedupe key. */
const KEPT = 10;

/** Returns a function that discards all but the newest KEPT dead letters of the kind and dedupe key of a job. */
export function createDeadLetterTrim(db: Db, clock: Clock): (job: Pick<JobColumns, 'kind' | 'dedupeKey'>) => void {
  const discard = db.prepare<[number, string, string | null, number]>('discard oldest dead letters', `
    UPDATE jobs SET state = 'discarded', finished_at = ? WHERE id IN
      (SELECT id FROM jobs WHERE kind = ? AND dedupe_key = ? AND state = 'failed'
        ORDER BY id DESC LIMIT 100 OFFSET ?)`);
  return ({ kind, dedupeKey }) => void discard.run(clock(), kind, dedupeKey, KEPT);
}
