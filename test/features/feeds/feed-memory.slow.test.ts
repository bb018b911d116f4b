// Protects the memory of the worker while many large feeds come in at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { rss, serving } from '../../support/feeds.ts';
import { startHubProcess, temporaryDataDir } from '../../support/hub-process.ts';
import { startOrigin } from '../../support/origin.ts';
import { peakMemory } from '../../support/peak-memory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startWebWithAccount } from '../../support/web-with-account.ts';

const FEEDS = 8;
const POSTS = 2_000;
const MIB = 1024 * 1024;

function feedOf(name: string): string {
  const image = (n: number) => `<img src="https://images.test/${n}.png" alt="An owl, again">`;
  const images = Array.from({ length: 20 }, (_, n) => image(n)).join('');
  const content = `<p>${images}${'words, and <em>more</em> of them '.repeat(112)}</p>`;
  return rss(name, Array.from({ length: POSTS }, (_, n) => ({ guid: `${name}-${n}`, content: `${content}${n}` })));
}

test('eight feeds of 10 MiB at once need at most 300 MiB of the worker, and web goes on writing', async (t) => {
  const dataDir = temporaryDataDir(t);
  const { client } = await startWebWithAccount(t, dataDir, { SOURCES_MAX: '100000' });
  const origins = await Promise.all(Array.from({ length: FEEDS }, (_, n) => {
    const feed = feedOf(`feed-${n}`);
    assert.ok(feed.length > 9 * MIB && feed.length < 10 * MIB, `${feed.length} bytes`);
    return startOrigin(t, serving(() => feed));
  }));
  const body = `<opml><body>${origins.map(({ url }) => `<outline xmlUrl="${url}/feed"/>`).join('')}</body></opml>`;
  const imported = await client.send('POST', '/api/sources/import', { body, headers: { 'content-type': 'text/x-opml' } });
  assert.equal(imported.status, 200, imported.text);

  const worker = startHubProcess(t, 'worker', dataDir);
  let longest = 0;
  const done = async (): Promise<boolean> => {
    await sleep(100);
    const since = performance.now();
    const added = await client.post('/api/sources', { kind: 'native', title: 'Notes' });
    assert.equal(added.status, 201, added.text);
    longest = Math.max(longest, performance.now() - since);
    const { items } = (await client.get('/api/sources?limit=8')).json<{ items: { lastSuccessAt: string | null }[] }>();
    return items.every(({ lastSuccessAt }) => lastSuccessAt !== null);
  };
  await waitUntil('all feeds are stored', done);
  const peak = peakMemory(worker.child.pid);
  t.diagnostic(`at most ${Math.round(peak / MIB)} MiB resident; the longest write of web took ${Math.round(longest)} ms`);
  assert.ok(peak <= 300 * MIB, `the peak was ${Math.round(peak / MIB)} MiB`);
  assert.deepEqual(worker.lines('job will be retried'), []);
});
