// Protects other people's servers: one request at a time for each host, and no host delays another.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test, type TestContext } from 'node:test';
import { createLanes } from '../../../src/platform/limit-concurrency.ts';
import { fakeLookup } from '../../support/fake-lookup.ts';
import { startOrigin, type OriginHandler } from '../../support/origin.ts';
import { failure, openFetch } from '../../support/outbound.ts';

const { lookup } = fakeLookup({ 'a.example': ['127.0.0.1'], 'b.example': ['127.0.0.1'] });

/** A remote that counts how many requests it has in hand per host; a redirect to `?to=` or 200. */
async function countingOrigin(t: TestContext) {
  const inHand = new Map<string, number>();
  const most = new Map<string, number>();
  const answer: OriginHandler = ({ path, headers }, response) => {
    const host = headers.host ?? '';
    const count = (inHand.get(host) ?? 0) + 1;
    inHand.set(host, count);
    most.set(host, Math.max(most.get(host) ?? 0, count));
    setTimeout(() => {
      inHand.set(host, (inHand.get(host) ?? 0) - 1);
      const location = new URL(path, 'http://origin').searchParams.get('to');
      if (location) response.writeHead(302, { location }).end();
      else response.end('ok');
    }, 20);
  };
  const origin = await startOrigin(t, answer);
  return { port: origin.port, requests: origin.requests, most };
}

test('of many fetches from one host only one is under way at a time', async (t) => {
  const { port, requests, most } = await countingOrigin(t);
  const fetch = openFetch({ lookup, totalMs: 10_000 });

  const urls = [1, 2, 3, 4, 5].map((n) => `http://a.example:${port}/${n}`);
  const answers = await Promise.all(urls.map((url) => fetch({ url, maxBytes: 9 })));
  assert.deepEqual(answers.map(({ body }) => body.toString()), ['ok', 'ok', 'ok', 'ok', 'ok']);
  assert.deepEqual(requests.map(({ path }) => path), ['/1', '/2', '/3', '/4', '/5'], 'in the order of asking');
  assert.deepEqual([...most], [[`a.example:${port}`, 1]]);
});

test('hosts do not wait for one another', async (t) => {
  const { port, most } = await countingOrigin(t);
  const fetch = openFetch({ lookup, totalMs: 10_000 });
  const other = await startOrigin(t, () => {}); // never answers

  const controller = new AbortController();
  const stuck = fetch({ url: other.url, maxBytes: 9, signal: controller.signal });
  const answer = await fetch({ url: `http://a.example:${port}/`, maxBytes: 9 });
  assert.equal(answer.status, 200);
  assert.equal(most.size, 1);
  controller.abort();
  assert.equal((await failure(stuck)).reason, 'aborted');
});

test('hosts that redirect to one host meet there one after the other', async (t) => {
  const { port, most } = await countingOrigin(t);
  const starts = await Promise.all([1, 2, 3, 4].map(() => countingOrigin(t)));
  const fetch = openFetch({ lookup, totalMs: 10_000 });

  const to = encodeURIComponent(`http://b.example:${port}/feed`);
  await Promise.all(starts.map((start) => fetch({ url: `http://a.example:${start.port}/?to=${to}`, maxBytes: 9 })));
  assert.deepEqual([...most], [[`b.example:${port}`, 1]]);
});

test('two hosts that redirect to each other do not wait for each other for ever', async (t) => {
  const { port, requests, most } = await countingOrigin(t);
  const fetch = openFetch({ lookup, totalMs: 10_000 });
  const [a, b] = [`http://a.example:${port}/`, `http://b.example:${port}/`];

  const answers = await Promise.all([
    fetch({ url: `${a}?to=${encodeURIComponent(b)}`, maxBytes: 9 }),
    fetch({ url: `${b}?to=${encodeURIComponent(a)}`, maxBytes: 9 }),
    fetch({ url: `${a}?to=${encodeURIComponent(`${a}self`)}`, maxBytes: 9 }),
  ]);
  assert.deepEqual(answers.map(({ url }) => url), [b, a, `${a}self`]);
  assert.equal(requests.length, 6);
  assert.deepEqual([...most.values()], [1, 1]);
});

test('waiting for a host counts towards the time of a fetch', async (t) => {
  const origin = await startOrigin(t, () => {}); // never answers
  const fetch = openFetch({ lookup, totalMs: 500 });
  const endings = [1, 2, 3, 4, 5, 6].map((n) => failure(fetch({ url: `${origin.url}/${n}`, maxBytes: 9 })));
  for (const { reason } of await Promise.all(endings)) assert.equal(reason, 'timeout');
  assert.ok(origin.requests.length < 4, `${origin.requests.length} were sent; one after the other, all would be`);
});

test('work that fails frees its host, and so does work that was called off as its turn came', async () => {
  const inLane = createLanes();
  const { signal } = new AbortController();
  const order: string[] = [];

  await assert.rejects(inLane('h', signal, () => Promise.reject(new Error('broken'))), /broken/);
  const late = new AbortController();
  const first = inLane('h', signal, async () => void order.push('first'));
  const second = inLane('h', late.signal, async () => late.signal.throwIfAborted());
  const third = inLane('h', signal, async () => void order.push('third'));
  void first.then(() => late.abort(new Error('called off')));
  await assert.rejects(second, /called off/);
  await third;
  await assert.rejects(inLane('h', AbortSignal.abort(new Error('too late')), async () => 1), /too late/);
  assert.equal(await inLane('h', signal, async () => 'free'), 'free');
  assert.deepEqual(order, ['first', 'third']);
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});
