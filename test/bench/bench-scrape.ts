import { join } from 'node:path';
import { metricFamilies, readMetrics } from '../../src/features/health/metrics.ts';
import { httpMetrics, processMetrics } from '../../src/features/hub/hub.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import { renderPrometheus } from '../../src/platform/metrics/exposition.ts';
import { handleOf } from '../support/service-series.ts';
import { benchFolder, newHub } from './bench-hub.ts';
import { alternate, lessRow, limitRow, type BenchRow } from './bench-row.ts';

type HubSize = { posts: number; sources: number; jobs: number };

type Hub = Disposable & { db: Db; scrape(): string };

const LARGE: HubSize = { posts: 1_000_000, sources: 10_000, jobs: 100_000 };
const EMPTY: HubSize = { posts: 0, sources: 0, jobs: 0 };
const POSTS_EACH_TRANSACTION = 100_000;
const ROUNDS = 301;
const WARM_UP_ROUNDS = 200; // until both have been compiled
const LIMIT_MS = 5;

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
  using folder = benchFolder('scrape');
  using empty = openHub(join(folder.path, 'empty.db'), EMPTY);
  using large = openHub(join(folder.path, 'large.db'), size);
  const scrapes = [large.scrape, empty.scrape].map((scrape) => () => timed(scrape));
  const [ours = NaN, peerFigure = NaN] = await alternate(scrapes, ROUNDS, WARM_UP_ROUNDS);
  const count = countRows(large.db);
  const [counting = NaN] = await alternate([() => timed(count)], 5, 0);
  const name = `scrape with ${size.posts.toLocaleString('en')} posts`;
  return [
    lessRow({ name, ours, peer: 'scrape of an empty hub', peerFigure, unit: 'ms', want: '>= 0.67' }),
    limitRow(name, ours, LIMIT_MS, 'ms'),
    lessRow({ name, ours, peer: 'COUNT(*) at each scrape', peerFigure: counting, unit: 'ms', want: '>= 10' }),
  ];
}

function openHub(path: string, size: HubSize): Hub {
  const db = newHub(path);
  fill(db, size);
  const hub = handleOf(db, path, Date.now);
  const http = httpMetrics(hub);
  for (let route = 0; route < 60; route++) http.observe('GET', `/things-${route}/:id`, 200, 0.001);
  const scrape = (): string => renderPrometheus(metricFamilies(readMetrics(hub)));
  const close = (): void => {
    processMetrics(hub).close();
    db.close();
  };
  return { db, scrape, [Symbol.dispose]: close };
}

function fill(db: Db, { posts, sources, jobs }: HubSize): void {
  const numbers = (from: number, to: number): string =>
    `WITH RECURSIVE n (i) AS (SELECT ${from} WHERE ${to} >= ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})`;
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

function timed(work: () => void): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}
