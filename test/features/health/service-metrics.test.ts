// Protects the metrics of the hub: complete, sound to promtool, and read without counting rows.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readHealth } from '../../../src/features/health/read-health.ts';
import { readStorageSizes } from '../../../src/features/backups/storage-space.ts';
import { sqliteVersion, type Db } from '../../../src/platform/db/open-database.ts';
import { renderOpenMetrics, renderPrometheus } from '../../../src/platform/metrics/exposition.ts';
import { createCounters } from '../../../src/platform/metrics/counters.ts';
import { SERVICE_METRICS } from '../../../src/features/health/metrics.ts';
import { addJob } from '../../support/stored-jobs.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import type { MigratedDatabase } from '../../support/migrated-database.ts';
import { addMany, addSource, handleOf, measuredHub, NOW, parseSeries, serviceFamilies } from '../../support/service-series.ts';
import { requireTool } from '../../support/tools.ts';

/** The series of a metric whose labels have known values. */
function seriesOf({ name, labels = {} }: (typeof SERVICE_METRICS)[number]): string[] {
  let series: string[][] = [[]];
  for (const [label, values] of Object.entries<string | readonly string[]>(labels)) {
    const known = typeof values === 'string' ? [] : values;
    series = series.flatMap((others) => known.map((value) => [...others, `${label}="${value}"`]));
  }
  return series.map((parts) => (parts.length === 0 ? name : `${name}{${parts.join()}}`));
}

test('a fresh hub has every family and every known label value, with 0', (t) => {
  const { db, series } = measuredHub(t);
  const all = series();
  const known = SERVICE_METRICS.filter(({ type }) => type !== 'histogram').flatMap(seriesOf);

  assert.ok(known.length > 100, `${known.length} series`);
  const sizes = ['database_bytes', 'database_wal_bytes', 'data_free_bytes', 'attachment_cache_max_bytes']
    .map((name) => `service_${name}`);
  assert.deepEqual(known.filter((name) => all.get(name) !== 0).sort(), sizes.sort());
  for (const name of sizes) assert.ok((all.get(name) ?? 0) >= 1_024, name);
  const isOther = (name: string): boolean => !known.includes(name) && !name.startsWith('service_sync_duration_seconds');
  assert.deepEqual([...all.keys()].filter(isOther),
    [`service_build_info{version="1.2.3",node="${process.version}",sqlite="${sqliteVersion(db)}"}`]);
});

test('promtool finds nothing to say about a hub that is in use', (t) => {
  if (!requireTool(t, 'promtool')) return;
  const { db, families } = measuredHub(t);
  addSource(db);
  addJob({ db }, { runAt: NOW - 1_500 });
  createCounters(db).observe('sync_duration_seconds', 0.7);

  const input = renderPrometheus(families());
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' });
  assert.deepEqual([...parseSeries(renderOpenMetrics(families())).keys()], [...parseSeries(input).keys()]);
});

test('no statement of a scrape or a health check goes through posts, jobs or sources', (t) => {
  const measured = measuredHub(t);
  const { db } = measured;
  const fresh = planOf(db, statementsOfHealth(measured));
  addMany(db, 3_000);
  db.exec('ANALYZE');

  const allowed = [
    /^SCAN (counts|CONSTANT ROW)$/,
    /^SCAN sources USING INDEX sources_behind$/, // in the order that is asked for, and of one row
    /^SEARCH schema_migrations$/, // MAX of the primary key
    /^SEARCH \w+ USING .*\(\w+=\?( AND \w+[=>]\?)?\)$/,
  ];
  assert.ok(fresh.length >= 5);
  for (const step of [...fresh, ...planOf(db, statementsOfHealth(measured))]) {
    assert.ok(allowed.some((pattern) => pattern.test(step)), step);
  }
});

