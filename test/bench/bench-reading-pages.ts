import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import { openBrowser, type Browser } from '../support/browser.ts';
import { median, type BenchRow } from './bench-row.ts';
import { load, processorMs, startPeer, startWeb, type RunningServer } from './bench-servers.ts';
import { LONG_POST, readableWords, READERS } from './reading-readers.ts';
import { recordPages } from './record-pages.ts';

/** Many short rounds: what slows the machine for some seconds then slows all servers of a round alike. */
const ROUNDS = 15;
const ROUND_MS = 750;

/** Until V8 has compiled what is called most. */
const WARM_UP_MS = 5_000;
const PAINTS = 15;

/** Bytes of a list over the wire. */
const LIST_BYTES = 12_000;

/**
 * Whole pages of a member who follows 300 sources: answers per second beside a bare node:http server that asks the
 * database the same and sends the same bytes, compressed the same way each time; how soon Chromium paints them, beside
 * the same bytes as static files; what goes over the wire, and how far anything moves while a page comes.
 */
export async function* benchReadingPages(folder: string): AsyncGenerator<BenchRow> {
  const pages = {
    'list': '/all',
    'unread list': '/',
    'post': `/unread/posts/${LONG_POST}`,
    'search of the commonest word': `/all?q=${readableWords().commonest}`,
    'search of a rarer word within unread': `/?q=${readableWords().rarer}`,
  };
  const recorded = await recordPages(folder, READERS['four of five at random'], Object.values(pages));
  const file = join(folder, 'pages');
  writeFileSync(file, serialize(recorded.pages));
  await using hub = await startWeb(folder);
  await using sameWork = await startPeer('pages-peer.ts', [file, join(folder, 'hub.db')]);
  await using planned = await startPeer('pages-peer.ts', [file, join(folder, 'hub.db'), 'planned']);
  await using statics = await startPeer('pages-peer.ts', [file]);
  await using ends = new AsyncDisposableStack();
  const browser = await openBrowser({ after: (end) => ends.defer(end as () => Promise<void>) });
  for (const [name, path] of Object.entries(pages)) {
    yield* await compareRates(name, [hub, sameWork, planned], path, recorded.cookie);
    const bytes = recorded.pages.get(path)?.compressed.length ?? NaN;
    yield bytesRow(name, bytes);
    yield* await comparePaints(name, browser, [hub, statics], path, recorded.cookie);
  }
}

/** In each round all servers are loaded in turn. The ratio is the median of the rounds' ratios, not that of medians. */
async function compareRates(name: string, servers: RunningServer[], path: string, cookie: string): Promise<BenchRow[]> {
  const headers = [`Cookie: ${cookie}`, 'Accept-Encoding: gzip'];
  const rates = servers.map((): { clock: number[]; processor: number[] } => ({ clock: [], processor: [] }));
  for (const server of servers) await load(server, path, WARM_UP_MS, headers);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, server] of servers.entries()) {
      const before = processorMs(server.pid);
      const rate = await load(server, path, ROUND_MS, headers);
      rates[index]?.clock.push(rate);
      rates[index]?.processor.push(rate * ROUND_MS / (processorMs(server.pid) - before));
    }
  }
  return (['clock', 'processor'] as const).flatMap((by) => {
    const [ours = [], ...peers] = rates.map((one) => one[by]);
    const unit = by === 'clock' ? 'answers/s' : 'answers per second of processor';
    return peers.map((theirs, index) => {
      const peer = `bare node:http, same SQL and bytes${index === 1 ? ', each statement planned once' : ''}`;
      const want = index === 1 ? 'as reported' : '>= 0.8';
      const ratio = median(ours.map((rate, round) => rate / (theirs[round] ?? NaN)));
      return { name: `${name}, signed in`, ours: median(ours), peer, peerFigure: median(theirs), unit, ratio, want };
    });
  });
}

function bytesRow(name: string, bytes: number): BenchRow {
  const [ours, limit] = [bytes / 1_000, LIST_BYTES / 1_000];
  return { name: `${name}, compressed`, ours, peer: 'limit', peerFigure: limit, unit: 'kB', ratio: ours / limit, want: '<= 1' };
}

async function comparePaints(
  name: string, browser: Browser, servers: RunningServer[], path: string, cookie: string,
): Promise<BenchRow[]> {
  const paints = servers.map((): number[] => []);
  let shift = 0;
  for (let round = -2; round < PAINTS; round++) {
    for (const [index, { port }] of servers.entries()) {
      const address = `http://127.0.0.1:${port}`;
      if (round === -2) await browser.become(address, new Map([cookie.split('=', 2) as [string, string]]));
      // Another address each time: the page comes whole, while its assets are kept, as they are in use.
      const seen = await look(browser, `${address}${path}${path.includes('?') ? '&' : '?'}round=${round + 2}`);
      if (round >= 0 && !Number.isNaN(seen.paint)) paints[index]?.push(seen.paint);
      if (index === 0) shift = Math.max(shift, seen.shift);
    }
  }
  const [ours = NaN, theirs = NaN] = paints.map(median);
  const peer = 'the same bytes as a static file';
  return [
    { name: `${name}, first paint`, ours, peer, peerFigure: theirs, unit: 'ms', ratio: ours / theirs, want: '<= 1.3' },
    { name: `${name}, layout shift`, ours: shift, peer: 'none', peerFigure: 0, unit: '', ratio: shift, want: '0' },
  ];
}

/**
 * When the page was painted first (ms), and how far its parts have moved in the 150 ms after it. Chromium tells of a
 * paint some time after the page has loaded; of one that it has not told of in 10 s, NaN is the time.
 */
async function look(browser: Browser, address: string): Promise<{ paint: number; shift: number }> {
  await browser.goto(address);
  const { paint, shift } = await browser.run<{ paint: number | null; shift: number }>(`
    const observe = (type, onEntry) =>
      new PerformanceObserver((list) => list.getEntries().forEach(onEntry)).observe({ type, buffered: true });
    let shift = 0;
    observe('layout-shift', ({ value }) => (shift += value));
    return new Promise((resolve) => {
      setTimeout(() => resolve(null), 10000);
      observe('paint', ({ name, startTime }) => name === 'first-contentful-paint' && resolve(startTime));
    }).then((paint) => new Promise((resolve) => setTimeout(() => resolve({ paint, shift }), 150)));`);
  return { paint: paint ?? NaN, shift };
}
