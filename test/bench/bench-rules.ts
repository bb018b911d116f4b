import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openHubDatabase } from '../../src/app/processes/open-hub.ts';
import { syncSource } from '../../src/features/feeds/sync-source.ts';
import { createDisk } from '../../src/features/hub/disk-space.ts';
import { openStores, type Hub } from '../../src/features/hub/hub.ts';
import { PROJECT_ROOT, readConfig } from '../../src/features/hub/read-config.ts';
import type { Db } from '../../src/platform/db/open-database.ts';
import type { Job } from '../../src/platform/jobs/claim-jobs.ts';
import { createLog } from '../../src/platform/log.ts';
import { createOutboundFetch } from '../../src/platform/net/outbound-fetch.ts';
import { randomBelow } from '../support/random.ts';
import type { BenchRow } from './bench-row.ts';
import { startPeer } from './bench-servers.ts';
import { follow } from './bench-sync.ts';
import { madeUpWords } from './made-up-words.ts';

const ITEMS = 15; // of each feed
const FEEDS = 667; // which together have 10,000 posts
const DAY_FEEDS = 150; // of these feeds, which are synchronised 15 times each
const WARM_UP = 50; // feeds that are synchronised before the measured ones
const MEMBERS = 20;
const RULES = 100; // of each member
const FOLLOWS = 0.45; // the share of the feeds that each member follows
const COST_LIMIT = 5; // per cent

/** The seed of the words of posts. */
const WORDS = 3;

/**
 * What rules cost when posts arrive: the processor time for synchronising feeds in a hub with 2,000 rules of 20
 * members, beside a hub that has the same feeds and members and no rule. Both hubs synchronise each feed in turn, so
 * that what slows the machine slows both alike. Over a day, the posts of a feed arrive one after another: each
 * synchronisation brings one new post; synchronisations without new posts, in which rules cost nothing, are left out.
 * Rows of their own report the cost if all posts of a day arrive in one synchronisation of each feed.
 */
export async function benchRules(): Promise<BenchRow[]> {
  const server = await startPeer('feeds-peer.ts', [String(WORDS), String(ITEMS)]);
  try {
    return [...await arriving(server.port, DAY_FEEDS, 1), ...await arriving(server.port, FEEDS, ITEMS)];
  } finally {
    await server.stop();
  }
}

/** Synchronises each feed until it has ITEMS posts, of which `atOnce` are new each time; the last row is the cost. */
async function arriving(port: number, feeds: number, atOnce: number): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-rules-'));
  const urls = Array.from({ length: WARM_UP + feeds }, (_, n) => `http://127.1.${n >> 8}.${n & 255}:${port}/${n}`);
  const [bare, ruled] = [hubOf(join(folder, 'bare'), urls, 0), hubOf(join(folder, 'ruled'), urls, RULES)];
  const used = new Map([[bare, 0], [ruled, 0]]);
  try {
    for (let published = atOnce; published <= ITEMS; published += atOnce) {
      await fetch(`http://127.0.0.1:${port}/published/${published}`);
      for (const [index] of urls.entries()) {
        for (const hub of index % 2 === 0 ? [bare, ruled] : [ruled, bare]) {
          const ms = await sync(hub, index + 1);
          if (index >= WARM_UP) used.set(hub, (used.get(hub) ?? NaN) + ms);
        }
      }
    }
    const syncs = feeds * ITEMS / atOnce;
    const fits = timesApplied(ruled.db) / (urls.length * ITEMS);
    return rowsOf({ syncs, atOnce, fits, bare: used.get(bare) ?? NaN, ruled: used.get(ruled) ?? NaN });
  } finally {
    for (const { db } of used.keys()) db.close();
    rmSync(folder, { recursive: true });
  }
}

/** `bare`, `ruled`: the processor time of all synchronisations (ms) without and with rules. */
function rowsOf(
  { syncs, atOnce, fits, bare, ruled }: { syncs: number; atOnce: number; fits: number; bare: number; ruled: number },
): BenchRow[] {
  const name = `${syncs} synchronisations of ${atOnce} new posts, each of which fits ${fits.toFixed(2)} of 2,000 rules`;
  const cost = 100 * (ruled - bare) / bare;
  return [
    {
      name: `${name}: processor time`, ours: ruled / syncs, unit: 'ms/synchronisation', peer: 'without rules',
      peerFigure: bare / syncs, ratio: bare / ruled, want: 'as reported',
    },
    {
      name: `${name}: what the rules add`, ours: cost, unit: '%', peer: 'the limit', peerFigure: COST_LIMIT,
      ratio: COST_LIMIT / cost, want: atOnce === 1 ? '>= 1' : 'as reported',
    },
  ];
}

/** Runs the job of a feed as the worker does; returns the processor time in ms. */
async function sync(hub: Hub, sourceId: number): Promise<number> {
  const before = process.cpuUsage();
  const job = { id: sourceId, attempts: 1, maxAttempts: 3 } as Job;
  const effects = await syncSource.run(hub, { sourceId }, new AbortController().signal, job);
  hub.db.write('complete job', () => void effects?.());
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function timesApplied(db: Db): number {
  return db.prepare<[], { n: number }>('applied', 'SELECT COALESCE(SUM(applied), 0) AS n FROM rules').get()?.n ?? NaN;
}

function hubOf(folder: string, urls: string[], rules: number): Hub {
  mkdirSync(folder);
  const config = readConfig({ DATA_DIR: folder, PORT: '0', OUTBOUND_ALLOW: '127.0.0.0/8' },
    { projectRoot: PROJECT_ROOT, readFile: (path) => readFileSync(path, 'utf8') });
  const db = openHubDatabase(config);
  follow(db, urls);
  addMembers(db, rules, urls.length);
  const hub: Hub = {
    db, config, clock: Date.now, random: Math.random, program: 'worker', disk: createDisk(db, config, () => 0),
    outbound: createOutboundFetch({ userAgent: 'ContentHub/bench', allow: config.outboundAllow }),
    log: createLog('worker', 'error', Date.now, () => {}),
  };
  openStores(hub);
  return hub;
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
