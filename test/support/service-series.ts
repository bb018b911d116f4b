import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { takeSnapshot } from '../../src/features/health/condition.ts';
import { SERVICE_METRICS } from '../../src/features/health/metrics.ts';
import { createDisk } from '../../src/features/hub/disk-space.ts';
import type { Hub } from '../../src/features/hub/hub.ts';
import type { Clock } from '../../src/platform/clock.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import { familiesFrom, type Family, renderPrometheus } from '../../src/platform/metrics/exposition.ts';
import { migratedDatabase, type MigratedDatabase } from './migrated-database.ts';

export const NOW = Date.UTC(2026, 0, 15);
const VERSION = '1.2.3';

type MeasuredHub = MigratedDatabase & {
  families(clock?: Clock): Family[];
  series(clock?: Clock): Map<string, number>;
};

/** A database with one account, and what a scrape says of it. */
export function measuredHub(t: TestContext): MeasuredHub {
  const { db, path, connect } = migratedDatabase(t);
  db.exec(`INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
    VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0)`);
  const families = (clock: Clock = () => NOW): Family[] =>
    serviceFamilies(handleOf(db, path, clock));
  return { db, path, connect, families, series: (clock) => parseSeries(renderPrometheus(families(clock))) };
}

/** What a scrape says of the hub itself, without the process and its answers. */
export function serviceFamilies(hub: Hub): Family[] {
  return familiesFrom(SERVICE_METRICS)(takeSnapshot(hub));
}

/** As much of a hub as health and metrics read: that database, and no backups. */
export function handleOf(db: Db, path: string, clock: Clock, settings: Partial<Hub['config']> = {}): Hub {
  const dataDir = dirname(path);
  const config = {
    version: VERSION, databasePath: path, dataDir, backupDir: join(dataDir, 'backups'), attachmentCacheMaxBytes: 1024,
  };
  const disk = createDisk(db, { ...config, diskReserveBytes: null }, () => 0);
  return { db, clock, random: Math.random, config: { ...config, ...settings }, disk } as Hub;
}

/** Name and labels of each sample, with its value. */
export function parseSeries(text: string): Map<string, number> {
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(samples.map((line): [string, number] => {
    const end = line.lastIndexOf(' ');
    return [line.slice(0, end), Number(line.slice(end + 1))];
  }));
}

type SourceFields = { kind?: string; state?: string; createdAt?: number; lastSuccessAt?: number | null };

export function addSource(db: Db, fields: SourceFields = {}): number {
  const { kind = 'feed', state = 'active', createdAt = NOW, lastSuccessAt = null } = fields;
  return db.prepare<[string, string, number | null, number, number]>('add a source', `
    INSERT INTO sources (owner_id, kind, title, state, last_success_at, created_at, updated_at)
    VALUES (1, ?, 'A source', ?, ?, ?, ?)`).run(kind, state, lastSuccessAt, createdAt, createdAt)
    .lastInsertRowid;
}

/** Feeds, public posts and due jobs, so many of each. */
export function addMany(db: Db, count: number): void {
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO sources (owner_id, kind, title, created_at, updated_at) SELECT 1, 'feed', i, i, i FROM n;
    INSERT INTO posts (source_id, owner_id, guid, is_public, title, content_html, summary, content_hash, published_at,
    updated_at, created_at) SELECT id, 1, id, 1, '', '', '', '', id, id, id FROM sources;
    INSERT INTO jobs (kind, payload, state, run_at, max_attempts, created_at)
    SELECT 'sync-source', '{}', CASE id % 2 WHEN 0 THEN 'queued' ELSE 'retrying' END, id, 5, id FROM sources`);
}
