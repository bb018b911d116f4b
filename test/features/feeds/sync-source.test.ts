// Protects synchronisation: posts keep their ids, servers are asked politely, and no source is ever given up silently.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workerQueue } from '../../../src/features/hub/worker-jobs.ts';
import { planDueSyncs } from '../../../src/features/feeds/sync-source.ts';
import { counts } from '../../../src/features/hub/hub.ts';
import { sources } from '../../../src/features/sources/source-store.ts';
import { DAY, HOUR } from '../../../src/platform/clock.ts';
import { addFeed, notificationTitles, publicTitles } from '../../support/accounts.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { startHub, type Hub } from '../../support/hub.ts';
import { reply, startOrigin, type OriginHandler } from '../../support/origin.ts';
import { passTime } from '../../support/receiver.ts';
import { addJob } from '../../support/stored-jobs.ts';
import { failPost } from '../../support/stored-posts.ts';

type PostList = { items: { id: number; title: string; contentHtml: string; publishedAt: string; updatedAt: string }[] };

function source(hub: Hub, id: number) {
  const found = sources(hub.handle).find(id);
  assert.ok(found);
  return found;
}

test('a sync adds what is new, updates what changed, and keeps the ids of both', async (t) => {
  const items: Item[] = [{ guid: 'a', title: 'First' }];
  const { hub } = await followedFeed(t, items);
  const before = (await hub.anybody.get('/api/posts')).json<PostList>().items[0];
  items[0] = { guid: 'a', title: 'First, corrected' };
  items.push({ guid: 'b', title: 'Second' });
  hub.passTime(DAY);

  await hub.work();
  const after = (await hub.anybody.get('/api/posts')).json<PostList>().items;
  assert.deepEqual(after.map((post) => post.title).sort(), ['First, corrected', 'Second']);
  const corrected = after.find((post) => post.title === 'First, corrected');
  assert.equal(corrected?.id, before?.id);
  assert.equal(corrected?.publishedAt, before?.publishedAt, 'a post without a date keeps the time it was first seen');
  assert.notEqual(corrected?.updatedAt, before?.updatedAt);
});

test('an unchanged feed is asked for conditionally, and its 304 writes no post', async (t) => {
  const { hub, feed, origin } = await followedFeed(t);
  feed.handler = serving(() => rss('Owls', [{ guid: 'a' }]), { etag: '"v1"', 'last-modified': 'Tue, 15 Jan 2030 10:00:00 GMT' });
  await hub.work(DAY);
  feed.handler = reply(304, {});
  hub.passTime(DAY);
  const before = counts(hub.handle).value('content_version');

  await hub.work();
  const asked = origin.requests.at(-1);
  assert.equal(asked?.headers['if-none-match'], '"v1"');
  assert.equal(asked?.headers['if-modified-since'], 'Tue, 15 Jan 2030 10:00:00 GMT');
  assert.equal(counts(hub.handle).value('content_version'), before);
});

test('a source whose server fails is retried with backoff, fails for good, and is tried again within a day for ever', async (t) => {
  const { hub, feed, id } = await followedFeed(t, [{ guid: 'a' }], { SYNC_MAX_ATTEMPTS: '2' });
  feed.handler = reply(500, {});
  hub.passTime(DAY);

  assert.equal(await hub.countJobs('sync-source'), 1);
  assert.equal(source(hub, id).state, 'failing');
  assert.match(source(hub, id).stateReason ?? '', /500/);
  assert.equal((await hub.anybody.get('/api/health')).json()['failedJobs'], 0, 'still retrying');
  hub.passTime(HOUR);
  assert.equal(await hub.countJobs('sync-source'), 1);
  assert.equal((await hub.anybody.get('/api/health')).json()['failedJobs'], 1);

  for (let day = 0; day < 5; day++) {
    hub.passTime(DAY);
    assert.ok((await hub.countJobs('sync-source')) >= 1, `nothing was tried on day ${day}`);
    await hub.work(HOUR);
  }
  feed.handler = serving(() => rss('Owls', [{ guid: 'a' }, { guid: 'b' }]));
  await hub.work(DAY);
  assert.equal(source(hub, id).state, 'active');
  assert.equal((await hub.anybody.get('/api/health')).json()['failedJobs'], 0, 'a success ends the worry');
});

