import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { hubOf, openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { planNextSync } from '../../src/features/feeds/plan-sync.ts';
import { planSomeSyncs, syncSource } from '../../src/features/feeds/sync-source.ts';
import { openStores } from '../../src/features/hub/hub.ts';
import { loadConfig } from '../../src/features/hub/read-config.ts';
import { jobHandlers, workerQueue } from '../../src/features/hub/worker-jobs.ts';
import { DAY } from '../../src/platform/clock.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import { duration } from '../../src/platform/in-words.ts';
import { createWorker } from '../../src/platform/jobs/worker.ts';
import { createLog } from '../../src/platform/log.ts';
import { hubEnvironment } from '../support/hub-process.ts';
import { randomBelow } from '../support/random.ts';
import { benchFolder } from './bench-hub.ts';
import { lessRow, limitRow, processorMsSince, type BenchRow } from './bench-row.ts';
import { startPeer } from './bench-servers.ts';
import { hubOfFeeds } from './bench-sync.ts';
import { madeUpWords } from './made-up-words.ts';

const ITEMS = 15; // of each feed
const FEEDS = 667; // which together have 10,000 posts
const DAY_FEEDS = 150; // of these feeds, which are synchronised at least 15 times each
const WARM_UP = 50; // feeds that are synchronised before the measured ones
const MEMBERS = 20;
const RULES = 100; // of each member
const FOLLOWS = 0.45; // the share of the feeds that each member follows
const COST_LIMIT = 5; // per cent
const NEVER = Number.MAX_SAFE_INTEGER; // when feeds are due that the benchmark does not synchronise now

/** The sources of a hub that gets 10,000 posts a day, and the posts of each source. */
const [DAY_SOURCES, DAY_POSTS] = [500, 20];

/** The seed of the words of posts. */
const WORDS = 3;

/** How posts arrive: a feed is synchronised `syncs` times for each `atOnce` new posts, which come the first time. */
type Arriving = { name: string; feeds: number; atOnce: number; syncs: number; want: string };

/**
 * What rules cost when posts arrive: the processor time for synchronising feeds in a hub with 2,000 rules of 20
 * members, beside a hub that has the same feeds and members and no rule. Both hubs synchronise each feed in turn, so
 * that what slows the machine slows both alike. Of the synchronisations of a day, many bring nothing (304). Rows of
 * their own report synchronisations that all bring one new post, and synchronisations that bring all posts at once.
 */
export async function benchRules(): Promise<BenchRow[]> {
  await using server = await startPeer('feeds-peer.ts', [String(WORDS), String(ITEMS)]);
  const rows: BenchRow[] = [];
  for (const one of [ofDay(), ...HARD]) rows.push(...await arriving(server.port, one));
  return rows;
}

const HARD: Arriving[] = [
  { name: 'synchronisations of one new post', feeds: DAY_FEEDS, atOnce: 1, syncs: 1, want: '>= 1' },
  { name: `synchronisations of ${ITEMS} new posts`, feeds: FEEDS, atOnce: ITEMS, syncs: 1, want: 'as reported' },
];

/** A day at the interval that the hub plans for sources whose posts arrive evenly. */
function ofDay(): Arriving {
  const gap = DAY / DAY_POSTS;
  const publishedAt = Array.from({ length: 10 }, (_, n) => n * gap);
  const interval = planNextSync({ publishedAt, askedFor: 0 }, 9 * gap, () => 0.5);
  const syncs = Math.floor(gap / interval);
  const name = `a day of ${DAY_SOURCES} sources with ${DAY_POSTS} posts each, assumed to be evenly spread, at the `
    + `planned interval of ${duration(interval)} (${syncs - 1} of ${syncs} synchronisations brings nothing)`;
  return { name, feeds: DAY_FEEDS, atOnce: 1, syncs, want: '>= 1' };
}

/** Synchronises each feed until it has ITEMS posts; the last row is the cost. */
async function arriving(port: number, { name, feeds, atOnce, syncs, want }: Arriving): Promise<BenchRow[]> {
  using folder = benchFolder('rules');
  const urls = Array.from({ length: WARM_UP + feeds }, (_, n) => `http://127.1.${n >> 8}.${n & 255}:${port}/${n}`);
  using bare = benchHub(join(folder.path, 'bare'), urls, 0);
  using ruled = benchHub(join(folder.path, 'ruled'), urls, RULES);
  const used = new Map([[bare, 0], [ruled, 0]]);
  for (let published = atOnce; published <= ITEMS; published += atOnce) {
    await fetch(`http://127.0.0.1:${port}/published/${published}`);
    for (const [index] of urls.entries()) {
      for (const hub of index % 2 === 0 ? [bare, ruled] : [ruled, bare]) {
        for (let sync = 0; sync < syncs; sync++) {
          const ms = await syncFeed(hub, index + 1);
          if (index >= WARM_UP) used.set(hub, (used.get(hub) ?? NaN) + ms);
        }
      }
    }
  }
  const count = syncs * feeds * ITEMS / atOnce;
  const fits = timesApplied(ruled.hub.db) / (urls.length * ITEMS);
  const [ms, ruledMs] = [(used.get(bare) ?? NaN) / count, (used.get(ruled) ?? NaN) / count];
  return rowsOf(`${name}; a post fits ${fits.toFixed(2)} of 2,000 rules`, ms, ruledMs, want);
}

/** `bare`, `ruled`: the processor time of a synchronisation (ms) without and with rules. */
function rowsOf(name: string, bare: number, ruled: number, want: string): BenchRow[] {
  return [
    lessRow({
      name: `${name}: processor time`, ours: ruled, unit: 'ms/synchronisation', peer: 'without rules',
      peerFigure: bare, want: 'as reported',
    }),
    limitRow(`${name}: what the rules add`, 100 * (ruled - bare) / bare, COST_LIMIT, '%', want),
  ];
}

/** Plans and runs the job of a feed as the worker does; returns the processor time in ms. */
async function syncFeed({ hub, worker, makeDue }: BenchHub, sourceId: number): Promise<number> {
  makeDue.run(sourceId);
  const before = process.cpuUsage();
  planSomeSyncs(hub, 1);
  await worker.runDue();
  return processorMsSince(before);
}

function timesApplied(db: Db): number {
  return db.prepare<[], { n: number }>('applied', 'SELECT COALESCE(SUM(applied), 0) AS n FROM rules').get()?.n ?? NaN;
}

type BenchHub = ReturnType<typeof benchHub>;

function benchHub(folder: string, urls: string[], rules: number) {
  mkdirSync(folder);
  const filled = hubOfFeeds(join(folder, 'hub.db'), urls, NEVER);
  addMembers(filled, rules, urls.length);
  filled.close();
  const config = loadConfig(hubEnvironment(folder));
  const hub = hubOf('worker', config, openHubDatabase(config), createLog('worker', 'error', Date.now, () => {}));
  const { db } = hub;
  openStores(hub);
  const onError = (error: unknown): void => { throw error; };
  const handlers = jobHandlers(hub, [syncSource]);
  const worker = createWorker({ ...hub, queue: workerQueue(hub), handlers, onError });
  const makeDue = db.prepare<[number]>('make due', 'UPDATE sources SET next_sync_at = 1 WHERE id = ?');
  return { hub, worker, makeDue, [Symbol.dispose]: db.close };
}

/**
 * The members, who each follow some feeds, and their rules, as people write them: about rare words, mostly of titles,
 * most of which no post has. A rule acts on two or three of 10,000 posts, which are the posts of a day.
 */
function addMembers(db: Db, rules: number, feeds: number): void {
  const below = randomBelow(11);
  const [{ all }, { all: absent }] = [madeUpWords(WORDS), madeUpWords(WORDS + 1)];
  const account = db.prepare<[number, string]>('member', `
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
    VALUES (?, ?, 'Member', 'member', '', 0, 0)`);
  const followed = db.prepare<[number, number]>('follow',
    'INSERT OR IGNORE INTO follows (account_id, source_id, read_up_to, created_at) VALUES (?, ?, 0, 0)');
  const rule = db.prepare<[number, string, string, number]>('rule', `
    INSERT INTO rules (account_id, match, act, version, created_at) VALUES (?, ?, ?, ?, 0)`);
  const word = (): string => (below(5) === 0 ? all : absent)[1_000 + below(all.length - 1_000)] ?? '';
  const written = [
    () => `title:${word()}`, () => `title:${word()}`, () => `${word()} ${word()}`,
    () => `title:${word().slice(0, 5)}* -${word()}`, () => `"${word()} ${word()}" OR title:${word()}`,
  ];
  db.transaction('members', () => {
    for (let member = 0; member < MEMBERS; member++) {
      account.run(2 + member, `member${member}`);
      for (let id = 1; id <= feeds; id++) if (below(100) < 100 * FOLLOWS) followed.run(2 + member, id);
      for (let n = 0; n < rules; n++) {
        const act = ['mute', 'mute', 'mute', 'read', 'star', 'notify'][n % 6] ?? '';
        rule.run(2 + member, written[n % written.length]?.() ?? '', act, member * rules + n + 1);
      }
    }
  })();
}
