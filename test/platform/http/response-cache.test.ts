// Protects visitors from stale or foreign pages: a kept answer goes with any change and is for everybody or nobody.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { hubRoutes } from '../../../src/app/routes.ts';
import { openDatabase } from '../../../src/platform/db/open-database.ts';
import { createResponseCache, isCacheable, type CachedAnswer } from '../../../src/platform/http/response-cache.ts';
import { json, noContent, type Reply, type ReplyHeaders } from '../../../src/platform/http/reply.ts';
import { route, type HubRequest } from '../../../src/platform/http/router.ts';
import { addFeed } from '../../support/accounts.ts';
import { startBareServer } from '../../support/bare-server.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { retitlePosts } from '../../support/stored-posts.ts';
import { startOrigin } from '../../support/origin.ts';

const ROUTE = route('GET /x', 'public', 'x', () => noContent());
const KIB = 1024;

function answerOf(bytes: number): CachedAnswer {
  const form = { headers: [], body: Buffer.alloc(bytes), etag: '"x"' };
  return { response: { status: 200, ...form, isCompressible: false }, route: ROUTE };
}

async function hubWithPost(t: TestContext) {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', [{ guid: 'a', title: 'Barn owls' }])) });
  return { hub, ada, sourceId: await addFeed(ada, `${origin.url}/feed`) };
}

const ANONYMOUS_READS = [
  '/', '/api/posts', '/api/posts?limit=5', '/posts/1', '/api/posts/1', '/posts.atom', '/posts.json', '/sources/1.atom',
  '/sources/1.json', '/?q=owls',
];

test('what was kept is given again until the version changes, and then nothing of it', () => {
  let version = 1;
  const cache = createResponseCache(() => version);
  const [first, second] = [answerOf(1), answerOf(2)];
  cache.put('/a', first, cache.version());
  cache.put('/b', second, cache.version());

  assert.equal(cache.get('/a'), first);
  assert.equal(cache.get('/b'), second);
  assert.equal(cache.get('/c'), undefined);
  version = 2;
  assert.equal(cache.get('/a'), undefined);
  version = 1;
  assert.equal(cache.get('/b'), undefined, 'a version that comes back brings nothing back');
});

test('an answer that was made while the content changed is not kept', () => {
  let version = 1;
  const cache = createResponseCache(() => version);
  for (const isNoticedBefore of [false, true]) {
    const asOf = cache.version();
    version++;
    if (isNoticedBefore) cache.get('/b');

    cache.put('/a', answerOf(1), asOf);
    assert.equal(cache.get('/a'), undefined);
  }
});

test('while the version cannot be asked nothing is kept or given', () => {
  let broken = false;
  const cache = createResponseCache(() => {
    if (broken) throw new Error('unreadable');
    return 1;
  });
  cache.put('/a', answerOf(1), cache.version());
  broken = true;

  assert.equal(cache.get('/a'), undefined);
  cache.put('/b', answerOf(1), cache.version());
  assert.equal(cache.get('/b'), undefined);
  broken = false;
  assert.equal(cache.get('/b'), undefined);
});

test('the least recently used answers go first when 16 MiB are full', () => {
  const cache = createResponseCache(() => 1);
  for (let n = 0; n < 20; n++) {
    cache.put(`/${n}`, answerOf(1000 * KIB), cache.version());
    cache.get('/0');
  }

  assert.ok(cache.get('/0'), 'used all the time');
  assert.ok(cache.get('/19'), 'the newest');
  assert.equal(cache.get('/1'), undefined);
  const kept = Array.from({ length: 20 }, (_, n) => cache.get(`/${n}`)).filter(Boolean).length;
  assert.ok(kept >= 14 && kept <= 16, `${kept} are kept`);
});

test('the compressed form of an answer counts too, and takes the place of the answer without it', () => {
  const cache = createResponseCache(() => 1);
  for (let n = 0; n < 20; n++) {
    const { response, route } = answerOf(500 * KIB);
    cache.put(`/${n}`, { response, route }, cache.version());
    cache.put(`/${n}`, { response: { ...response, compressed: answerOf(500 * KIB).response }, route }, cache.version());
  }

  const kept = Array.from({ length: 20 }, (_, n) => cache.get(`/${n}`)).filter(Boolean).length;
  assert.ok(kept >= 14 && kept <= 16, `${kept} are kept`);
});

test('one answer over a mebibyte is not kept, and drives nothing out', () => {
  const cache = createResponseCache(() => 1);
  cache.put('/small', answerOf(1), cache.version());

  cache.put('/large', answerOf(KIB * KIB + 1), cache.version());
  assert.equal(cache.get('/large'), undefined);
  assert.ok(cache.get('/small'));
});

test('many tiny answers to long addresses are as much as they are in memory', () => {
  const cache = createResponseCache(() => 1);
  const keys = Array.from({ length: 2_000 }, (_, n) => `/?q=${String(n).padStart(8_000, 'x')}`);
  for (const key of keys) cache.put(key, answerOf(20), cache.version());

  const kept = keys.filter((key) => cache.get(key) !== undefined).length;
  assert.ok(kept > 500 && kept < 1_100, `${kept} are kept`);
});

