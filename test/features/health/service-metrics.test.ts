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
import { LIMITS } from '../../../src/features/hub/limits.ts';
import { addJob } from '../../support/stored-jobs.ts';
import { addPosts } from '../../support/stored-posts.ts';
import { countRows } from '../../support/stored-rows.ts';
import type { MigratedDatabase } from '../../support/migrated-database.ts';
import { addMany, addSource, handleOf, measuredHub, NOW, parseSeries, serviceFamilies } from '../../support/service-series.ts';
import { requireTool } from '../../support/tools.ts';

test('a fresh hub has every family and every known label value, with 0', (t) => {
  const { db, series } = measuredHub(t);
  const byLabel: [string, string, string[]][] = [
    ['posts_ingested_total', 'kind', ['feed', 'webhook', 'native']],
    ['sync_jobs', 'state', ['queued', 'running', 'retrying', 'failed']],
    ['sync_runs_total', 'result', ['changed', 'unchanged', 'error']],
    ['webhooks', 'state', ['active', 'silent', 'disabled']],
    ['webhook_events_total', 'result', ['accepted', 'duplicate', 'rejected']],
    ['attachment_cache_requests_total', 'result', ['hit', 'miss', 'error']],
    ['list_pictures_total', 'result', ['kept', 'too-large', 'failed', 'over-budget']],
    ['rules_applied_total', 'act', ['mute', 'read', 'star', 'notify']],
    ['full_texts_total', 'result', ['ready', 'refused', 'failed']],
    ['attachment_scans_total', 'result', ['clean', 'infected', 'unavailable']],
    ['alert_deliveries', 'state', ['pending', 'delivered', 'failed']],
    ['backup_last_run_failed', 'run', ['backup', 'verify', 'offsite-dir', 'offsite-rclone', 'offsite-restic']],
    ['backup_offsite_last_success_timestamp_seconds', 'destination', ['dir', 'rclone', 'restic']],
    ['backup_offsite_last_bytes', 'destination', ['dir', 'rclone', 'restic']],
    ['backup_offsite_last_duration_seconds', 'destination', ['dir', 'rclone', 'restic']],
    ['backup_offsite_oldest_unsent_timestamp_seconds', 'destination', ['dir', 'rclone', 'restic']],
    ['backup_last_proven_restore_timestamp_seconds', 'destination', ['dir', 'rclone', 'restic']],
    ['backup_drill_interval_seconds', 'destination', ['dir', 'rclone', 'restic']],
    ['error_events_total', 'process', ['web', 'worker']],
    ['limits_refused_total', 'limit', Object.keys(LIMITS)],
  ];
  const alone = [
    'public_posts', 'sync_oldest_due_seconds', 'sync_oldest_success_seconds', 'attachment_cache_files',
    'attachment_cache_bytes', 'full_text_bytes', 'worker_last_seen_timestamp_seconds', 'backup_last_success_timestamp_seconds',
    'backup_last_verified_timestamp_seconds', 'backup_oldest_verification_timestamp_seconds', 'uploads_bytes',
    'backup_interim_last_success_timestamp_seconds', 'backup_interim_last_run_failed',
    'backup_restic_last_check_timestamp_seconds',
  ];
  const sources = ['feed', 'webhook', 'native'].flatMap((kind) => ['active', 'failing', 'paused'].map((state) =>
    `service_sources{kind="${kind}",state="${state}"}`));
  const labelled = byLabel.flatMap(([name, label, values]) =>
    values.map((value) => `service_${name}{${label}="${value}"}`));
  const zeros = [...sources, ...labelled, ...alone.map((name) => `service_${name}`)];

  const all = series();
  for (const name of zeros) assert.equal(all.get(name), 0, name);
  const isOther = (name: string): boolean => !zeros.includes(name) && !name.startsWith('service_sync_duration_seconds');
  assert.deepEqual([...all.keys()].filter(isOther).sort(), [
    'service_attachment_cache_max_bytes',
    `service_build_info{version="1.2.3",node="${process.version}",sqlite="${sqliteVersion(db)}"}`,
    'service_data_free_bytes', 'service_database_bytes', 'service_database_wal_bytes',
  ]);
  assert.equal(all.get('service_attachment_cache_max_bytes'), 1024);
  for (const name of ['database_bytes', 'database_wal_bytes', 'data_free_bytes']) {
    assert.ok((all.get(`service_${name}`) ?? 0) >= 4096, name);
  }
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
