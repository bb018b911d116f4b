import type { TestContext } from 'node:test';
import { createHealthStore } from '../../src/features/health/health-store.ts';
import { serviceFamilies } from '../../src/features/health/service-families.ts';
import { readStorageSizes } from '../../src/features/health/storage-sizes.ts';
import type { Clock } from '../../src/platform/clock.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import { renderPrometheus, type Family } from '../../src/platform/metrics/exposition.ts';
import { migratedDatabase, type MigratedDatabase } from './migrated-database.ts';

export const NOW = Date.UTC(2026, 0, 15);
const BUILD = { version: '1.2.3', node: 'v24.7.0', sqlite: '3.54.0' };

export type MeasuredHub = MigratedDatabase & {
  families(clock?: Clock): Family[];
  series(clock?: Clock): Map<string, number>;
};

export const NO_BACKUPS = { lastSuccessAt: null, lastVerifiedAt: null, lastBackupFailed: false, lastVerifyFailed: false };

/** A database with one account, and what a scrape says of it. */
export function measuredHub(t: TestContext): MeasuredHub {
  const { db, path, connect } = migratedDatabase(t);
  db.exec(`INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
    VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0)`);
  const families = (clock: Clock = () => NOW): Family[] =>
    serviceFamilies(BUILD, createHealthStore(db, clock).readService(), readStorageSizes(path), 1024, NO_BACKUPS);
  return { db, path, connect, families, series: (clock) => parseSeries(renderPrometheus(families(clock))) };
}

/** Name and labels of each sample, with its value. */
export function parseSeries(text: string): Map<string, number> {
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(samples.map((line): [string, number] => {
    const end = line.lastIndexOf(' ');
    return [line.slice(0, end), Number(line.slice(end + 1))];
  }));
}

export type SourceFields = { kind?: string; state?: string; createdAt?: number; lastSuccessAt?: number | null };

export function addSource(db: Db, fields: SourceFields = {}): number {
  const { kind = 'feed', state = 'active', createdAt = NOW, lastSuccessAt = null } = fields;
  return db.prepare<[string, string, number | null, number, number]>('add a source', `
    INSERT INTO sources (owner_id, kind, title, state, last_success_at, created_at, updated_at)
    VALUES (1, ?, 'A source', ?, ?, ?, ?)`).run(kind, state, lastSuccessAt, createdAt, createdAt)
    .lastInsertRowid;
}

export function addJob(db: Db, { kind = 'sync-source', state = 'queued', runAt = NOW } = {}): void {
  db.prepare<[string, string, number]>('add a job', `
    INSERT INTO jobs (kind, payload, state, run_at, max_attempts, created_at) VALUES (?, '{}', ?, ?, 5, 0)`)
    .run(kind, state, runAt);
}
