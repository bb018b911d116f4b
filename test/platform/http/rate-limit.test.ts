// Protects rate limits: exact, shared by all processes, across restarts, and harmless when clocks move.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { MINUTE } from '../../../src/platform/clock.ts';
import { createRateLimitStore, type Limit } from '../../../src/platform/db/rate-limit-store.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith, startHub } from '../../support/hub.ts';
import { countRows, writesSoFar } from '../../support/stored-rows.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';
import { startOrigin } from '../../support/origin.ts';

const LIMIT: Limit = { name: 'knock', burst: 3, everyMs: 1000 };

function startLimits(t: TestContext) {
  const { db, connect } = migratedDatabase(t);
  let now = 1_000_000;
  const clock = () => now;
  return { db, connect, clock, limits: createRateLimitStore(db, clock), passTime: (ms: number) => void (now += ms) };
}

test('a burst is admitted, then one act at a time, and the wait that is told is long enough', (t) => {
  const { limits, passTime } = startLimits(t);

  assert.deepEqual([1, 2, 3].map(() => limits.take(LIMIT, 'ada')), [0, 0, 0]);
  const wait = limits.take(LIMIT, 'ada');
  assert.equal(wait, 1000);
  passTime(wait - 1);
  assert.equal(limits.take(LIMIT, 'ada'), 1, 'a refused act costs nothing');
  passTime(1);
  assert.equal(limits.take(LIMIT, 'ada'), 0);
  assert.equal(limits.take(LIMIT, 'ada'), 1000);
});

test('time without acts refills the burst, and no more than the burst', (t) => {
  const { limits, passTime } = startLimits(t);
  const admitted = () => [1, 2, 3, 4].filter(() => limits.take(LIMIT, 'ada') === 0).length;

  assert.equal(admitted(), 3);
  passTime(2000);
  assert.equal(admitted(), 2);
  passTime(1_000_000);
  assert.equal(admitted(), 3);
});

test('keys and limits are apart', (t) => {
  const { limits } = startLimits(t);
  for (let n = 0; n < 3; n++) limits.take(LIMIT, 'ada');

  assert.ok(limits.take(LIMIT, 'ada') > 0);
  assert.equal(limits.take(LIMIT, 'bob'), 0);
  assert.equal(limits.take({ ...LIMIT, name: 'other' }, 'ada'), 0);
});

test('an act that is given back was none', (t) => {
  const { limits } = startLimits(t);
  for (let n = 0; n < 50; n++) {
    assert.equal(limits.take(LIMIT, 'ada'), 0);
    limits.refund(LIMIT, 'ada');
  }
  assert.deepEqual([1, 2, 3, 4].map(() => limits.take(LIMIT, 'ada')), [0, 0, 0, 1000]);
  limits.refund(LIMIT, 'never seen');
});

test('a limit holds across restarts and for all processes', (t) => {
  const { limits, connect, clock } = startLimits(t);
  for (let n = 0; n < 3; n++) limits.take(LIMIT, 'ada');

  assert.equal(createRateLimitStore(connect(), clock).take(LIMIT, 'ada'), 1000);
});

test('a clock that is set back locks nobody out', (t) => {
  const { limits, passTime } = startLimits(t);
  passTime(10_000_000);
  for (let n = 0; n < 3; n++) limits.take(LIMIT, 'ada');

  passTime(-10_000_000);
  assert.equal(limits.take(LIMIT, 'ada'), 0);
  assert.deepEqual([1, 2, 3].map(() => limits.take(LIMIT, 'ada')), [0, 0, 1000], 'and admits one burst, no more');
});

test('keys that limit nothing any more are removed, a batch at a time', (t) => {
  const { db, limits, passTime } = startLimits(t);
  for (const who of ['a', 'b', 'c']) limits.take(LIMIT, who);
  passTime(1001);
  limits.take(LIMIT, 'fresh');

  assert.equal(limits.prune(2), 2);
  assert.equal(limits.prune(10), 1);
  assert.equal(countRows({ db }, 'rate_limits'), 1);
});

test('after ten failed sign-ins an address has to wait, and is told how long', async (t) => {
  const { hub } = await hubWith(t, ['ada']);
  const attempt = (password: string) => hub.anybody.post('/api/session', { username: 'ada', password });

  for (let n = 0; n < 10; n++) assert.equal((await attempt('wrong')).status, 401);
  const refused = await attempt(hub.password);
  assert.equal(refused.status, 429, 'also with the right password');
  const seconds = Number(refused.headers.get('retry-after'));
  assert.ok(seconds > 0 && seconds <= 60, `${seconds} s`);
  assert.equal(refused.json()['title'], 'Too Many Requests');
  const { text } = await hub.anybody.get('/api/metrics');
  assert.match(text, /service_limits_refused_total\{limit="sign-in"\} 1\n/);
  assert.match(text, /service_limits_refused_total\{limit="join"\} 0\n/);
  hub.passTime(seconds * 1000);
  assert.equal((await attempt(hub.password)).status, 200);
});

