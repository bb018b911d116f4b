import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fill, hubctl } from './bench-backup.ts';
import { benchFolder } from './bench-hub.ts';
import { lessRow, median, p99, type BenchRow } from './bench-row.ts';
import { startWeb } from './bench-servers.ts';

/** 100,000 posts of 4 kB with their search index. */
const DATABASE_BYTES = 430_000_000;
const UPLOAD_BYTES = 1_024 ** 3;
const ROUNDS = 3;
const POSTS = 100_000; // of which requests ask for one after the other, so that each page is made anew
const BETWEEN_REQUESTS = 5; // ms

/** An interim backup beside a nightly one of the same hub in the same run; and what requests wait meanwhile. */
export async function benchInterim(): Promise<BenchRow[]> {
  using folder = benchFolder('interim');
  const dataDir = join(folder.path, 'data');
  fill(dataDir, DATABASE_BYTES, UPLOAD_BYTES);
  await using web = await startWeb(dataDir);
  const times = { interim: [] as number[], nightly: [] as number[] };
  const waits = { during: [] as number[], without: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    const made = hubctl(dataDir, 'backup', '--interim');
    waits.during.push(...await waitsDuring(web.port, made));
    times.interim.push((await made).seconds);
    waits.without.push(...await waitsDuring(web.port, sleep((await made).seconds * 1_000)));
    const { seconds, said } = await hubctl(dataDir, 'backup');
    times.nightly.push(seconds);
    rmSync(/dir=(.*)\n$/.exec(said)?.[1] ?? '', { recursive: true }); // or the next interim one would be skipped
  }
  return [
    lessRow({ name: 'interim backup of 100,000 posts and 1 GiB of uploads', ours: median(times.interim),
      peer: 'nightly backup', peerFigure: median(times.nightly), unit: 's', want: '≥ 2' }),
    lessRow({ name: 'p99 of a post’s page while an interim backup is made', ours: p99(waits.during),
      peer: 'without one', peerFigure: p99(waits.without), unit: 'ms', want: '≤ 50 ms' }),
  ];
}

let asked = 0;

/** What each request waited, in ms, until the work was done. */
async function waitsDuring(port: number, work: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  void work.finally(() => (isOver = true));
  const waits: number[] = [];
  while (!isOver) {
    const began = performance.now();
    await (await fetch(`http://127.0.0.1:${port}/posts/${asked++ % POSTS + 1}`)).text();
    waits.push(performance.now() - began);
    await sleep(BETWEEN_REQUESTS);
  }
  return waits;
}