test('a worker that dies with a sync in hand does not make the source be forgotten', async (t) => {
  const { hub } = await followedFeed(t, [{ guid: 'a' }], { SYNC_MAX_ATTEMPTS: '1' });
  hub.passTime(DAY);
  await planDueSyncs(hub.handle, new AbortController().signal);
  assert.equal(workerQueue(hub.handle).claim('sync-source', 1).length, 1); // and never heard of again

  await hub.work(2 * DAY);
  hub.passTime(2 * DAY);
  assert.equal(await hub.countJobs('sync-source'), 1);
});

test('410 pauses the source, tells its owner why, and leaves its posts', async (t) => {
  const { hub, feed, ada, id } = await followedFeed(t);
  feed.handler = reply(410, {});
  await hub.work(DAY);

  assert.equal(source(hub, id).state, 'paused');
  assert.match((await ada.page(`/sources/${id}`)).text, /permanently gone/);
  assert.deepEqual(await notificationTitles(ada),
    ['“Owls” has been paused: its publisher says that the feed is permanently gone']);
  assert.equal((await publicTitles(hub)).length, 1);
  hub.passTime(30 * DAY);
  assert.equal(await hub.countJobs('sync-source'), 0);
});

test('the ttl of a feed is the shortest interval, also after an answer without a body', async (t) => {
  const items = [1, 2, 3].map((hour) => ({ guid: String(hour), date: `Tue, 15 Jan 2030 0${hour}:00:00 GMT` }));
  const { hub, feed, id } = await followedFeed(t, items);
  const plain = (source(hub, id).nextSyncAt ?? 0) - hub.now();
  assert.ok(plain <= 3 * HOUR, `an hourly feed was planned in ${plain / HOUR} h`);
  const full = serving(() => rss('Owls', items, '<ttl>720</ttl>'), { etag: '"v1"' });
  for (const handler of [full, reply(304, {})]) {
    feed.handler = handler;
    await hub.work(DAY);
    assert.ok((source(hub, id).nextSyncAt ?? 0) - hub.now() >= 11 * HOUR);
  }
});

test('a web page is answered by the feed that it advertises', async (t) => {
  const hub = await startHub(t);
  const page = '<link rel="alternate" type="application/rss+xml" href="/feed" title="Posts">';
  const origin = await startOrigin(t, {
    '/blog': reply(200, { 'content-type': 'text/html' }, page), '/feed': serving(() => rss('Owls', [{ guid: 'a' }])),
  });
  const found = await (await hub.person('ada')).post('/api/sources', { kind: 'feed', url: `${origin.url}/blog` });
  assert.equal(found.json()['url'], `${origin.url}/feed`);
});

test('one owner has a feed once, and whoever else adds it follows that, or has one where it is private', async (t) => {
  const { hub, origin, ada, id } = await followedFeed(t);
  const [bob, carol] = [await hub.person('bob'), await hub.person('carol')];
  const feed = { kind: 'feed', url: `${origin.url}/feed` };
  const added = async (client: typeof ada): Promise<[number, boolean, boolean | undefined]> => {
    const { status, ...answer } = await client.post('/api/sources', feed);
    const source = answer.json<{ id: number; followed?: boolean }>();
    return [status, source.id === id, source.followed];
  };

  assert.equal((await ada.post('/api/sources', { ...feed, url: `${feed.url}#top` })).status, 409);
  for (let time = 0; time < 2; time++) assert.deepEqual(await added(bob), [200, true, true]);
  await ada.patch(`/api/sources/${id}`, { visibility: 'private' });
  assert.deepEqual(await added(carol), [201, false, true], 'nothing tells her of the other one');
});

