import type { Db } from '../db/open-database.ts';

/**
 * In a database that was restored: jobs of the kinds that may run again do, as if no worker had begun them; the others
 * may have been done since the backup was made, and are discarded. Returns how many those are.
 */
export function settleRestoredJobs(db: Db, now: number, runAgain: readonly string[]): number {
  const discarded = db.prepare<[number, string]>('discard jobs that had run', `
    UPDATE jobs SET state = 'discarded', finished_at = ?, lease_token = NULL, lease_expires_at = NULL,
           last_error = 'the hub was restored from a backup'
     WHERE state IN ('queued', 'retrying', 'running') AND kind NOT IN (SELECT value FROM json_each(?))`)
    .run(now, JSON.stringify(runAgain));
  db.prepare<[number]>('give back running jobs', `
    UPDATE jobs SET state = 'queued', lease_token = NULL, lease_expires_at = NULL, run_at = MIN(run_at, ?)
     WHERE state = 'running'`).run(now);
  db.exec('DELETE FROM heartbeats');
  return discarded.changes;
}
