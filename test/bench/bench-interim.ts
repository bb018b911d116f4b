import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fill, hubctl } from './bench-backup.ts';
import type { BenchRow } from './bench-row.ts';
import { startWeb } from './bench-servers.ts';
import { median } from './median.ts';

/** 100,000 posts of 4 kB with their search index. */
const DATABASE_BYTES = 430_000_000;
const UPLOAD_BYTES = 1_024 ** 3;
const ROUNDS = 3;
const POSTS = 100_000; // of which requests ask for one after the other, so that each page is made anew
const BETWEEN_REQUESTS = 5; // ms

/** An interim backup beside a nightly one of the same hub in the same run; and what requests wait meanwhile. */
export async function benchInterim(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-interim-'));
  const dataDir = join(folder, 'data');
  fill(dataDir, DATABASE_BYTES, UPLOAD_BYTES);
  const web = await startWeb(dataDir);
  try {
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
    return rowsOf(times, waits);
  } finally {
    await web.stop();
    rmSync(folder, { recursive: true });
  }
}

type Figures<Name extends string> = Record<Name, number[]>;

function rowsOf(times: Figures<'interim' | 'nightly'>, waits: Figures<'during' | 'without'>): BenchRow[] {
  const [interim, nightly] = [median(times.interim), median(times.nightly)];
  const [during, without] = [p99(waits.during), p99(waits.without)];
  return [
    { name: 'interim backup of 100,000 posts and 1 GiB of uploads', ours: interim, peer: 'nightly backup',
      peerFigure: nightly, unit: 's', ratio: nightly / interim, want: '≥ 2' },
    { name: 'p99 of a post’s page while an interim backup is made', ours: during, peer: 'without one',
      peerFigure: without, unit: 'ms', ratio: without / during, want: '≤ 50 ms' },
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

function p99(waits: number[]): number {
  return waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.99)] ?? NaN;
}