test('a sync that cannot store one post stores none, and is tried again', async (t) => {
  const items: Item[] = [{ guid: 'a' }];
  const { hub } = await followedFeed(t, items);
  items.push({ guid: 'b' }, { guid: 'bad' });
  const mend = failPost(hub, 'bad');
  await hub.work(DAY);
  assert.deepEqual(await publicTitles(hub), ['Post a']);

  mend();
  await hub.work(HOUR);
  assert.equal((await publicTitles(hub)).length, 3);
});

test('sync now makes one job however often it is asked for', async (t) => {
  const { hub, ada, id, origin } = await followedFeed(t);
  const asked = origin.requests.length;
  for (let time = 0; time < 3; time++) assert.equal((await ada.post(`/api/sources/${id}/sync`)).status, 202);

  assert.equal(await hub.countJobs('sync-source'), 1);
  assert.equal(origin.requests.length, asked + 1);
});

test('a source that was deleted or paused while its job waited is left alone', async (t) => {
  const { hub, ada, id, origin } = await followedFeed(t);
  const asked = origin.requests.length;
  await ada.post(`/api/sources/${id}/sync`);
  await ada.patch(`/api/sources/${id}`, { paused: true });

  await hub.work();
  assert.equal(origin.requests.length, asked);
  assert.equal((await ada.delete(`/api/sources/${id}`)).status, 204);
  assert.deepEqual(await publicTitles(hub), []);
});

test('a sync that waits for its next try is due at once when the owner asks for it, and is shown as under way', async (t) => {
  const { hub, feed, ada, id, origin } = await followedFeed(t);
  feed.handler = reply(429, { 'retry-after': '80000' });
  await hub.work(DAY);
  const asked = origin.requests.length;
  assert.doesNotMatch((await ada.page(`/sources/${id}`)).text, /http-equiv="refresh"/);

  assert.equal((await ada.post(`/api/sources/${id}/sync`)).status, 202);
  assert.match((await ada.page(`/sources/${id}`)).text, /http-equiv="refresh"/);
  await hub.work();
  assert.equal(origin.requests.length, asked + 1);
});

test('a source that was resumed is synchronised at once, though a try was put off before the pause', async (t) => {
  const { hub, feed, ada, id, origin } = await followedFeed(t);
  feed.handler = reply(503, { 'retry-after': '80000' });
  await hub.work(DAY);
  const asked = origin.requests.length;
  await ada.patch(`/api/sources/${id}`, { paused: true });
  await ada.patch(`/api/sources/${id}`, { paused: false });

  await hub.work();
  assert.equal(origin.requests.length, asked + 1);
});

test('Retry-After is obeyed after the last try too', async (t) => {
  const { hub, feed, id } = await followedFeed(t, [{ guid: 'a' }], { SYNC_MAX_ATTEMPTS: '1' });
  feed.handler = reply(429, { 'retry-after': String(20 * 3600) });
  await hub.work(DAY);

  assert.ok((source(hub, id).nextSyncAt ?? 0) - hub.now() >= 20 * HOUR);
});

