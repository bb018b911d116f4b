import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import { randomBelow } from '../support/random.ts';
import type { BenchRow } from './bench-row.ts';
import { processorMs, startWorker, stop } from './bench-servers.ts';
import { feedUrl, follow, untilSynced } from './bench-sync.ts';
import { madeUpWords } from './made-up-words.ts';
import { median } from './median.ts';

const FEEDS = 667;
const ITEMS = 15; // of each feed, so that each pass brings 10,000 posts
const ROUNDS = 5;
const MEMBERS = 20;
const RULES = 100; // of each member
const FOLLOWS = 300; // of each member
const COST_LIMIT = 5; // per cent

/**
 * What rules cost when posts arrive: the processor time of a worker that synchronises 667 feeds of 15 new posts, once
 * with 2,000 rules of 20 members and once without a rule, in alternating rounds. All else is the same, also that the
 * members follow the feeds. A pass over the same feeds with other posts comes before, which warms the worker up. A day
 * has many synchronisations without new posts besides, of which rules cost nothing, so that the cost is the highest.
 */
export async function benchRules(): Promise<BenchRow[]> {
  const feeds = new Map<string, string>();
  let pass = 0;
  const server = createServer((req, res) => {
    const name = `${req.url} ${pass}`;
    const feed = feeds.get(name) ?? feedOf(name);
    feeds.set(name, feed);
    res.writeHead(200, { 'content-type': 'application/rss+xml' }).end(feed);
  }).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const times: [bare: number[], ruled: number[]] = [[], []];
  let hits = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [index, rules] of [0, RULES].entries()) {
        pass = 0;
        const { ms, applied } = await syncTwice(server, rules, () => pass++);
        times[index]?.push(ms);
        hits = applied / (2 * FEEDS * ITEMS);
      }
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
  const [bare, ruled] = [median(times[0]), median(times[1])];
  const name = `${FEEDS} feeds of ${ITEMS} new posts, which fit ${hits.toFixed(1)} of 2,000 rules each`;
  const cost = 100 * (ruled - bare) / bare;
  return [
    {
      name: `${name}: processor time of the worker`, ours: ruled / FEEDS, unit: 'ms/feed', peer: 'without rules',
      peerFigure: bare / FEEDS, ratio: bare / ruled, want: 'as reported',
    },
    {
      name: `${name}: what the rules add`, ours: cost, unit: '%', peer: 'the limit', peerFigure: COST_LIMIT,
      ratio: COST_LIMIT / cost, want: '>= 1',
    },
  ];
}

/** Synchronises all feeds twice; returns the worker's processor time for the second time, and how often rules acted. */
async function syncTwice(server: Server, rules: number, next: () => void): Promise<{ ms: number; applied: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-rules-'));
  const db = openDatabase(join(folder, 'hub.db'));
  try {
    follow(db, Array.from({ length: FEEDS }, (_, index) => feedUrl(server, 2 * index)));
    addMembers(db, rules);
    const worker = startWorker(folder);
    await untilSynced(db, FEEDS);
    next();
    const before = processorMs(worker.pid ?? 0);
    db.exec('UPDATE sources SET next_sync_at = 1');
    await untilSynced(db, 2 * FEEDS);
    const ms = processorMs(worker.pid ?? 0) - before;
    await stop(worker);
    const applied = db.prepare<[], { n: number }>('applied', 'SELECT COALESCE(SUM(applied), 0) AS n FROM rules').get();
    return { ms, applied: applied?.n ?? NaN };
  } finally {
    db.close();
    rmSync(folder, { recursive: true });
  }
}

/**
 * The members, who each follow some feeds, and their rules, as people write them: about rare words, mostly of titles,
 * two thirds of which no post has. A rule of a member acts about once in 10,000 posts, which is a day.
 */
export function addMembers(db: Db, rules: number): void {
  const below = randomBelow(11);
  const [{ all }, { all: absent }] = [madeUpWords(WORDS), madeUpWords(WORDS + 1)];
  const account = db.prepare<[number, string]>('member', `
    INSERT INTO accounts (id, username, display_name, role, password_hash, created_at, updated_at)
    VALUES (?, ?, 'Member', 'member', '', 0, 0)`);
  const followed = db.prepare<[number, number]>('follow',
    'INSERT OR IGNORE INTO follows (account_id, source_id, read_up_to, created_at) VALUES (?, ?, 0, 0)');
  const rule = db.prepare<[number, string, string, number]>('rule', `
    INSERT INTO rules (account_id, match, act, version, created_at) VALUES (?, ?, ?, ?, 0)`);
  const word = (): string => [all, absent, absent][below(3)]?.[400 + below(all.length - 400)] ?? '';
  const written = [
    () => `title:${word()}`, () => `title:${word()}`, () => `${word()} ${word()}`,
    () => `title:${word().slice(0, 5)}* -${word()}`, () => `"${word()} ${word()}" OR title:${word()}`,
  ];
  db.transaction('members', () => {
    for (let member = 0; member < MEMBERS; member++) {
      account.run(2 + member, `member${member}`);
      for (let n = 0; n < FOLLOWS; n++) followed.run(2 + member, 1 + below(FEEDS));
      for (let n = 0; n < rules; n++) {
        const act = ['mute', 'mute', 'mute', 'read', 'star', 'notify'][n % 6] ?? '';
        rule.run(2 + member, written[n % written.length]?.() ?? '', act, member * rules + n + 1);
      }
    }
  })();
}

/** Where the words of posts begin. */
const WORDS = 3;
const { words, title } = madeUpWords(WORDS);

export function feedOf(name: string): string {
  const items = Array.from({ length: ITEMS }, (_, index) => `<item><guid isPermaLink="false">${name} ${index}</guid>
    <title>${title(8)}</title><link>https://example.org/${encodeURIComponent(name)}/${index}</link>
    <description>&lt;p&gt;${words(60)}. &lt;a href="/x"&gt;${words(3)}&lt;/a&gt; ${words(60)}&lt;/p&gt;</description></item>`);
  return `<rss version="2.0"><channel><title>Feed ${name}</title><link>https://example.org/</link>${items.join('')}</channel></rss>`;
}