test('a scrape reads as few rows of the kept counts with many posts as with none', (t) => {
  const { db } = measuredHub(t);
  const source = addSource(db);
  addPosts({ db }, source, 1);
  const before = countRows({ db }, 'counts');

  addPosts({ db }, source, 4_999);

  assert.equal(countRows({ db }, 'counts'), before);
});

test('the oldest due job is the one that has waited longest, and future or finished ones do not wait', (t) => {
  const { db, series } = measuredHub(t);
  const waited = (): number | undefined => series().get('service_sync_oldest_due_seconds');
  addJob({ db }, { runAt: NOW + 60_000 });
  addJob({ db }, { state: 'failed', runAt: NOW - 900_000 });
  addJob({ db }, { kind: 'other', runAt: NOW - 900_000 });
  assert.equal(waited(), 0);

  addJob({ db }, { state: 'retrying', runAt: NOW - 30_000 });
  addJob({ db }, { runAt: NOW - 10_000 });

  assert.equal(waited(), 30);
});

test('the feed that is most behind counts from its last success, or from its creation', (t) => {
  const { db, series } = measuredHub(t);
  const behind = (): number | undefined => series().get('service_sync_oldest_success_seconds');
  addSource(db, { kind: 'native', createdAt: NOW - 900_000 });
  addSource(db, { state: 'paused', createdAt: NOW - 900_000 });
  assert.equal(behind(), 0);

  addSource(db, { createdAt: NOW - 800_000, lastSuccessAt: NOW - 20_000 });
  assert.equal(behind(), 20);

  addSource(db, { state: 'failing', createdAt: NOW - 50_000 });
  assert.equal(behind(), 50);
});

test('ages are never negative when a clock was set back', (t) => {
  const { db, series } = measuredHub(t);
  addSource(db);
  addJob({ db }, { runAt: NOW });

  const all = series(() => NOW - 3_600_000);

  assert.equal(all.get('service_sync_oldest_due_seconds'), 0);
  assert.equal(all.get('service_sync_oldest_success_seconds'), 0);
});

test('the write-ahead log counts as 0 bytes when there is none', (t) => {
  const { path } = measuredHub(t);
  const alone = join(path, '..', 'alone.db');
  writeFileSync(alone, 'x'.repeat(8192));

  const { databaseBytes, walBytes, freeBytes } = readStorageSizes(alone);

  assert.deepEqual([databaseBytes, walBytes], [8192, 0]);
  assert.ok(freeBytes > 0);
});

/** The statements that a scrape and a health check run. */
function statementsOfHealth({ db, path }: MigratedDatabase): string[] {
  const run = new Set<string>();
  const recording: Db = {
    ...db,
    prepare<Params extends unknown[], Row>(name: string, sql: string) {
      const statement = db.prepare<Params, Row>(name, sql);
      const recorded = <T>(work: () => T): T => {
        run.add(sql);
        return work();
      };
      return {
        get: (...params: Params) => recorded(() => statement.get(...params)),
        all: (...params: Params) => recorded(() => statement.all(...params)),
        first: (limit: number, passes: (row: Row) => boolean, ...params: Params) => recorded(() => statement.first(limit, passes, ...params)),
        has: (...params: Params) => recorded(() => statement.has(...params)),
        count: (...params: Params) => recorded(() => statement.count(...params)),
        run: (...params: Params) => recorded(() => statement.run(...params)),
        change: (...params: Params) => recorded(() => statement.change(...params)),
      };
    },
  };
  const hub = handleOf(recording, path, () => NOW);
  serviceFamilies(hub);
  readHealth(hub);
  return [...run];
}

function planOf(db: Db, statements: readonly string[]): string[] {
  return statements.flatMap((sql) => {
    const parameters = [...sql.matchAll(/\?/g)].map(() => 'x');
    const explain = db.prepare<string[], { detail: string }>('explain', `EXPLAIN QUERY PLAN ${sql}`);
    return explain.all(...parameters).map(({ detail }) => detail);
  });
}
