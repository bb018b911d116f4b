import assert from 'node:assert/strict';
import { createCounters } from '../../src/platform/metrics/counters.ts';
import type { Stored } from './stored-rows.ts';

/** Sets a number that is kept as data changes. */
export function setCount({ db }: Stored, metric: string, value: number): void {
  const counters = createCounters(db);
  counters.add(metric, '', value - counters.value(metric));
}

/** How many clients or accounts have met that rate limit. */
export function countLimited({ db }: Stored, limit: string): number {
  return db.prepare<[string], { n: number }>('limited', 'SELECT COUNT(*) AS n FROM rate_limits WHERE key LIKE ?')
    .get(`${limit}:%`)?.n ?? NaN;
}

/** The kept counts of sources, jobs and public posts equal a real count. */
export function assertKeptCounts({ db }: Stored): void {
  for (const [metric, real] of [
    ['sources', `SELECT kind || ',' || state AS label, COUNT(*) AS value FROM sources GROUP BY 1`],
    ['jobs', `SELECT kind || ',' || state AS label, COUNT(*) AS value FROM jobs GROUP BY 1`],
    ['public_posts', `SELECT '' AS label, COUNT(*) AS value FROM posts WHERE is_public = 1`],
  ] as const) {
    const kept = db.prepare<[string], object>('kept',
      'SELECT label, value FROM counts WHERE metric = ? AND value <> 0 ORDER BY label').all(metric);
    assert.deepEqual(kept, db.prepare<[], object>('real', `${real} ORDER BY label`).all(), metric);
  }
}