test('three dead feeds count as three after a week, through retries and an upgrade', async (t) => {
  const { hub, feed, origin, ada } = await followedFeed(t, [{ guid: 'a' }], { SYNC_MAX_ATTEMPTS: '2' });
  for (const path of ['/2', '/3']) await addFeed(ada, `${origin.url}/feed?${path}`);
  feed.handler = reply(500, {});
  await passTime(hub, 7 * DAY, 6 * HOUR);
  type Job = { id: number; payload: { sourceId: number }; dedupeKey: string };
  const failed = async () => (await ada.get('/api/admin/jobs?state=failed')).json<{ items: Job[] }>().items;
  const shown = async () => [(await hub.anybody.get('/api/health')).json()['failedJobs'], (await failed()).length];
  assert.deepEqual(await shown(), [3, 3]);
  const newest = (await failed())[0] ?? assert.fail('there is one');

  await ada.post(`/api/admin/jobs/${newest.id}/retry`);
  assert.deepEqual(await shown(), [2, 2], 'retried by hand');
  await hub.work(HOUR);
  await hub.work(HOUR);
  assert.deepEqual(await shown(), [3, 3], 'in vain');
  for (let n = 0; n < 9; n++) addJob(hub, { state: 'failed', dedupeKey: '1' });
  await hub.work(HOUR);
  assert.deepEqual(await shown(), [3, 3], 'what version 2.0 kept beside the last failure of a source is gone');
  await ada.delete(`/api/admin/jobs/${(await failed())[0]?.id}`);
  assert.deepEqual(await shown(), [2, 2], 'discarded');
});

test('failedJobs falls when the failing source is deleted, paused or gone', async (t) => {
  const { hub, feed, origin, ada, id } = await followedFeed(t, [{ guid: 'a' }], { SYNC_MAX_ATTEMPTS: '1' });
  const failedJobs = async () => (await hub.anybody.get('/api/health')).json()['failedJobs'];
  const fail = async (): Promise<void> => {
    feed.handler = reply(500, {});
    await hub.work(DAY);
    assert.equal(await failedJobs(), 1);
  };

  await fail();
  await ada.patch(`/api/sources/${id}`, { paused: true });
  assert.equal(await failedJobs(), 0, 'paused');
  await ada.patch(`/api/sources/${id}`, { paused: false });
  await fail();
  feed.handler = reply(410, {});
  await hub.work(DAY);
  assert.equal(await failedJobs(), 0, 'gone');
  await ada.delete(`/api/sources/${id}`);
  feed.handler = serving(() => rss('Owls', [{ guid: 'a' }]));
  const again = await addFeed(ada, `${origin.url}/feed`);
  await fail();
  await ada.delete(`/api/sources/${again}`);
  assert.equal(await failedJobs(), 0, 'deleted');
});

test('a clock that was years ahead for a while makes no source be forgotten', async (t) => {
  const hub = await startHub(t);
  hub.passTime(700 * DAY);
  let asked = 0;
  let handler: OriginHandler = serving(() => rss('Owls', [{ guid: 'a' }]));
  const origin = await startOrigin(t, (request, response) => {
    asked++;
    handler(request, response);
  });
  const ada = await hub.person('ada');
  await addFeed(ada, `${origin.url}/planned`);
  await addFeed(ada, `${origin.url}/retrying`);
  handler = reply(500, {});
  hub.passTime(2 * DAY);
  await hub.work(); // one of them, or both, now wait for a retry in the far future
  hub.passTime(-700 * DAY);
  handler = serving(() => rss('Owls', [{ guid: 'b' }]));
  asked = 0;

  for (let hour = 0; hour < 48; hour++) {
    await hub.work(HOUR);
  }
  assert.ok(asked >= 4, `asked ${asked} times in two days`);
  assert.deepEqual(sources(hub.handle).list(null, 0, 9).map(({ state }) => state), ['active', 'active']);
});

test('304 to a question that was never asked is no feed', async (t) => {
  const hub = await startHub(t);
  const origin = await startOrigin(t, { '/feed': reply(304, {}) });
  const refused = await (await hub.person('ada')).post('/api/sources', { kind: 'feed', url: `${origin.url}/feed` });

  assert.equal(refused.status, 422);
  assert.match(refused.text, /304/);
});

