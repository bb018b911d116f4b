import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metricFamilies, readMetrics } from '../../src/features/health/metrics.ts';
import { httpMetrics, processMetrics } from '../../src/features/hub/hub.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { readMigrations } from '../../src/platform/db/migration-files.ts';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { renderPrometheus } from '../../src/platform/metrics/exposition.ts';
import { handleOf } from '../support/service-series.ts';
import type { BenchRow } from './bench-row.ts';

type HubSize = { posts: number; sources: number; jobs: number };

type Hub = { db: Db; scrape(): string; close(): void };

const LARGE: HubSize = { posts: 1_000_000, sources: 10_000, jobs: 100_000 };
const EMPTY: HubSize = { posts: 0, sources: 0, jobs: 0 };
const POSTS_EACH_TRANSACTION = 100_000;
const ROUNDS = 301;
const WARM_UP_ROUNDS = 200; // until both have been compiled
const LIMIT_MS = 5;
const MIGRATIONS = join(import.meta.dirname, '../../migrations');

/** What a hub that keeps no counts would ask at every scrape. */
const COUNT_ROWS = [
  'SELECT COUNT(*) AS n FROM posts WHERE is_public = 1',
  'SELECT COUNT(*) AS n FROM sources GROUP BY kind, state',
  `SELECT COUNT(*) AS n FROM jobs WHERE kind = 'sync-source' GROUP BY state`,
];

/**
 * A whole scrape in process (all families and the text), of a hub with much data beside one without any, beside the
 * limit of 5 ms, and beside counting rows as many programs do. The rounds alternate; the medians are compared.
 */
export async function benchScrape(size: HubSize = LARGE): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-scrape-'));
  const empty = openHub(join(folder, 'empty.db'), EMPTY);
  const large = openHub(join(folder, 'large.db'), size);
  try {
    medians([large.scrape, empty.scrape], WARM_UP_ROUNDS);
    const [ours = NaN, peerFigure = NaN] = medians([large.scrape, empty.scrape], ROUNDS);
    const [counting = NaN] = medians([countRows(large.db)], 5);
    const name = `scrape with ${size.posts.toLocaleString('en')} posts`;
    const row = { ours, unit: 'ms' };
    return [
      { ...row, name, peer: 'scrape of an empty hub', peerFigure, ratio: peerFigure / ours, want: '>= 0.67' },
      { ...row, name, peer: 'the limit', peerFigure: LIMIT_MS, ratio: LIMIT_MS / ours, want: '>= 1' },
      { ...row, name, peer: 'COUNT(*) at each scrape', peerFigure: counting, ratio: counting / ours, want: '>= 10' },
    ];
  } finally {
    empty.close();
    large.close();
    rmSync(folder, { recursive: true });
  }
}

function openHub(path: string, size: HubSize): Hub {
  const db = openDatabase(path);
  migrate(db, readMigrations(MIGRATIONS), Date.now);
  fill(db, size);
  const hub = handleOf(db, path, Date.now);
  const http = httpMetrics(hub);
  for (let route = 0; route < 60; route++) http.observe('GET', `/things-${route}/:id`, 200, 0.001);
  const scrape = (): string => renderPrometheus(metricFamilies(readMetrics(hub)));
  const close = (): void => {
    processMetrics(hub).close();
    db.close();
  };
  return { db, scrape, close };
}

function fill(db: Db, { posts, sources, jobs }: HubSize): void {
  const numbers = (from: number, to: number): string =>
    `WITH RECURSIVE n (i) AS (SELECT ${from} WHERE ${to} >= ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})`;
  db.exec(`INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
    VALUES (1, 'ada', 'Ada', 'admin', '', 0, 0)`);
  db.exec(`${numbers(1, sources)}
    INSERT INTO sources (id, owner_id, kind, title, last_success_at, created_at, updated_at)
    SELECT i, 1, 'feed', 'Source ' || i, i, i, i FROM n`);
  db.exec(`${numbers(1, jobs)}
    INSERT INTO jobs (kind, payload, state, run_at, max_attempts, created_at, finished_at)
    SELECT 'sync-source', '{}', 'done', i, 5, i, i FROM n`);
  for (let from = 1; from <= posts; from += POSTS_EACH_TRANSACTION) {
    const to = Math.min(posts, from + POSTS_EACH_TRANSACTION - 1);
    db.exec(`${numbers(from, to)}
      INSERT INTO posts (source_id, owner_id, guid, is_public, title, content_html, summary, content_hash, published_at,
        updated_at, created_at)
      SELECT 1 + i % ${sources}, 1, i, 1, 'Post', '<p>Text</p>', 'Text', '', i, i, i FROM n`);
  }
}

function countRows(db: Db): () => void {
  const statements = COUNT_ROWS.map((sql) => db.prepare<[], { n: number }>('count rows', sql));
  return () => {
    for (const statement of statements) statement.all();
  };
}

/** Milliseconds of each contender, which take turns. */
function medians(contenders: readonly (() => void)[], rounds: number): number[] {
  const times = contenders.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    contenders.forEach((contender, index) => times[index]?.push(timed(contender)));
  }
  return times.map((all) => all.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN);
}

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}
