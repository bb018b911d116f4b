import type { Db } from '../../src/platform/db/open-database.ts';

/** A table in which jobs of any process leave their ids, and one of the lanes at work, in which no two can be alike. */
export function jobEffects(db: Db) {
  db.exec(`CREATE TABLE IF NOT EXISTS effects (job_id INTEGER NOT NULL, content BLOB) STRICT;
    CREATE TABLE IF NOT EXISTS occupied (lane TEXT PRIMARY KEY) STRICT`);
  const insert = db.prepare<[number, number]>('insert effect', 'INSERT INTO effects (job_id, content) VALUES (?, zeroblob(?))');
  const select = db.prepare<[], { id: number }>('effects', 'SELECT job_id AS id FROM effects');
  const occupy = db.prepare<[string | null]>('occupy lane', 'INSERT INTO occupied (lane) VALUES (?)');
  const leave = db.prepare<[string | null]>('leave lane', 'DELETE FROM occupied WHERE lane = ?');
  return {
    /** Leaves an id, with so many bytes. */
    leave: (id: number, bytes = 0): void => void insert.run(id, bytes),
    ids: (): number[] => select.all().map(({ id }) => id),
    enterLane: (lane: string | null): void => void occupy.run(lane),
    quitLane: (lane: string | null): void => void leave.run(lane),
  };
}