test('a password of more than 16 KiB is not read, and counted as refused', async (t) => {
  const hub = await startHub(t);
  for (const path of ['/api/session', '/api/accounts']) {
    assert.equal((await hub.anybody.post(path, { password: 'x'.repeat(17_000) })).status, 413);
  }
  assert.match((await hub.anybody.get('/api/metrics')).text, /service_limits_refused_total\{limit="body-size"\} 2\n/);
});

test('signing in rightly is never limited', async (t) => {
  const { hub } = await hubWith(t, ['ada']);

  for (let n = 0; n < 15; n++) {
    assert.equal((await hub.anybody.post('/api/session', { username: 'ada', password: hub.password })).status, 200);
  }
});

test('a refused sign-in page says so as a page, and keeps the name that was typed', async (t) => {
  const hub = await startHub(t);
  for (let n = 0; n < 10; n++) await hub.anybody.form('/sign-in', { username: 'ada', password: 'wrong' });

  const refused = await hub.anybody.form('/sign-in', { username: 'ada', password: 'wrong' });
  assert.equal(refused.status, 429);
  assert.ok(refused.headers.get('retry-after'));
  assert.match(refused.text, /role="alert">Too many attempts/);
  assert.match(refused.text, /name="username" value="ada"/);
  assert.doesNotMatch(refused.text, /wrong/);
});

test('synchronising now is limited by person', async (t) => {
  const { ada, bob } = await hubWith(t, ['ada', 'bob']);
  const feed = serving(() => rss('Owls', [{ guid: 'a' }]));
  const origin = await startOrigin(t, { '/adas': feed, '/bobs': feed });
  const add = async (who: typeof ada, path: string) =>
    (await who.post('/api/sources', { kind: 'feed', url: origin.url + path })).json<{ id: number }>().id;
  const [adas, bobs] = [await add(ada, '/adas'), await add(bob, '/bobs')];

  for (let n = 0; n < 10; n++) assert.equal((await ada.post(`/api/sources/${adas}/sync`)).status, 202);
  const refused = await ada.post(`/api/sources/${adas}/sync`);
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) <= MINUTE / 1000);
  assert.equal((await bob.post(`/api/sources/${bobs}/sync`)).status, 202);
});

test('adding sources is limited by person, whatever becomes of them', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const feed = serving(() => rss('Owls', [{ guid: 'a' }]));
  const origin = await startOrigin(t, { '/feed': feed, '/bobs': feed });
  const add = (who: typeof ada, path: string) => who.post('/api/sources', { kind: 'feed', url: origin.url + path });

  for (let n = 0; n < 29; n++) assert.equal((await add(ada, `/missing-${n}`)).status, 422);
  assert.equal((await add(ada, '/feed')).status, 201);
  const asked = origin.requests.length;
  const refused = await add(ada, '/another');
  assert.equal(refused.status, 429);
  assert.equal(origin.requests.length, asked, 'nobody else is bothered');
  assert.equal((await add(bob, '/bobs')).status, 201);
  hub.passTime(Number(refused.headers.get('retry-after')) * 1000);
  assert.equal((await add(ada, '/another')).status, 422);
});

test('reading writes nothing, for anybody and for who is signed in, but that a member has opened a post', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, { '/feed': serving(() => rss('Owls', [{ guid: 'a' }])) });
  await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/feed` });
  const { token } = (await ada.post('/api/tokens', { name: 'reader', currentPassword: hub.password })).json<{ token: string }>();
  await hub.anybody.get('/api/account', { authorization: `Bearer ${token}` }); // the last use is noted now and then
  await ada.get('/posts/1'); // noted once, in the reading history
  const before = writesSoFar(hub);

  const paths = [
    '/', '/posts/1', '/sources', '/sources/1', '/api/posts', '/api/posts/1', '/api/sources', '/api/account',
    '/posts.atom', '/sources/1.json', '/api/health', '/api/metrics', '/sign-in', '/join/unknown', '/nowhere',
    '/api/posts?q=text', '/api/tokens',
  ];
  for (const path of paths) {
    await hub.anybody.get(path);
    await ada.get(path);
    await hub.anybody.get(path, { authorization: `Bearer ${token}` });
  }
  assert.equal(writesSoFar(hub), before);
});
