import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseFeed } from '../../src/features/feeds/parse-feed.ts';
import type { ParsedFeed } from '../../src/features/feeds/feed-values.ts';
import { decodeText } from '../../src/platform/markup/decode-text.ts';
import { alternate, moreRow, type BenchRow } from './bench-row.ts';
import {
  checkFields, comparableFeed, CORPUS_FEED_URL, readExpectations, type Expectation, type ReadFeed,
} from './feed-expectations.ts';
import { loadFeedPeers, type FeedPeer } from './feed-peers.ts';

type Document = { file: string; bytes: Buffer; text: string };
type Timing = { file: string; bytes: number; ours: number; peer: number };

const ROUNDS = 11;
const WARM_UP_ROUNDS = 5; // over the whole corpus, until all parsers have been compiled
const ROUND_MS = 3; // small feeds are read repeatedly, so that the clock is fine enough

/**
 * Feeds read per second beside feedsmith and rss-parser, over the feeds that both read, and the share of expected
 * fields each gets right. Ours starts from bytes, so its time includes decoding; the peers are given the text. The
 * rounds alternate; medians are compared. Fields: title and number of items of each feed; title, link, id, date,
 * author, content and number of files of its first and last item. A peer is judged by the best reading of its own
 * result, dates by `Date.parse`, links after resolving. rss-parser has no media files, which counts as it is.
 */
export async function benchFeeds(corpusDir: string): Promise<BenchRow[]> {
  const expectations = readExpectations();
  const documents = readdirSync(corpusDir).filter((file) => expectations.has(file)).map((file) => {
    const bytes = readFileSync(join(corpusDir, file));
    return { file, bytes, text: decodeText(bytes, null) };
  });
  const rows: BenchRow[] = [];
  for (const peer of await loadFeedPeers()) rows.push(...await compareWith(peer, documents, expectations));
  return rows;
}

async function compareWith(
  peer: FeedPeer, documents: Document[], expectations: Map<string, Expectation>,
): Promise<BenchRow[]> {
  const oursRight = await shareRight(documents, expectations, ({ bytes }) => comparableFeed(parseOurs(bytes)));
  const readPeer = async ({ text }: Document): Promise<ReadFeed> => peer.comparable(await peer.parse(text));
  const peerRight = await shareRight(documents, expectations, readPeer);
  const timings = await timeAll(peer, documents);
  const total = (part: 'ours' | 'peer' | 'bytes'): number => timings.reduce((sum, timing) => sum + timing[part], 0);
  const slowest = timings.toSorted((a, b) => a.peer / a.ours - b.peer / b.ours)[0];
  return [
    speedRow('feeds: parse', peer.name, total('bytes'), total('ours'), total('peer'), '>= 2'),
    ...(slowest === undefined ? [] : [
      speedRow(`feeds: least gain (${slowest.file})`, peer.name, slowest.bytes, slowest.ours, slowest.peer, '>= 2'),
    ]),
    moreRow({
      name: 'feeds: expected fields right', ours: oursRight, peer: peer.name, peerFigure: peerRight, unit: '%',
      want: '>= 1',
    }),
  ];
}

/** Bytes and milliseconds as MB/s. */
function speedRow(name: string, peer: string, bytes: number, oursMs: number, peerMs: number, want: string): BenchRow {
  return moreRow({ name, ours: bytes / 1e3 / oursMs, peer, peerFigure: bytes / 1e3 / peerMs, unit: 'MB/s', want });
}

function parseOurs(bytes: Buffer): ParsedFeed {
  return parseFeed(bytes, { url: CORPUS_FEED_URL, contentType: null });
}

/** Percent of the expected fields of all documents; refusing what is no feed counts as one field. */
async function shareRight(
  documents: Document[], expectations: Map<string, Expectation>,
  read: (document: Document) => ReadFeed | Promise<ReadFeed>,
): Promise<number> {
  let [right, all] = [0, 0];
  for (const document of documents) {
    const expected = expectations.get(document.file);
    if (expected === undefined) continue;
    const found = await settle(async () => read(document));
    const checks = 'refused' in expected ? [{ right: found === null }] : checkFields(expected, found);
    all += checks.length;
    right += checks.filter((check) => check.right).length;
  }
  return (100 * right) / all;
}

/** Median milliseconds for each document that ours and the peer both read. */
async function timeAll(peer: FeedPeer, documents: Document[]): Promise<Timing[]> {
  const readable: Document[] = [];
  for (const document of documents) {
    const theirs = await settle(async () => peer.parse(document.text));
    const own = await settle(async () => parseOurs(document.bytes));
    if (theirs !== null && own !== null) readable.push(document);
  }
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    for (const { bytes, text } of readable) {
      parseOurs(bytes);
      await peer.parse(text);
    }
  }
  const timings: Timing[] = [];
  for (const document of readable) timings.push(await timeOne(peer, document));
  return timings;
}

async function timeOne(peer: FeedPeer, { file, bytes, text }: Document): Promise<Timing> {
  const runs = [() => meanMs(() => parseOurs(bytes)), () => meanMs(() => peer.parse(text))];
  const [ours = NaN, theirs = NaN] = await alternate(runs, ROUNDS, 0);
  return { file, bytes: bytes.length, ours, peer: theirs };
}

/** Milliseconds for one run, over as many as fill a round. */
async function meanMs(run: () => unknown): Promise<number> {
  const started = performance.now();
  let runs = 0;
  do {
    const result = run();
    if (result instanceof Promise) await result;
    runs += 1;
  } while (performance.now() - started < ROUND_MS);
  return (performance.now() - started) / runs;
}

async function settle<T>(run: () => Promise<T>): Promise<T | null> {
  try {
    return await run();
  } catch {
    return null;
  }
}
