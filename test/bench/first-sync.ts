import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { standardEvent } from '../support/signed-events.ts';
import { eventBody, sendEvent } from '../support/webhooks.ts';
import { benchFolder } from './bench-hub.ts';
import { limitRow, moreRow, p99, type BenchRow } from './bench-row.ts';
import { startPeer, startWeb, startWorker, type RunningServer } from './bench-servers.ts';
import { hubOfFeeds, untilSynced } from './bench-sync.ts';

const FEEDS = 200;
const POSTS = 200; // of each feed: more than one transaction stores
const HOOK = FEEDS + 1; // the webhook's id
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
  using folder = benchFolder('first-sync');
  await using feeds = await startPeer('feeds-peer.ts', ['7', String(POSTS)]);
  const db = hubOfFeeds(join(folder.path, 'hub.db'),
    Array.from({ length: FEEDS }, (_, n) => `http://127.1.${n >> 7}.${1 + (n & 127)}:${feeds.port}/${n}`));
  db.exec(`
    INSERT INTO sources (id, owner_id, kind, title, created_at, updated_at)
      VALUES (${HOOK}, 1, 'webhook', 'Hook', 0, 0);
    INSERT INTO webhooks (source_id, secret, quiet_since_at, created_at) VALUES (${HOOK}, 'plain:${SECRET}', 0, 0)`);
  await using web = await startWeb(folder.path);
  await using _worker = startWorker(folder.path);
  const started = performance.now();
  const times = await writeNowAndThen(web, untilSynced(db, FEEDS));
  const rate = FEEDS * POSTS / ((performance.now() - started) / 1_000);
  db.close();
  const name = `first synchronisation of ${FEEDS} feeds of ${POSTS} posts`;
  return [
    limitRow(`${name}: webhook p99, now and then`, p99(times), LIMIT_MS, 'ms'),
    moreRow({
      name: `${name}: posts stored meanwhile`, ours: rate, peer: 'one a millisecond', peerFigure: 1_000, unit: 'posts/s',
      want: '>= 0.6',
    }),
  ];
}

async function writeNowAndThen({ port }: RunningServer, isOver: Promise<void>): Promise<number[]> {
  const times: number[] = [];
  let over = false;
  void isOver.then(() => (over = true));
  for (let n = 0; !over; n++) {
    await sleep(GAPS[n % GAPS.length]);
    const began = performance.now();
    const at = Date.now();
    const event = { id: `event-${n}`, timestamp: Math.floor(at / 1_000), body: eventBody('build.finished', { n }, at) };
    const { status } = await sendEvent(`http://127.0.0.1:${port}`, HOOK, standardEvent(SECRET, event));
    if (status !== 202) throw new Error(`an event was answered with ${status}`);
    times.push(performance.now() - began);
  }
  return times;
}
