// Protects counts that triggers keep, which must equal a real count after any change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Random } from '../../../src/platform/clock.ts';
import type { Db } from '../../../src/platform/db/open-database.ts';
import { createCounters } from '../../../src/platform/metrics/counters.ts';
import { measuredHub } from '../../support/service-series.ts';
import { seeded } from '../../support/random.ts';

test('the counts of sources, public posts and jobs that triggers keep equal a real count after thousands of random changes', (t) => {
  const { db, series } = measuredHub(t);
  const random = seeded(20_260_115);
  const change = randomChanges(db, random);

  for (let batch = 0; batch < 12; batch++) {
    const work = db.transaction('random changes', () => {
      for (let index = 0; index < 250; index++) change();
      if (random() < 0.25) throw new RollBack();
    });
    try {
      work();
    } catch (error) {
      if (!(error instanceof RollBack)) throw error;
    }
    assertCountsAreTrue(db, series());
  }

  const some = (name: string): boolean => [...series()].some(([key, value]) => key.startsWith(name) && value > 0);
  for (const name of ['service_sources', 'service_public_posts', 'service_sync_jobs']) assert.ok(some(name), name);
});

test('a histogram kept by one process is read by another, and a rolled-back observation leaves no trace', (t) => {
  const { db, connect, series } = measuredHub(t);
  const worker = connect();
  const kept = createCounters(worker);

  worker.transaction('sync', () => {
    kept.observe('sync_duration_seconds', 0.05);
    kept.observe('sync_duration_seconds', 0.2);
    kept.observe('sync_duration_seconds', 3_600);
    kept.add('sync_runs_total', 'changed', 3);
  })();
  assert.throws(worker.transaction('sync', () => {
    kept.observe('sync_duration_seconds', 1);
    kept.add('sync_runs_total', 'error', 1);
    throw new RollBack();
  }), RollBack);

  const all = series();
  const bucket = (bound: string): number | undefined => all.get(`service_sync_duration_seconds_bucket{le="${bound}"}`);
  assert.deepEqual(['0.05', '0.1', '0.25', '60.0', '+Inf'].map(bucket), [1, 1, 2, 2, 3]);
  assert.equal(all.get('service_sync_duration_seconds_sum'), 3_600.25);
  assert.equal(all.get('service_sync_duration_seconds_count'), 3);
  assert.equal(all.get('service_sync_runs_total{result="changed"}'), 3);
  assert.equal(all.get('service_sync_runs_total{result="error"}'), 0);
  assert.equal(db.inTransaction, false);
});

class RollBack extends Error {}

/** One of everything that SQL can do to the counted tables, chosen by chance. */
function randomChanges(db: Db, random: Random): () => void {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const anySource = '(SELECT id FROM sources ORDER BY id LIMIT 1 OFFSET $r % max(1, (SELECT COUNT(*) FROM sources)))';
  const sourceIn = (sql: string): string => sql.replace('$source', anySource);
  const run = (sql: string): void => db.exec(sql.replaceAll('$r', String(Math.floor(random() * 1e9))));
  const kind = (): string => pick(['feed', 'webhook', 'native']);
  const state = (): string => pick(['active', 'failing', 'paused']);
  const bit = (): number => pick([0, 1]);
  const jobState = (): string => {
    const name = pick(['queued', 'running', 'retrying', 'failed', 'done', 'discarded']);
    return name === 'running' ? `'running', 'token', 1` : `'${name}', NULL, NULL`;
  };
  const post = (conflict: string): string => sourceIn(`
    INSERT INTO posts (source_id, owner_id, guid, is_public, title, content_html, summary, content_hash, published_at, updated_at,
      created_at) SELECT $source, 1, $r % 40, ${bit()}, '', '', '', '', 0, 0, 0 WHERE EXISTS (SELECT 1 FROM sources)
    ON CONFLICT (source_id, guid) DO ${conflict}`);
  const changes = [
    () => run(`INSERT INTO sources (owner_id, kind, title, state, created_at, updated_at)
      VALUES (1, '${kind()}', '', '${state()}', 0, 0)`),
    () => run(sourceIn(`UPDATE sources SET state = '${state()}', title = title || 'x' WHERE id = $source`)),
    () => run(`UPDATE sources SET state = '${state()}' WHERE id % 7 = $r % 7`),
    () => random() < 0.2 && run(sourceIn('DELETE FROM sources WHERE id = $source')),
    () => run(post('NOTHING')),
    () => run(post('UPDATE SET is_public = excluded.is_public, title = excluded.guid')),
    () => run(post('UPDATE SET title = excluded.guid')),
    () => run(sourceIn(`UPDATE posts SET is_public = ${bit()} WHERE source_id = $source`)),
    () => run('DELETE FROM posts WHERE id % 31 = $r % 31'),
    () => run(`INSERT INTO jobs (kind, payload, state, lease_token, lease_expires_at, run_at, max_attempts, created_at)
      VALUES ('${pick(['sync-source', 'clean-up'])}', '{}', ${jobState()}, 0, 5, 0)`),
    () => run(`UPDATE jobs SET (state, lease_token, lease_expires_at) = (${jobState()}) WHERE id % 5 = $r % 5`),
    () => run('DELETE FROM jobs WHERE id % 13 = $r % 13'),
  ];
  return () => void pick(changes)();
}

function assertCountsAreTrue(db: Db, series: Map<string, number>): void {
  const rows = (sql: string) => db.prepare<[], { key: string; count: number }>('count', sql).all();
  const truth = [
    ...rows(`SELECT 'service_sources{kind="' || kind || '",state="' || state || '"}' AS key, COUNT(*) AS count
      FROM sources GROUP BY 1`),
    ...rows(`SELECT 'service_sync_jobs{state="' || state || '"}' AS key, COUNT(*) AS count
      FROM jobs WHERE kind = 'sync-source' AND state NOT IN ('done', 'discarded') GROUP BY 1`),
    ...rows(`SELECT 'service_public_posts' AS key, COUNT(*) AS count FROM posts WHERE is_public = 1 HAVING count > 0`),
  ];
  const counted = /^service_(sources|sync_jobs|public_posts)/;
  const said = [...series].filter(([key, value]) => counted.test(key) && value !== 0);
  assert.deepEqual(said.sort(), truth.map(({ key, count }): [string, number] => [key, count]).sort());
}
