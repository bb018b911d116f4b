import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { renderPage } from '../../src/app/frame/page-frame.ts';
import { hubOf, openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { accounts } from '../../src/features/accounts/account-store.ts';
import { showOverview } from '../../src/features/admin/overview-pages.ts';
import { metricFamilies, readMetrics } from '../../src/features/health/metrics.ts';
import { COARSE, FIGURES, FINE, history, type Figure, type Figures } from '../../src/features/history/history-store.ts';
import { beatOfWorker } from '../../src/features/history/record-history.ts';
import { openStores, processMetrics, type Hub } from '../../src/features/hub/hub.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { DAY, HOUR } from '../../src/platform/clock.ts';
import type { Page } from '../../src/platform/http/reply.ts';
import { DEFAULT_PREFERENCES } from '../../src/features/hub/preferences.ts';
import type { MemberRequest, Viewer } from '../../src/platform/http/router.ts';
import { createLog } from '../../src/platform/log.ts';
import { renderPrometheus } from '../../src/platform/metrics/exposition.ts';
import { hubEnvironment } from '../support/hub-process.ts';
import { makeUpHistory } from '../support/made-up-history.ts';
import { benchFolder } from './bench-hub.ts';
import { lessRow, limitRow, median, processorMsSince, type BenchRow } from './bench-row.ts';

const ROUNDS = 200;
const WARM_UP_ROUNDS = 100;
const PAGE_LIMIT = 10; // ms
const BUCKET_LIMIT = 1; // ms

/**
 * The overview with 60 days of history, as a whole page; a bucket of its history, written within a transaction that is
 * there anyway; and a scrape with and without history. Peers are the limits, and a table with a row for each figure.
 * Milliseconds of a processor, on which other work has less influence than on the clock.
 */
export async function benchOverview(): Promise<BenchRow[]> {
  using folder = benchFolder('overview');
  const [hub, empty] = [openHub(join(folder.path, 'old')), openHub(join(folder.path, 'new'))];
  try {
    makeUpHistory(hub);
    const rowEach = rowForEachFigure(hub);
    rowEach.fill();
    const readMonth = (): unknown => history(hub).list(COARSE, hub.clock() - 30 * DAY, hub.clock(), 12 * HOUR);
    const [first = NaN, second = NaN] = measure([page(hub, '24h'), page(hub, '30d')]);
    const [read = NaN, readEach = NaN] = measure([readMonth, rowEach.readMonth]);
    const [scraped = NaN, scrapedEmpty = NaN] = measure([scraping(hub), scraping(empty)]);
    const [bucket = NaN, bucketEach = NaN] = hub.db.write('bench', () => measure([bucketWriter(hub), rowEach.write]));
    const beside = (name: string, ours: number, peer: string, peerFigure: number, want: string): BenchRow =>
      lessRow({ name, ours, peer, peerFigure, unit: 'ms', want });
    return [
      limitRow('overview of 24 hours, 60 days of history', first, PAGE_LIMIT, 'ms'),
      limitRow('overview of 30 days, 60 days of history', second, PAGE_LIMIT, 'ms'),
      limitRow('a bucket written', bucket, BUCKET_LIMIT, 'ms'),
      beside('a bucket written', bucket, 'a row for each figure', bucketEach, '>= 1'),
      beside('30 days read', read, 'a row for each figure', readEach, '>= 2'),
      beside('scrape with history', scraped, 'without', scrapedEmpty, '>= 0.8'),
    ];
  } finally {
    for (const one of [hub, empty]) {
      processMetrics(one).close();
      one.db.close();
    }
  }
}

function openHub(dataDir: string): Hub {
  mkdirSync(dataDir);
  const config = loadConfig(hubEnvironment(dataDir));
  const hub: Hub = hubOf('web', config, openHubDatabase(config), createLog('bench', 'error', Date.now, () => {}));
  openStores(hub);
  beatOfWorker(hub);
  return hub;
}

/** The whole page, as the administrator gets it. */
function page(hub: Hub, range: string): () => number {
  const account = accounts(hub).create({ username: `ada-${range}`, displayName: 'Ada', role: 'admin', passwordHash: '' });
  const viewer = { ...account, preferences: DEFAULT_PREFERENCES } as unknown as Viewer;
  const request = { viewer, query: new URLSearchParams({ range }) } as MemberRequest;
  return () => {
    const { body } = showOverview(hub, request) as unknown as { body: Page };
    return renderPage(hub, body, viewer, `/admin?range=${range}`).bytes.length;
  };
}

function scraping(hub: Hub): () => string {
  return () => renderPrometheus(metricFamilies(readMetrics(hub)));
}

const FULL: Figures = Object.fromEntries([...FIGURES.keys()].map((name, index) => [name, index * 1_000 + 0.5]));

/** Adds one bucket, within a transaction whose end the worker's heartbeat has anyway. */
function bucketWriter(hub: Hub): () => void {
  let at = hub.clock() - hub.clock() % FINE;
  return () => {
    at -= FINE;
    history(hub).add(Math.max(at, hub.clock() - DAY), FULL);
  };
}

/** The same figures in a table with a row for each of them, as many programs keep them. */
function rowForEachFigure({ db, clock }: Hub) {
  db.exec(`CREATE TABLE each_figure (step INTEGER, name TEXT, at INTEGER, value REAL,
    PRIMARY KEY (step, name, at)) STRICT, WITHOUT ROWID`);
  const put = db.prepare<[number, string, number, number]>('put', `INSERT INTO each_figure (step, name, at, value)
    VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value`);
  const remove = db.prepare<[number, string, number]>('remove', 'DELETE FROM each_figure WHERE step = ? AND name = ? AND at < ?');
  const select = db.prepare<[number, number], { name: string; at: number; value: number }>('select',
    'SELECT name, at, value FROM each_figure WHERE step = ? AND at >= ? ORDER BY name, at');
  const add = (at: number): void => {
    for (const [name, value] of Object.entries(FULL) as [Figure, number][]) {
      for (const step of [FINE, COARSE]) {
        put.run(step, name, at - at % step, value);
        remove.run(step, name, clock() - 60 * DAY);
      }
    }
  };
  let at = clock();
  return {
    fill: () => db.write('fill', () => {
      for (let hour = clock() - 60 * DAY; hour < clock(); hour += COARSE) add(hour);
    }),
    write: () => add(at -= FINE),
    readMonth: () => select.all(COARSE, clock() - 30 * DAY),
  };
}

/** Milliseconds of the processor that each contender takes, the medians; they take turns. */
function measure(contenders: readonly (() => unknown)[]): number[] {
  const spent = contenders.map((): number[] => []);
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const [index, contender] of contenders.entries()) {
      const before = process.cpuUsage();
      contender();
      const took = processorMsSince(before);
      if (round >= 0) spent[index]?.push(took);
    }
  }
  return spent.map(median);
}
