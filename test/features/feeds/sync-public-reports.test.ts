// Protects synchronisations from what servers answer, as public reports tell of it.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/clock.ts';
import { syncState } from '../../../src/features/sources/sync-state-store.ts';
import { addFeed, itemsAt } from '../../support/accounts.ts';
import { rss } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin, type OriginHandler } from '../../support/origin.ts';
import { countRows } from '../../support/stored-rows.ts';

/** Rows that stay as they are, each with the reason. */
const STAYS = {
  B03: 'A server that always says 304 cannot be told from one whose feed rests; the validators are its own, sent as RFC '
    + '9110 asks, and a changed address of the feed forgets them.',
};

const XML = { 'content-type': 'application/rss+xml' };
const feedOf = (count: number): string =>
  rss('Feed', Array.from({ length: count }, (_, n) => ({ guid: String(count - n), title: `Post ${count - n}` })));

/** A feed of three posts that was read once, with what its server answers from then on. */
async function followed(t: TestContext, first: OriginHandler = answer(200, feedOf(3), XML)) {
  const { hub, ada } = await hubWith(t, ['ada']);
  const server = { handler: first };
  const origin = await startOrigin(t, (request, response) => server.handler(request, response));
  const id = await addFeed(ada, `${origin.url}/feed`);
  await hub.work();
  const sync = async (): Promise<void> => {
    hub.passTime(DAY);
    assert.ok(await hub.countJobs('sync-source') > 0);
  };
  const source = async () => (await ada.get(`/api/sources/${id}`))
    .json<{ state: string; stateReason: string | null; nextSyncAt: string }>();
  const titles = async () => (await itemsAt<{ title: string }>(ada, '/api/posts?limit=100')).map(({ title }) => title);
  return { hub, ada, id, server, origin, sync, source, titles };
}

function answer(status: number, body: string | Buffer = '', headers: Record<string, string> = {}): OriginHandler {
  return (_request, response) => void response.writeHead(status, headers).end(body);
}

test('B02 (commafeed#1746, feedbin#726, miniflux#2675): a new ETag of the same document is remembered', async (t) => {
  const { origin, server, sync } = await followed(t, answer(200, feedOf(3), { ...XML, etag: '"v1"' }));
  server.handler = answer(200, feedOf(3), { ...XML, etag: '"v2"' });
  for (const sent of ['"v1"', '"v2"', '"v2"']) {
    await sync();
    assert.equal(origin.requests.at(-1)?.headers['if-none-match'], sent);
  }
});

test('B03 (FreshRSS#1020): a server that always says 304 is asked with its own validators, and is not failing', async (t) => {
  t.diagnostic(STAYS.B03);
  const validators = { etag: '"x"', 'last-modified': 'Sat, 16 Nov 2041 19:11:00 GMT' };
  const { origin, server, sync, source, titles } = await followed(t, answer(200, feedOf(3), { ...XML, ...validators }));
  server.handler = answer(304);
  await sync();
  const { headers } = origin.requests.at(-1) ?? assert.fail();
  assert.deepEqual([headers['if-none-match'], headers['if-modified-since']], Object.values(validators));
  assert.deepEqual([(await source()).state, (await titles()).length], ['active', 3]);
});

test('B04 (miniflux-legacy#218): new posts are read though the ETag stays the same', async (t) => {
  const { server, sync, titles } = await followed(t, answer(200, feedOf(3), { ...XML, etag: '"x"' }));
  server.handler = answer(200, feedOf(4), { ...XML, etag: '"x"' });
  await sync();
  assert.equal((await titles()).length, 4);
});

const LARGE = 'x'.repeat(400_000);
const large = Array.from({ length: 29 }, (_, n) => ({ guid: String(n), title: `Post ${n}`, content: LARGE }));
const json = JSON.stringify({
  version: 'https://jsonfeed.org/version/1.1', title: 'Big \\" {',
  items: large.map(({ guid, title, content }) => ({ id: guid, title, content_text: content, authors: [{ name: 'Ada' }] })),
});

const DOCUMENTS: Record<string, [document: string | Buffer, posts: number]> = {
  'RSS': [rss('Big', large), 26],
  'RSS in UTF-16': [Buffer.from(`\ufeff${rss('Big', large)}`, 'utf16le'), 13],
  'RSS that is not in the encoding that it names': [rss('Big', large).replace('utf-8', 'UTF-16'), 26],
  'JSON Feed': [json, 26],
};

