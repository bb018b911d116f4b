// Protects pictures in lists: they are there before anybody opens a post, and the worker asks publishers for few of them.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { kindsToRunAgain } from '../../../src/app/job-kinds.ts';
import { thumbnails } from '../../../src/features/attachments/post-pictures.ts';
import { fetchPictures } from '../../../src/features/feeds/fetch-pictures.ts';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addFeed, publicTitles } from '../../support/accounts.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import type { Hub } from '../../support/hub.ts';
import { startOrigin, type OriginHandler } from '../../support/origin.ts';
import { getFile } from '../../support/own-posts.ts';
import { assertInStep, hubWithFeed, image, isCached, type Settings } from '../../support/remote-files.ts';
import { png, pngChunk } from '../../support/sample-files.ts';
import { empty, fill } from '../../support/small-room.ts';
import { storedJobs } from '../../support/stored-jobs.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PICTURE = png({ width: 640, height: 360 });
const HEAVY = png({ width: 400, height: 400 }, pngChunk('teXt', Buffer.alloc(256 * 1024)));
const MEDIA = 'xmlns:media="http://search.yahoo.com/mrss/"';

/** A hub whose ada has added a feed with these files; `asked` says which files were asked for since. */
async function hubWithPictures(
  t: TestContext, files: Record<string, OriginHandler>, items: (url: string) => Item[],
  { env, limits = {} }: Pick<Settings, 'env' | 'limits'> = {},
) {
  const made = await hubWithFeed(t, files, items, { env: { LIST_PICTURES: '1', ...env }, limits });
  const asked = (): string[] => made.publisher.requests.map(({ path }) => path).filter((path) => path !== '/feed');
  return { ...made, asked };
}

/** A post whose content shows these pictures of a publisher. */
function showing(url: string, guid: string, ...names: string[]): Item {
  return { guid, content: names.map((name) => `<p><img src="${url}${name}" alt="An owl"></p>`).join('') };
}

async function results(hub: Hub): Promise<Record<string, number>> {
  const scrape = (await hub.anybody.get('/api/metrics')).text;
  const found = scrape.matchAll(/^service_list_pictures_total\{result="([\w-]+)"\} (\d+)$/gm);
  return Object.fromEntries(Array.from(found, ([, result = '', n]) => [result, Number(n)] as const).filter(([, n]) => n > 0));
}

test('lists show the picture of a post before anybody has opened the post', async (t) => {
  const { hub, ada, asked } = await hubWithPictures(t, { '/owl.png': image(PICTURE), '/other.png': image(PICTURE) },
    (url) => [showing(url, 'a', '/owl.png', '/other.png')]);
  assert.doesNotMatch((await hub.anybody.page('/')).text, /owl\.png/);
  assert.deepEqual(asked(), [], 'the request that adds the feed fetches no pictures');
  await hub.work();
  assert.deepEqual(asked(), ['/owl.png'], 'one picture for each post');
  for (const client of [ada, hub.anybody]) {
    const [, path = ''] = /<img [^>]*src="([^"]+\/owl\.png\?kept)"/.exec((await client.page('/')).text) ?? [];
    assert.deepEqual((await getFile(hub, path)).body, PICTURE);
  }
  await hub.work(DAY);
  assert.deepEqual(asked(), ['/owl.png'], 'nothing is asked for again');
  assert.deepEqual(await results(hub), { kept: 1 });
  await assertInStep(hub);
});

const DECLARED: [what: string, extra: string][] = [
  ['a thumbnail', `<media:thumbnail ${MEDIA} url="URL/wanted.png"/>`],
  ['a thumbnail whose address has no extension', `<media:thumbnail ${MEDIA} url="URL/wanted"/>`],
  ['a thumbnail after a larger image', `<media:content ${MEDIA} url="URL/large.png" type="image/png">
    <media:thumbnail url="URL/wanted.png"/></media:content>`],
  ['a picture of an episode', `<itunes:image xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" href="URL/wanted.png"/>`],
  ['an enclosed image', `<enclosure url="URL/owl.mp3" type="audio/mpeg"/><enclosure url="URL/wanted.png" type="image/png"/>`],
];