test('what a publisher makes very long is cut: titles, authors, addresses, contents, attachments', async (t) => {
  const hub = await startHub(t);
  const long = 'word '.repeat(60_000);
  const enclosures = Array.from({ length: 300 }, (_, index) => `<enclosure url="https://blog.test/${index}.mp3" type="audio/mpeg"/>`);
  const item = { guid: 'a', title: long, content: `<p>${long}</p>`.repeat(10), link: `https://blog.test/${long.replaceAll(' ', '')}`, extra: enclosures.join('') };
  const origin = await startOrigin(t, { '/feed': serving(() => rss(long, [item])) });
  const id = await addFeed(await hub.person('ada'), `${origin.url}/feed`);
  await hub.work();
  const post = (await hub.anybody.get('/api/posts')).json<{ items: { title: string; url: null; contentHtml: string; attachments: [] }[] }>().items[0];

  assert.ok(source(hub, id).title.length <= 200);
  assert.ok((post?.title.length ?? Infinity) <= 500);
  assert.equal(post?.url, null);
  assert.ok((post?.contentHtml.length ?? Infinity) < 800_000);
  assert.ok((post?.attachments.length ?? Infinity) <= 100);
});

test('numbers and dates that no publisher can mean do no harm', async (t) => {
  const hub = await startHub(t);
  const sized = (id: string, size: number) => ({ id, title: 'sized', content_text: 'x', attachments: [{
    url: `https://blog.test/${id}.mp3`, mime_type: 'audio/mpeg', size_in_bytes: size, duration_in_seconds: size,
  }] });
  const dated = ['-271821-04-20T00:00:00Z', '0001-01-01T00:00:00Z', '1969-12-31T00:00:00Z', '9999-12-31T00:00:00Z']
    .map((date) => ({ id: date, title: 'dated', content_text: 'x', date_published: date }));
  const feed = JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1', title: 'Odd numbers', items: [sized('1', 1e300), sized('2', 1.5), ...dated],
  });
  const origin = await startOrigin(t, { '/feed': serving(() => feed, { 'content-type': 'application/feed+json' }) });
  await addFeed(await hub.person('ada'), `${origin.url}/feed`);

  assert.equal((await publicTitles(hub)).length, 6);
  const [newest] = (await hub.anybody.get('/api/posts')).json<PostList>().items;
  assert.ok(Date.parse(newest?.publishedAt ?? '') <= hub.now(), 'a date in the future counts as now');
});

test('a feed that asks to wait for centuries, or sends validators of kilobytes, is synchronised all the same', async (t) => {
  const long = `"${'x'.repeat(9_000)}"`;
  const { hub, feed, origin, id } = await followedFeed(t);
  const ttl = '<ttl>99999999999999999999</ttl>';
  feed.handler = serving(() => rss('Owls', [{ guid: 'a' }, { guid: 'b' }], ttl), { etag: long, 'last-modified': long });
  await hub.work(DAY);
  assert.equal((await publicTitles(hub)).length, 2);
  hub.passTime(DAY);

  await hub.work();
  assert.equal(origin.requests.at(-1)?.headers['if-none-match'], undefined);
  assert.equal(source(hub, id).state, 'active');
});

test('a feed that moves to an address its owner follows already is paused, its owner is told, and no post stands there twice', async (t) => {
  const { hub, feed, origin, ada, id } = await followedFeed(t, [{ guid: 'a', title: 'Before' }]);
  const moved = serving(() => rss('New', [{ guid: 'b', title: 'After' }]));
  feed.handler = (request, response) =>
    (request.path === '/new' ? moved : reply(301, { location: '/new' }))(request, response);
  await addFeed(ada, `${origin.url}/new`);
  await hub.work(DAY);

  assert.equal(source(hub, id).state, 'paused');
  assert.match(source(hub, id).stateReason ?? '', /where you already follow it/);
  assert.deepEqual((await publicTitles(hub)).sort(), ['After', 'Before']);
  const [notice = ''] = await notificationTitles(ada);
  assert.match(notice, /^“Owls” has been paused: it moved to 127\.0\.0\.1:\d+, where you already follow it$/);
});
