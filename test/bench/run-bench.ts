import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ANNOTATED_PAGES } from './article-scores.ts';
import { isInstalled } from '../support/tools.ts';
import type { BenchRow } from './bench-row.ts';
import { commitOf, compareVersions } from './compare-versions.ts';

/** Real feeds beside the project; without them there is nothing to measure parsing on. */
const CORPUS = `${import.meta.dirname}/../../../shared/corpora/feeds`;

type Rows = BenchRow[] | AsyncGenerator<BenchRow>;

const BENCHES: Record<string, { about: string; run: () => Promise<Rows> }> = {
  feeds: {
    about: 'parsing real feeds, beside other parsers',
    run: async () => (await import('./bench-feeds.ts')).benchFeeds(CORPUS),
  },
  'full-text': {
    about: 'articles found in annotated pages, beside Readability on linkedom: processor time, and F1 of the words',
    run: async () => (await import('./bench-full-text.ts')).benchFullText(),
  },
  multipart: {
    about: 'reading forms with files, beside busboy',
    run: async () => (await import('./bench-multipart.ts')).benchMultipart(),
  },
  attachments: {
    about: 'uploads and downloads, beside bare programs',
    run: async () => (await import('./bench-attachments.ts')).benchAttachments(),
  },
  reading: {
    about: 'lists, marks and pages of members, beside a bare server with the same queries and bytes',
    run: async () => (await import('./bench-reading.ts')).benchReading(),
  },
  'reader-api': {
    about: 'apps that synchronise 10,000 items, beside Fastify; memory, and how long others wait meanwhile',
    run: async () => (await import('./bench-reader-api.ts')).benchReaderApi(),
  },
  overview: {
    about: "the administrators' overview",
    run: async () => (await import('./bench-overview.ts')).benchOverview(),
  },
  scrape: {
    about: 'what Prometheus reads',
    run: async () => (await import('./bench-scrape.ts')).benchScrape(),
  },
  queue: {
    about: 'jobs, beside a queue in SQLite',
    run: async () => (await import('./bench-queue.ts')).benchQueue(),
  },
  sync: {
    about: 'synchronisations of many feeds',
    run: async () => (await import('./bench-sync.ts')).benchSync(),
  },
  rules: {
    about: 'what 2,000 rules of 20 members add to the processor time of synchronisations, by day and by new posts',
    run: async () => (await import('./bench-rules.ts')).benchRules(),
  },
  webhooks: {
    about: 'signed events and posts',
    run: async () => (await import('./bench-webhooks.ts')).benchWebhooks(),
  },
  fairness: {
    about: 'how long others wait during attacks (BENCH_FAIRNESS=WORD chooses some), at the lowest priority',
    run: async () => (await import('./bench-fairness.ts')).benchFairness(),
  },
  routes: {
    about: 'pages and answers in use',
    run: async () => (await import('./bench-routes.ts')).benchRoutes(),
  },
  search: {
    about: 'searches among very many posts',
    run: async () => (await import('./bench-search.ts')).benchSearch(),
  },
  backup: {
    about: 'a backup, beside tar and sqlite3: 15 GB of temporary files (with BENCH_BACKUP_MB=100 1.5)',
    run: async () => (await import('./bench-backup.ts')).benchBackup(),
  },
  interim: {
    about: 'interim backups of 100,000 posts and 1 GiB: 5 GB of temporary files',
    run: async () => (await import('./bench-interim.ts')).benchInterim(),
  },
  restic: {
    about: 'three nights in a restic repository: 60 GB of temporary files (with BENCH_RESTIC_MB=1000 3)',
    run: async () => (await import('./bench-restic.ts')).benchRestic(),
  },
  start: {
    about: 'the start of the hub',
    run: async () => (await import('./bench-start.ts')).benchStart(),
  },
  memory: {
    about: 'memory of each process (PSS), idle with 500 feeds and after use',
    run: async () => (await import('./bench-memory.ts')).benchMemory(),
  },
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

const USAGE = `Usage: npm run bench -- [NAME…]
       npm run bench -- NAME… --against REF [--rounds N]
Measures the hub beside other programs, each figure in the same run as its peer's. Without names, or with "all", runs
all benches. --against compares the working tree with the commit REF and with version 1.0.1, in alternation, at least
five rounds (N); exits with 1 if a row's spread ends below 0.95, or a row is missing in one of them.

${Object.entries(BENCHES).map(([name, { about }]) => `  ${name.padEnd(12)}${about}`).join('\n')}
`;

const FEWEST_ROUNDS = 5;

function refuse(problem: string): never {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { help: { type: 'boolean' }, against: { type: 'string' }, rounds: { type: 'string' } },
    });
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
}

async function run(names: string[]): Promise<void> {
  for (const name of names) {
    process.stdout.write(`\n${name}\n`);
    const lack = LACKS[name]?.() ?? null;
    if (lack !== null) process.stdout.write(`  skipped: ${lack}\n`);
    else for await (const row of await BENCHES[name]?.run() ?? []) process.stdout.write(line(row));
  }
}

async function main(): Promise<number> {
  const { values: { help, against, rounds = String(FEWEST_ROUNDS) }, positionals } = readArguments();
  if (help) process.stdout.write(USAGE);
  if (help) return 0;
  const unknown = positionals.filter((name) => name !== 'all' && !Object.hasOwn(BENCHES, name));
  if (unknown.length > 0) refuse(`there is no bench ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}`);
  const isAll = positionals.length === 0 || positionals.includes('all');
  const names = Object.keys(BENCHES).filter((name) => isAll || positionals.includes(name));
  if (against === undefined) await run(names);
  if (against === undefined) return 0;
  if (positionals.length === 0) refuse('name the benches to compare, or all');
  if (!(Number(rounds) >= FEWEST_ROUNDS)) refuse(`--rounds must be at least ${FEWEST_ROUNDS}`);
  try {
    commitOf(against);
  } catch {
    refuse(`this project has no commit ${against}`);
  }
  return compareVersions(names, against, Number(rounds));
}

process.exitCode = await main();

function line({ name, ours, peer, peerFigure, unit, ratio, want }: BenchRow): string {
  const figures = `${name}: ${figure(ours)} ${unit}; ${peer}: ${figure(peerFigure)} ${unit}`;
  return `  ${figures}; ratio ${ratio.toFixed(2)} (wanted ${want})\n`;
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}
