import type { Db } from '../../src/platform/db/open-database.ts';

/** How SQLite finds what `read` asks the database for: the steps of every statement whose rows it takes. */
export function plansOf(db: Db, read: (db: Db) => unknown): string {
  const steps: string[] = [];
  const prepare: Db['prepare'] = (name, sql) => {
    const statement = db.prepare(name, sql);
    return { ...statement, all: (...params) => {
      const plan = db.prepare<unknown[], { detail: string }>('plan', `EXPLAIN QUERY PLAN ${sql}`).all(...params);
      steps.push(...plan.map(({ detail }) => detail));
      return statement.all(...params) as never[];
    } };
  };
  read({ ...db, prepare });
  return steps.join('; ');
}
