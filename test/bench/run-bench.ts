import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { ANNOTATED_PAGES } from './article-scores.ts';
import { isInstalled } from '../support/tools.ts';
import type { BenchRow } from './bench-row.ts';

/** Real feeds beside the project; without them there is nothing to measure parsing on. */
const CORPUS = `${import.meta.dirname}/../../../shared/corpora/feeds`;

/** npm run bench [-- name…]: each figure beside its peer's, from the same run; without names all of them. */
const BENCHES: Record<string, () => Promise<BenchRow[]> | AsyncGenerator<BenchRow>> = {
  feeds: async () => (await import('./bench-feeds.ts')).benchFeeds(CORPUS),
  'full-text': async () => (await import('./bench-full-text.ts')).benchFullText(),
  encodings: async () => (await import('./bench-encodings.ts')).benchEncodings(),
  multipart: async () => (await import('./bench-multipart.ts')).benchMultipart(),
  attachments: async () => (await import('./bench-attachments.ts')).benchAttachments(),
  async *reading() {
    yield* (await import('./bench-reading.ts')).benchReading();
  },
  'reader-api': async () => (await import('./bench-reader-api.ts')).benchReaderApi(),
  overview: async () => (await import('./bench-overview.ts')).benchOverview(),
  scrape: async () => (await import('./bench-scrape.ts')).benchScrape(),
  queue: async () => (await import('./bench-queue.ts')).benchQueue(),
  sync: async () => (await import('./bench-sync.ts')).benchSync(),
  rules: async () => (await import('./bench-rules.ts')).benchRules(),
  webhooks: async () => (await import('./bench-webhooks.ts')).benchWebhooks(),
  fairness: async () => (await import('./bench-fairness.ts')).benchFairness(),
  routes: async () => (await import('./bench-routes.ts')).benchRoutes(),
  search: async () => (await import('./bench-search.ts')).benchSearch(),
  retention: async () => (await import('./bench-retention.ts')).benchRetention(),
  backup: async () => (await import('./bench-backup.ts')).benchBackup(),
  interim: async () => (await import('./bench-interim.ts')).benchInterim(),
  restic: async () => (await import('./bench-restic.ts')).benchRestic(),
  start: async () => (await import('./bench-start.ts')).benchStart(),
  memory: async () => (await import('./bench-memory.ts')).benchMemory(),
};

/** What a bench cannot do without, where it is not there. */
const LACKS: Record<string, () => string | null> = {
  feeds: () => (existsSync(CORPUS) ? null : 'there is no corpus of feeds beside the project'),
  'full-text': () => (existsSync(ANNOTATED_PAGES) ? null : 'there is no corpus of articles beside the project'),
  reading: () => ['chromedriver', 'chromium'].filter((tool) => !isInstalled(tool))
    .map((tool) => `there is no ${tool}, which paints the pages`)[0] ?? null,
  backup: () => (spawnSync('sqlite3', ['--version']).status === 0 ? null : 'there is no sqlite3, which its twin needs'),
  restic: () => (spawnSync('restic', ['version']).status === 0 ? null : 'there is no restic'),
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  process.stderr.write(`there is no bench ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}\n`);
  process.exit(2);
}

for (const [name, bench] of Object.entries(BENCHES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  process.stdout.write(`\n${name}\n`);
  const lack = LACKS[name]?.() ?? null;
  if (lack !== null) {
    process.stdout.write(`  skipped: ${lack}\n`);
    continue;
  }
  for await (const row of await bench()) process.stdout.write(line(row));
}

function line({ name, ours, peer, peerFigure, unit, ratio, want }: BenchRow): string {
  const figures = `${name}: ${figure(ours)} ${unit}; ${peer}: ${figure(peerFigure)} ${unit}`;
  return `  ${figures}; ratio ${ratio.toFixed(2)} (wanted ${want})\n`;
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}
