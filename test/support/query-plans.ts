import type { Db } from '../../src/platform/db/open-database.ts';

/** How SQLite would find the rows that `read` asks the database for; it gets none. */
export function plansOf(db: Db, read: (db: Db) => unknown): string {
  const steps: string[] = [];
  const prepare: Db['prepare'] = (name, sql) => ({
    ...db.prepare(name, sql),
    all: (...params) => {
      const plan = db.prepare<unknown[], { detail: string }>('plan', `EXPLAIN QUERY PLAN ${sql}`).all(...params);
      steps.push(...plan.map(({ detail }) => detail));
      return [];
    },
  });
  read({ ...db, prepare });
  return steps.join('; ');
}