for (const [kind, [document, posts]] of Object.entries(DOCUMENTS)) {
  for (const coding of kind === 'RSS' ? ['with its length', 'in pieces', 'packed'] : ['packed']) {
    test(`B21: of a feed beyond 10 MiB, what fits is read, and its owner is told (${kind}, ${coding})`, async (t) => {
      const etag = { etag: '"big"' };
      const { hub, id, server, sync, source } = await followed(t, (_request, response) => {
        if (coding === 'packed') response.writeHead(200, { ...etag, 'content-encoding': 'gzip' }).end(gzipSync(document));
        else if (coding === 'in pieces') void response.writeHead(200, etag).write(document, () => response.end());
        else response.writeHead(200, { ...etag, 'content-length': Buffer.byteLength(document) }).end(document);
      });
      assert.equal(countRows(hub, 'posts'), posts);
      const told = `The feed is larger than 10 MiB. The hub read ${posts} posts of its first 10 MiB.`;
      assert.deepEqual([(await source()).state, (await source()).stateReason], ['active', told]);
      assert.equal(syncState(hub.handle).find(id)?.etag, '"big"');

      server.handler = answer(304);
      await sync();
      assert.equal((await source()).stateReason, told, 'it is so still');
      server.handler = answer(200, feedOf(3), XML);
      await sync();
      assert.equal((await source()).stateReason, null);
      assert.equal(countRows(hub, 'posts'), posts, 'the small feed has three of them');
    });
  }
}

/** Answers to `Retry-After`: the shortest and the longest wait that may come of it. */
const WAITS: Record<string, [written: string, least: number, most: number]> = {
  B22a: ['120.5', 30 * SECOND, 3 * MINUTE],
  B22b: ['0', 0, 3 * MINUTE],
  B22c: ['-1', 30 * SECOND, 3 * MINUTE],
  B22d: ['Wed, 16 Jan 2030 20:00:00 GMT', 8 * HOUR - MINUTE, 8 * HOUR],
  B22e: ['Wednesday, 16-Jan-30 20:00:00 GMT', 8 * HOUR - MINUTE, 8 * HOUR],
  B22f: ['2030-01-16T20:00:00Z', 30 * SECOND, 3 * MINUTE],
  B22g: ['1h', 30 * SECOND, 3 * MINUTE],
  B22h: ['99999999999', DAY - MINUTE, DAY],
};

for (const [id, [written, least, most]] of Object.entries(WAITS)) {
  test(`${id} (FreshRSS#7760): after 429 with Retry-After “${written}” the hub waits, at most a day`, async (t) => {
    const { hub, server, sync, source } = await followed(t);
    server.handler = answer(429, '', { 'retry-after': written });
    await sync();
    const { state, stateReason, nextSyncAt } = await source();
    assert.equal(state, 'failing');
    assert.match(stateReason ?? '', /asks the hub to wait \(429\)/);
    const wait = Date.parse(nextSyncAt) - hub.now();
    assert.ok(wait >= least && wait <= most, `${wait} ms`);
  });
}

/** Later answers: their status and body, and what the owner is told; null if they are taken for the feed. */
const LATER: Record<string, [status: number, body: string, told: RegExp | null]> = {
  B23a: [200, '', /the document is empty/],
  B23b: [204, '', /the document is empty/],
  B23c: [202, '<html><body>Checking your browser</body></html>', /an HTML page, not a feed/],
  B23d: [200, '<html><head><title>Maintenance</title></head></html>', /an HTML page, not a feed/],
  B23e: [206, feedOf(3), null],
  B23f: [203, feedOf(3), null],
  B23g: [226, feedOf(3), null],
};

for (const [id, [status, body, told]] of Object.entries(LATER)) {
  const end = told ? 'is no feed, and its source is failing' : 'is a feed';
  test(`${id} (miniflux#1491): a later answer ${status} “${body.slice(0, 20)}” ${end}; all posts stay`, async (t) => {
    const { server, sync, source, titles } = await followed(t);
    server.handler = answer(status, body);
    await sync();
    const { state, stateReason } = await source();
    assert.equal(state, told ? 'failing' : 'active');
    if (told) assert.match(stateReason ?? '', told);
    else assert.equal(stateReason, null);
    assert.equal((await titles()).length, 3);
  });
}