for (const [what, extra] of DECLARED) {
  test(`${what} that the feed declares stands for the post, not the first image of the content`, async (t) => {
    const { hub, asked, posts } = await hubWithPictures(t, { '/wanted.png': image(PICTURE), '/wanted': image(PICTURE) },
      (url) => [{ ...showing(url, 'a', '/lead.png'), extra: extra.replaceAll('URL', url) }]);
    await hub.work();
    assert.match(String(asked()), /^\/wanted(?:\.png)?$/);
    assert.equal(thumbnails(hub.handle, posts).size, 1);
  });
}

test('pictures are not fetched for a feed that nobody follows or that is paused, nor if a setting turns them off', async (t) => {
  const items = (url: string): Item[] => [showing(url, 'a', '/owl.png')];
  for (const env of [{ LIST_PICTURES: '0' }, { ATTACHMENT_CACHE_MAX_BYTES: '0' }]) {
    const { hub, asked } = await hubWithPictures(t, {}, items, { env });
    await hub.work();
    assert.deepEqual([asked(), storedJobs(hub, fetchPictures.name)], [[], []]);
  }
  const changes = [(ada: Client, path: string) => ada.delete(`${path}/follow`),
    (ada: Client, path: string) => ada.patch(path, { paused: true })];
  for (const change of changes) {
    const { hub, ada, sourceId, asked } = await hubWithPictures(t, {}, items);
    const { status, text } = await change(ada, `/api/sources/${sourceId}`);
    assert.ok(status < 300, text);
    await hub.work();
    assert.deepEqual([asked(), storedJobs(hub, fetchPictures.name).map(({ state }) => state)], [[], ['done']]);
  }
});

test('of a synchronisation 20 posts get their pictures, the newest; of a source 50 posts, and then 50 a day', async (t) => {
  const names = Array.from({ length: 120 }, (_, n) => `/${n}.png`);
  const shown = { from: 0, to: 30 };
  const { hub, asked } = await hubWithPictures(t, Object.fromEntries(names.map((name) => [name, image(PICTURE)])),
    (url) => names.slice(shown.from, shown.to).map((name) => showing(url, name, name)));
  await hub.work();
  assert.deepEqual(asked(), names.slice(0, 20), 'the feed lists its newest post first');
  for (const from of [30, 50, 70]) {
    Object.assign(shown, { from, to: from + 20 });
    await hub.work(DAY / 12);
    await hub.work();
  }
  const allowed = 50 + 3 * 50 / 12;
  assert.equal(asked().length, Math.floor(allowed));
  assert.equal((await results(hub))['over-budget'], 80 - asked().length);
  Object.assign(shown, { from: 90, to: 110 });
  await hub.work(DAY);
  await hub.work();
  assert.equal(asked().length, Math.floor(allowed) + 20);
});

test('a picture over 256 KiB is given up for a week, and a reader who opens the post sees the picture all the same', async (t) => {
  const shown = ['a'];
  const { hub, ada, asked, publisher, posts } = await hubWithPictures(t, { '/heavy.png': image(HEAVY) },
    (url) => shown.map((guid) => showing(url, guid, '/heavy.png')));
  const heavy = `${publisher.url}/heavy.png`;
  await hub.work();
  shown.unshift('b');
  await hub.work(DAY);
  await hub.work();
  assert.deepEqual([asked().length, isCached(hub, heavy), await results(hub)], [1, false, { 'too-large': 1 }]);
  shown.unshift('c');
  await hub.work(7 * DAY);
  await hub.work();
  assert.equal(asked().length, 2, 'the publisher may have a smaller file now');

  const post = posts[0] ?? assert.fail('no post');
  const [, path = ''] = /<img src="(\/attachments[^"]*\/heavy\.png)"/.exec((await ada.page(`/posts/${post.id}`)).text) ?? [];
  assert.ok((await getFile(hub, path)).body.equals(HEAVY));
  assert.equal(thumbnails(hub.handle, [post]).size, 0);
  await assertInStep(hub);
});

