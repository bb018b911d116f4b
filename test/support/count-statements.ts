import Database from 'better-sqlite3';
import type { TestContext } from 'node:test';

/** Runs `work`, and returns how many SQL statements this process has run for it; fails after `most` statements. */
export function statementCounter(t: TestContext, most: number): (work: () => Promise<unknown>) => Promise<number> {
  let count = 0;
  const db = new Database(':memory:');
  const prototype = Object.getPrototypeOf(db.prepare('PRAGMA user_version')) as Database.Statement;
  db.close();
  for (const name of ['get', 'all', 'run', 'iterate'] as const) {
    const real = prototype[name] as (...params: unknown[]) => unknown;
    t.mock.method(prototype, name, function counted(this: Database.Statement, ...params: unknown[]): unknown {
      if (++count > most) throw new Error(`more than ${most} statements`);
      return real.apply(this, params);
    });
  }
  return async (work) => {
    count = 0;
    await work();
    return count;
  };
}
