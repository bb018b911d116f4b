import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';
import { COMMAND_LINE, type RecordAct } from '../audit/audit.ts';

/** What was changed in a database that comes back from a backup. */
export type Settled = { sessions: number; jobs: number };

export type RestoredStoreDeps = {
  db: Db;
  clock: Clock;
  /** Kinds of jobs that may be done twice. The others had their chance after the backup was made. */
  repeatable: readonly string[];
  recordAct: RecordAct;
};

/** Makes a database of another day fit for this one. */
export function createRestoredStore({ db, clock, repeatable, recordAct }: RestoredStoreDeps) {
  const endSessions = db.prepare<[]>('end sessions', 'DELETE FROM sessions');
  const discardJobs = db.prepare<[number, string]>('discard jobs that had run', `
    UPDATE jobs SET state = 'discarded', finished_at = ?, lease_token = NULL, lease_expires_at = NULL,
           last_error = 'the hub was restored from a backup'
     WHERE state IN ('queued', 'retrying', 'running') AND kind NOT IN (SELECT value FROM json_each(?))`);
  const freeJobs = db.prepare<[number]>('give back running jobs', `
    UPDATE jobs SET state = 'queued', lease_token = NULL, lease_expires_at = NULL, run_at = MIN(run_at, ?)
     WHERE state = 'running'`);
  const forgetWorker = db.prepare<[]>('forget heartbeats', 'DELETE FROM heartbeats');

  return {
    /** Ends all sessions, discards jobs that may have been done since, and records the restore. */
    settle: db.transaction('settle restored database', (backup: string): Settled => {
      const now = clock();
      const sessions = endSessions.run().changes;
      const jobs = discardJobs.run(now, JSON.stringify(repeatable)).changes;
      freeJobs.run(now);
      forgetWorker.run();
      recordAct('backup.restored', COMMAND_LINE, { kind: 'backup', id: null, name: backup }, { sessions, jobs });
      return { sessions, jobs };
    }),
  };
}