test('only whole answers that everybody may have are worth keeping', () => {
  const ready = (headers: ReplyHeaders = {}) => ({ status: 200, headers, body: Buffer.from('x'), isText: true });

  assert.equal(isCacheable(ready()), true);
  assert.equal(isCacheable({ ...ready(), status: 404 }), false);
  assert.equal(isCacheable({ ...ready(), status: 206 }), false);
  assert.equal(isCacheable(ready({ 'cache-control': 'no-store' })), false);
  assert.equal(isCacheable(ready({ 'set-cookie': 's=1' })), false);
  assert.equal(isCacheable({ ...ready(), isText: false }), false);
});

test('a commit of another connection is seen by the very next request', async (t) => {
  const { hub } = await hubWithPost(t);
  const other = openDatabase(hub.config.databasePath);
  t.after(() => other.close());

  for (const path of ANONYMOUS_READS) {
    for (const title of [`First at ${path.length}`, `Second at ${path.length}`]) {
      await hub.anybody.get(path);
      const before = await hub.anybody.get(path);
      retitlePosts({ db: other }, title);
      const answer = await hub.anybody.get(path, { 'if-none-match': before.headers.get('etag') ?? '' });
      assert.equal(answer.status, 200, path);
      assert.ok(answer.text.includes(title), `${path} shows ${title}`);
    }
  }
});

/** A page as it reads: a search marks what it has found. */
function unmarked(text: string): string {
  return text.replace(/<\/?mark>/g, '');
}

test('what people do by themselves is seen by everybody\'s next request', async (t) => {
  const { hub, ada, sourceId } = await hubWithPost(t);
  const read = async (path: string) => unmarked((await hub.anybody.get(path)).text);
  for (const path of ANONYMOUS_READS) await read(path);

  await ada.patch(`/api/sources/${sourceId}`, { title: 'Night birds' });
  for (const path of ['/', '/api/posts', '/posts/1', '/sources/1.atom', '/sources/1.json', '/posts.atom']) {
    assert.match(await read(path), /Night birds/, path);
  }
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' });
  for (const path of ANONYMOUS_READS) assert.doesNotMatch(await read(path), /Barn owls/, path);
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'public' });
  for (const path of ANONYMOUS_READS) assert.match(await read(path), /Barn owls/, path);
  await ada.delete('/api/posts/1');
  for (const path of ANONYMOUS_READS) assert.doesNotMatch(await read(path), /Barn owls/, path);
});

test('a page that a signed-in person sees is never given to anybody else', async (t) => {
  const { hub, ada, sourceId } = await hubWithPost(t);
  await ada.patch(`/api/sources/${sourceId}`, { visibility: 'private' });
  const { token } = (await ada.post('/api/tokens', { name: 'reader', currentPassword: hub.password })).json<{ token: string }>();

  for (const path of ANONYMOUS_READS) {
    for (const answer of [await ada.get(path), await hub.anybody.get(path, { authorization: `Bearer ${token}` })]) {
      assert.equal(answer.headers.get('cache-control'), 'private, no-cache', path);
      assert.match(answer.headers.get('vary') ?? '', /^Cookie, Authorization\b/, path);
    }
    assert.doesNotMatch(unmarked((await hub.anybody.get(path)).text), /Barn owls|Sign out/, path);
  }
  assert.match((await ada.get('/all')).text, /Barn owls/);
  assert.match((await ada.get('/')).text, /Sign out/, 'nor does Ada get the page that is kept for others');
});

test('a parameter that a kept route does not know is dropped: it makes no answer of its own', async (t) => {
  const seen: string[] = [];
  const handler = ({ query }: HubRequest): Reply => {
    seen.push(query.toString());
    return json({ q: query.get('q') });
  };
  const { address } = await startBareServer(t, { routes: [route('GET /kept', 'public', 'kept', handler, { cached: ['q', 'limit'] })] });
  const ask = async (query: string): Promise<unknown> => (await fetch(`${address}/kept${query}`)).json();
  for (const query of ['', '?x=1', '?x=2&utm_source=y', '?&', '?Q=1']) assert.deepEqual(await ask(query), { q: null });
  for (const query of ['?q=a%20b', '?x=9&q=a+b', '?q=a b&q=c', '?q=a%20b#z']) assert.deepEqual(await ask(query), { q: 'a b' });
  assert.deepEqual(await ask('?limit=2&q=a b'), { q: 'a b' });
  assert.deepEqual(seen, ['', 'q=a+b', 'q=a+b&limit=2']);
});

test('every kept route of the hub answers an unknown parameter as if it were not there', async (t) => {
  const { hub } = await hubWithPost(t);
  const kept = hubRoutes(hub.handle).filter(({ cached }) => cached !== undefined);
  assert.ok(kept.length > 10);
  for (const { path } of kept) {
    const one = path.replace(/:\w+/g, '1');
    const [plain, odd] = [await hub.anybody.get(one), await hub.anybody.get(`${one}?utm_source=%3Cx%3E`)];
    assert.deepEqual([odd.status, odd.text, odd.headers.get('etag')], [plain.status, plain.text, plain.headers.get('etag')], path);
  }
});