test('no picture is fetched from a private address, also after a redirect', async (t) => {
  const inside = await startOrigin(t, image(PICTURE), { host: '::1' });
  const moved: OriginHandler = (_request, response) => void response.writeHead(302, { location: inside.url }).end();
  const { hub, asked, posts } = await hubWithPictures(t, { '/moved.png': moved, '/owl.png': image(PICTURE) }, (url) => [
    showing('http://169.254.169.254', 'a', '/owl.png'), showing(inside.url, 'b', '/owl.png'), showing(url, 'c', '/owl.png'),
    showing(url, 'd', '/moved.png'),
  ], { env: { OUTBOUND_ALLOW: '127.0.0.1/32' } });
  await hub.work();
  assert.deepEqual([inside.requests, asked().sort()], [[], ['/moved.png', '/owl.png']]);
  assert.deepEqual([thumbnails(hub.handle, posts).size, await results(hub)], [1, { failed: 3, kept: 1 }]);
  assert.deepEqual(storedJobs(hub, fetchPictures.name).map(({ state }) => state), ['done'], 'this is no failure of the job');
});

test('a host that does not answer is asked for one picture only, and other hosts for theirs', async (t) => {
  const silent = await startOrigin(t, () => {});
  const { hub, asked } = await hubWithPictures(t, { '/owl.png': image(PICTURE) },
    (url) => [showing(silent.url, 'a', '/1.png'), showing(silent.url, 'b', '/2.png'), showing(url, 'c', '/owl.png')],
    { limits: { headerMs: 300 } });
  await hub.work();
  assert.deepEqual([silent.requests.map(({ path }) => path), asked()], [['/1.png'], ['/owl.png']]);
});

test('a host that is slow holds up neither the synchronisation of its feed nor pictures of other feeds', async (t) => {
  const held: (() => void)[] = [];
  const slow: OriginHandler = (request, response) => void held.push(() => image(PICTURE)(request, response));
  const shown = ['a'];
  const elsewhere = await startOrigin(t, slow);
  const { hub, ada, publisher } = await hubWithPictures(t, { '/owl.png': image(PICTURE) },
    () => shown.map((guid) => showing(elsewhere.url, guid, `/${guid}.png`)));
  const other = await startOrigin(t, serving(() => rss('Others', [showing(publisher.url, 'x', '/owl.png')])));
  await addFeed(ada, `${other.url}/feed`);
  shown.unshift('b');
  const working = hub.work(DAY);
  await waitUntil('the other feed has its picture', () => isCached(hub, `${publisher.url}/owl.png`));
  await waitUntil('the feed is synchronised', async () => (await publicTitles(hub)).includes('Post b'));
  assert.equal(held.length, 1);
  held.forEach((answer) => answer());
  await waitUntil('the picture of the post that arrived meanwhile is asked for', () => held.length > 1);
  held.slice(1).forEach((answer) => answer());
  await working;
  assert.ok(['a', 'b'].every((guid) => isCached(hub, `${elsewhere.url}/${guid}.png`)));
});

test('pictures that have waited for long end the queue of their owner, and of no other member', async (t) => {
  const { hub, ada, publisher } = await hubWithPictures(t, {}, (url) => [showing(url, 'a', '/owl.png')]);
  const bob = await hub.person('bob');
  publisher.routes['/second'] = publisher.routes['/third'] = serving(() => rss('Owls', [showing(publisher.url, 'b', '/b.png')]));
  const waiting = (): number => storedJobs(hub, fetchPictures.name).length;
  hub.passTime(6 * MINUTE);
  await addFeed(ada, `${publisher.url}/second`);
  assert.equal(waiting(), 1);
  await addFeed(bob, `${publisher.url}/third`);
  assert.equal(waiting(), 2);
});

test('on a low disk pictures wait until there is room; a restored hub fetches no pictures of posts from before', async (t) => {
  const { hub, asked } = await hubWithPictures(t, { '/owl.png': image(PICTURE) }, (url) => [showing(url, 'a', '/owl.png')]);
  fill(hub);
  await hub.work();
  assert.deepEqual(asked(), []);
  empty(hub);
  await hub.work(HOUR);
  assert.deepEqual(asked(), ['/owl.png']);
  assert.ok(!kindsToRunAgain().includes(fetchPictures.name));
});
