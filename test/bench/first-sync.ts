import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, type Db } from '../../src/platform/db/open-database.ts';
import type { BenchRow } from './bench-row.ts';
import { startPeer, startWeb, startWorker, stop, type RunningServer } from './bench-servers.ts';
import { follow, untilSynced } from './bench-sync.ts';

const FEEDS = 200;
const POSTS = 200; // of each feed: more than one transaction stores
const LIMIT_MS = 50;
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/**
 * Between two events, in ms: some are shorter and some longer than the second for which the worker's pauses stay long
 * after a write of another process.
 */
const GAPS = [50, 1_900, 300, 1_300, 150, 1_100, 700];

/**
 * What somebody who writes now and then waits for while large feeds are synchronised for the first time: the 99th
 * percentile of a signed event, which web stores durably. And how many posts a second the worker stores meanwhile.
 */
export async function firstSync(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-first-sync-'));
  const feeds = await startPeer('feeds-peer.ts', ['7', String(POSTS)]);
  const db = openDatabase(join(folder, 'hub.db'));
  const hook = prepare(db, Array.from({ length: FEEDS }, (_, n) => `http://127.1.${n >> 7}.${1 + (n & 127)}:${feeds.port}/${n}`));
  const web = await startWeb(folder);
  const worker = startWorker(folder);
  try {
    const started = performance.now();
    const isOver = untilSynced(db, FEEDS);
    const times = await writeNowAndThen(web, hook, isOver);
    const seconds = (performance.now() - started) / 1_000;
    const name = `first synchronisation of ${FEEDS} feeds of ${POSTS} posts`;
    const p99 = times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? Infinity;
    const rate = FEEDS * POSTS / seconds;
    return [
      {
        name: `${name}: webhook p99, now and then`, ours: p99, peer: 'the limit', peerFigure: LIMIT_MS, unit: 'ms',
        ratio: LIMIT_MS / p99, want: '>= 1',
      },
      {
        name: `${name}: posts stored meanwhile`, ours: rate, peer: 'one a millisecond', peerFigure: 1_000, unit: 'posts/s',
        ratio: rate / 1_000, want: '>= 0.6',
      },
    ];
  } finally {
    await stop(worker);
    await web.stop();
    await feeds.stop();
    db.close();
    rmSync(folder, { recursive: true });
  }
}

/** A hub whose account has the feeds, all due, and a webhook, whose id is returned. */
function prepare(db: Db, urls: string[]): number {
  follow(db, urls);
  const hook = urls.length + 1;
  db.exec(`
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at) VALUES (${hook}, 1, 'webhook', 'Hook', 0, 0);
    INSERT INTO webhooks (source_id, secret, quiet_since_at, created_at) VALUES (${hook}, 'plain:${SECRET}', 0, 0)`);
  return hook;
}

async function writeNowAndThen(web: RunningServer, hook: number, isOver: Promise<void>): Promise<number[]> {
  const times: number[] = [];
  let over = false;
  void isOver.then(() => (over = true));
  for (let n = 0; !over; n++) {
    await sleep(GAPS[n % GAPS.length]);
    const began = performance.now();
    await sendEvent(web, hook, n);
    times.push(performance.now() - began);
  }
  return times;
}

async function sendEvent({ port }: RunningServer, hook: number, n: number): Promise<void> {
  const body = JSON.stringify({ type: 'build.finished', timestamp: new Date().toISOString(), data: { n } });
  const [id, now] = [`event-${n}`, String(Math.floor(Date.now() / 1_000))];
  const key = Buffer.from(SECRET.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${now}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': now, 'webhook-signature': `v1,${signature}`,
  };
  const answer = await fetch(`http://127.0.0.1:${port}/api/webhooks/${hook}`, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  if (answer.status !== 202) throw new Error(`an event was answered with ${answer.status}`);
}
