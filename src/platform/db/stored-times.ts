import type { Clock } from '../clock.ts';
import type { Db } from './open-database.ts';

/** A column of times (unix ms) that are never set further ahead than `furthest` ms; `where`: in these rows alone. */
export type StoredTime = { table: string; column: string; furthest: number; where?: string };

/**
 * What a clock that was ahead has stored lies too far off once the clock is set right, and whatever waits for it would
 * wait as long as the clock was wrong. The function that is returned sets such times to now.
 */
export function createTimeRepair(db: Db, clock: Clock, times: StoredTime[]): () => void {
  const repairs = times.map((time) => prepareRepair(db, time));
  return () => {
    const now = clock();
    for (const { furthest, strayed, bringBack } of repairs) {
      const latest = now + furthest;
      if (strayed.get(latest)) bringBack.run(now, latest); // asks for the write lock only where there is need
    }
  };
}

function prepareRepair(db: Db, { table, column, furthest, where = 'TRUE' }: StoredTime) {
  return {
    furthest,
    strayed: db.prepare<[number], object>(`strayed ${column}`, `
      SELECT 1 FROM ${table} WHERE ${column} > ? AND ${where} LIMIT 1`),
    bringBack: db.prepare<[number, number]>(`bring back ${column}`, `
      UPDATE ${table} SET ${column} = ? WHERE ${column} > ? AND ${where}`),
  };
}
