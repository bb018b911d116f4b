// Protects synchronisation from one member's dead hosts, and tells owners the truth about what fails.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { planDueSyncs } from '../../../src/features/feeds/sync-source.ts';
import { jobs } from '../../../src/features/hub/hub.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addFeed } from '../../support/accounts.ts';
import { rss, serving } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { hubWith, startHub, type Hub } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';
import type { Client } from '../../support/client.ts';
import { loseLeasesAt } from '../../support/stored-jobs.ts';
import { countLimited, countRows } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** A port to each: hosts of their own, which never answer. */
async function hangingHosts(t: TestContext, many: number, onAsked = () => {}): Promise<string[]> {
  const origins = Array.from({ length: many }, () => startOrigin(t, onAsked));
  return (await Promise.all(origins)).map(({ url }) => `${url}/feed`);
}

async function importFeeds(client: Client, urls: string[]): Promise<void> {
  const body = `<opml version="2.0"><body>${urls.map((url) => `<outline xmlUrl="${url}"/>`).join('')}</body></opml>`;
  const headers = { 'content-type': 'text/x-opml' };
  assert.equal((await client.send('POST', '/api/sources/import', { body, headers })).status, 200);
}

const shown = (hub: Hub, id: number) => sources(hub.handle).find(id);

test('a feed that a member requests is fetched before most of another member’s twelve feeds, whose hosts never answer', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob'], { SYNC_CONCURRENCY: '4' }, { totalMs: 1_000 });
  const order: string[] = [];
  const origin = await startOrigin(t, (request, response) => {
    order.push('wanted');
    serving(() => rss('Owls', []))(request, response);
  });
  const id = await addFeed(bob, `${origin.url}/feed`);
  order.length = 0;
  await importFeeds(ada, await hangingHosts(t, 12, () => order.push('hangs')));
  await planDueSyncs(hub.handle, new AbortController().signal); // hers are in the queue before his
  await bob.post(`/api/sources/${id}/sync`);

  await hub.work();
  assert.equal(order.length, 13);
  assert.ok(order.indexOf('wanted') < 4, `asked as number ${order.indexOf('wanted')}`);
});

test('one member waits with 25 new feeds, and others wait beside them', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const origin = await startOrigin(t, (request, response) => void promise.then(() => reply(404, {})(request, response)));
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const ends: number[] = [];
  const add = async (by: typeof ada, n: number): Promise<void> => {
    ends.push((await by.post('/api/sources', { kind: 'feed', url: `${origin.url}/${n}` })).status);
  };
  const all = Array.from({ length: 29 }, (_, n) => add(ada, n));
  await waitUntil('two are opened, 25 wait, others are refused', () => ends.length === 2);
  all.push(add(bob, 1));
  await waitUntil('bob has asked', () => countLimited(hub, 'add-source') === 2);
  resolve();
  await Promise.all(all);
  assert.deepEqual(ends.toSorted(), [...Array.from({ length: 28 }, () => 422), 503, 503]);
});

test('sources that worked last time come before those that failed or were never tried', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada'], { SYNC_CONCURRENCY: '1' });
  const order: string[] = [];
  const good = await startOrigin(t, (request, response) => {
    order.push('works');
    serving(() => rss('Owls', []))(request, response);
  });
  const bad = await startOrigin(t, (request, response) => {
    order.push('fails');
    reply(500, {})(request, response);
  });
  await importFeeds(ada, ['a', 'b'].map((name) => `${bad.url}/${name}`));
  for (const name of ['a', 'b', 'c']) await addFeed(ada, `${good.url}/${name}`);
  order.length = 0;
  hub.passTime(DAY);

  await hub.work();
  assert.deepEqual(order, ['works', 'works', 'works', 'fails', 'fails']);
});

test('a host that ran out of time gets less the next time, but all of it at the last try of a job', async (t) => {
  const hub = await startHub(t, { SYNC_MAX_ATTEMPTS: '3' }, { totalMs: 50 });
  const given: (number | undefined)[] = [];
  const { outbound } = hub.handle;
  hub.handle.outbound = (request) => {
    given.push(request.totalMs);
    return outbound(request);
  };
  await importFeeds(await hub.person('ada'), await hangingHosts(t, 1));
  for (let time = 0; time < 3; time++) {
    await hub.work();
    hub.passTime(HOUR);
  }
  assert.deepEqual(given, [undefined, 5_000, undefined]);
});

test('429 with Retry-After is obeyed, and “Next” is when the next try really is', async (t) => {
  const { hub, feed, ada, id } = await followedFeed(t, []);
  feed.handler = reply(429, { 'retry-after': '7200' });
  await hub.work(DAY);

  const [job] = jobs(hub.handle).list({ state: 'retrying' });
  assert.equal(shown(hub, id)?.nextSyncAt, hub.now() + 2 * HOUR);
  assert.equal(job?.runAt, shown(hub, id)?.nextSyncAt);
  assert.match((await ada.page(`/sources/${id}/settings`)).text, /<dt>Next<\/dt><dd><time datetime="2030-01-16T14:00:00/);
  const asked = async () => (hub.passTime(HOUR + MINUTE), hub.countJobs('sync-source'));
  assert.deepEqual([await asked(), await asked()], [0, 1], 'one try, at that time');
});

test('a worker that lost a large feed stores no more of it, and the next one goes on', async (t) => {
  const { hub, feed, id } = await followedFeed(t, []);
  const content = `<p>${'word '.repeat(600)}</p>`;
  feed.handler = serving(() => rss('Owls', Array.from({ length: 400 }, (_, n) => ({ guid: `${n}`, content }))));
  const mend = loseLeasesAt(hub, '300');
  await hub.work(DAY);
  const before = countRows(hub, 'posts');
  assert.ok(before > 0 && before < 200, `${before} stored, where the 100th was the last of this worker’s`);
  assert.equal(shown(hub, id)?.lastSuccessAt, hub.now() - DAY, 'it has not ended well');

  mend();
  await hub.work(DAY);
  assert.equal(countRows(hub, 'posts'), 400);
});

test('small feeds do not wait for large ones, however many of these hang', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const large = `<p>${'word '.repeat(5_000)}</p>`;
  const began: string[] = [];
  const gates = [1, 2, 3, 4].map(() => Promise.withResolvers<void>());
  const urls = await Promise.all(gates.map(async (gate, n) => {
    const whole = rss('Large', Array.from({ length: 60 }, (_, i) => ({ guid: `${n}-${i}`, content: large })));
    const origin = await startOrigin(t, (_request, response) => {
      began.push(`large ${n}`);
      response.write(whole.slice(0, 1_200_000));
      void gate.promise.then(() => response.end(whole.slice(1_200_000)));
    });
    return `${origin.url}/feed`;
  }));
  const small = await startOrigin(t, (request, response) => {
    serving(() => rss('Small', [{ guid: 's' }]))(request, response);
    response.on('close', () => gates.forEach(({ resolve }) => resolve()));
  });
  await importFeeds(ada, [...urls, `${small.url}/feed`]);

  await hub.work();
  assert.equal(began.length, 4);
  assert.equal(countRows(hub, 'posts'), 241);
});
