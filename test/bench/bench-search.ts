import { join } from 'node:path';
import type { Client } from '../support/client.ts';
import { benchFolder, hubInProcess } from './bench-hub.ts';
import { limitRow, median, processorMsSince, type BenchRow } from './bench-row.ts';
import { fillSearch, searches } from './fill-search.ts';

const POSTS = 1_000_000;
const ROUNDS = 7;
const VISITOR_MS = 20;
const MEMBER_MS = 50;

/** Milliseconds of processor for a whole page of each kind of search, for a visitor and a member, among POSTS posts. */
export async function benchSearch(posts = POSTS): Promise<BenchRow[]> {
  using folder = benchFolder('search');
  fillSearch(join(folder.path, 'hub.db'), posts);
  await using process = await hubInProcess({ DATA_DIR: folder.path, DISK_RESERVE_BYTES: '1' });
  const { anybody, person } = process.hub;
  const ada = await person('ada');
  const rows: BenchRow[] = [];
  for (const q of searches().slice(0, 5)) await rowOf(q, anybody, `/public?q=${q}`, VISITOR_MS); // compiles
  for (const q of searches()) {
    const typed = encodeURIComponent(q);
    if (!q.includes('is:')) rows.push(await rowOf(`/public?q=${q}`, anybody, `/public?q=${typed}`, VISITOR_MS));
    rows.push(await rowOf(`/all?q=${q}`, ada, `/all?q=${typed}`, MEMBER_MS));
  }
  for (const list of ['/', '/starred', '/folders/News', '/sources/7']) {
    rows.push(await rowOf(`${list}?q=`, ada, `${list}?q=${searches()[2]}`, MEMBER_MS));
  }
  for (const q of searches().slice(0, 20)) await ada.post('/api/searches', { q });
  rows.push(await rowOf('/ beside 20 saved searches', ada, '/', MEMBER_MS, () => ada.post('/api/posts', { sourceId: 1 })));
  return rows.map((row) => ({ ...row, name: `${posts} posts: ${row.name}` }));
}

/** `path` gets a parameter of its own at each call, so that no kept answer is measured. */
async function rowOf(
  name: string, client: Client, path: string, limit: number, before: () => unknown = () => {},
): Promise<BenchRow> {
  const times: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    await before();
    const since = process.cpuUsage();
    const { status, text } = await client.page(`${path}${path.includes('?') ? '&' : '?'}n=${round}`);
    const took = processorMsSince(since);
    if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 200)}`);
    if (round >= 0) times.push(took);
  }
  return limitRow(name, median(times), limit, 'ms');
}
