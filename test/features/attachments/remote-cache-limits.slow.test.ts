// Protects the disk from the cache of publishers' files: its limit holds, and files and rows stay in step.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { attachments } from '../../../src/features/attachments/attachment-store.ts';
import { tidyCache } from '../../../src/features/attachments/remote-cache.ts';
import { DAY, HOUR } from '../../../src/platform/clock.ts';
import { startHubProcess } from '../../support/hub-process.ts';
import { getFile } from '../../support/own-posts.ts';
import {
  assertInStep, cachedSizes, cacheNumbers, cachePath, hubWithFeed, hubWithFiles, image, isCached,
} from '../../support/remote-files.ts';
import { png, pngChunk } from '../../support/sample-files.ts';
import { countRows } from '../../support/stored-rows.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SIZE = { width: 3, height: 2 };
const PNG = png(SIZE);

/** An image of about so many bytes. */
const ofBytes = (bytes: number): Buffer => png(SIZE, pngChunk('tEXt', Buffer.alloc(bytes - PNG.length - 12)));
const NAMES = ['/1.png', '/2.png', '/3.png', '/4.png', '/5.png'];
const fiveFiles = (): Record<string, ReturnType<typeof image>> =>
  Object.fromEntries(NAMES.map((name) => [name, image(ofBytes(10_000))]));

test('when the cache is full the files that were not used for longest go, and files, bytes and rows stay in step', async (t) => {
  const { hub, publisher, at } = await hubWithFiles(t, fiveFiles(), { env: { ATTACHMENT_CACHE_MAX_BYTES: '35000' } });
  const read = async (name: string): Promise<void> => {
    assert.equal((await getFile(hub, at(name))).status, 200, name);
    hub.passTime(HOUR);
  };
  const kept = () => NAMES.filter((name) => isCached(hub, publisher.url + name));

  for (const name of ['/1.png', '/2.png', '/3.png']) await read(name);
  assert.deepEqual(kept(), ['/1.png', '/2.png', '/3.png']);
  await read('/1.png'); // used again
  await read('/4.png');
  assert.deepEqual(kept(), ['/1.png', '/3.png', '/4.png']);
  await read('/5.png');
  assert.deepEqual(kept(), ['/1.png', '/4.png', '/5.png']);
  await read('/2.png');
  assert.deepEqual(kept(), ['/2.png', '/4.png', '/5.png']);
  assert.equal(publisher.requests.filter(({ path }) => path === '/2.png').length, 2);
  assert.deepEqual(await cacheNumbers(hub), { files: 3, bytes: 30_000, max_bytes: 35_000, hit: 1, miss: 6, error: 0 });
  await assertInStep(hub);
});

test('what was just fetched is there for its reader, even when all is used at one moment or the clock is put back', async (t) => {
  const { hub, at } = await hubWithFiles(t, fiveFiles(), { env: { ATTACHMENT_CACHE_MAX_BYTES: '15000' } });

  for (const name of NAMES) {
    assert.equal((await getFile(hub, at(name))).status, 200, name);
    assert.deepEqual(cachedSizes(hub), [10_000]);
  }
  for (const name of NAMES) {
    hub.passTime(-HOUR);
    assert.equal((await getFile(hub, at(name))).status, 200, `${name}, earlier`);
  }
  await assertInStep(hub);
});

test('a file larger than the whole cache is not taken, and throws nothing else out', async (t) => {
  const files = { '/small.png': image(PNG), '/large.png': image(ofBytes(20_000)) };
  const { hub, at } = await hubWithFiles(t, files, { env: { ATTACHMENT_CACHE_MAX_BYTES: '15000' } });

  assert.equal((await getFile(hub, at('/small.png'))).status, 200);
  assert.equal((await getFile(hub, at('/large.png'))).status, 404);
  assert.deepEqual(cachedSizes(hub), [PNG.length]);
});

test('a smaller limit after a new start removes what is too much, and forgotten failures free their rows', async (t) => {
  const { hub, at } = await hubWithFiles(t, { ...fiveFiles(), '/no.png': image(Buffer.from('no')) });
  for (const name of NAMES) await getFile(hub, at(name));
  await getFile(hub, at('/no.png'));
  const rows = () => countRows(hub, 'cached_files');
  assert.equal(rows(), 6);

  await hub.work(2 * HOUR);
  assert.equal(rows(), 5, 'the failure is forgotten');
  const smaller = { ...hub.config, attachmentCacheMaxBytes: 25_000 };
  await tidyCache({ ...hub.handle, config: smaller });
  assert.equal(rows(), 2);
  assert.deepEqual(cachedSizes(hub), [10_000, 10_000]);
  await assertInStep(hub);
});

test('what a crash left is repaired: a file without a row goes, a row without its file or with a part of it is fetched again', async (t) => {
  const { hub, publisher, at } = await hubWithFiles(t, fiveFiles());
  const place = (name: string): string => cachePath(hub, publisher.url + name);
  for (const name of ['/1.png', '/2.png', '/3.png']) await getFile(hub, at(name));
  rmSync(place('/1.png'));
  truncateSync(place('/2.png'), 5_000);
  truncateSync(place('/3.png'), 0);
  const stray = place('/never-fetched.png');
  const fresh = place('/just-now.png');
  const abandoned = join(hub.dataDir, 'tmp', 'cache-00000000-0000-4000-8000-000000000000');
  for (const path of [stray, fresh, abandoned]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'x');
  }
  const [long, now] = [new Date(hub.now() - DAY), new Date(hub.now())];
  for (const path of [stray, abandoned]) utimesSync(path, long, long);
  utimesSync(fresh, now, now);

  for (const name of ['/1.png', '/2.png', '/3.png']) {
    const served = await getFile(hub, at(name));
    assert.deepEqual([served.status, served.body.length], [200, 10_000], name);
    assert.equal(publisher.requests.filter(({ path }) => path === name).length, 2, name);
  }
  await hub.work();
  assert.deepEqual([stray, abandoned].map((path) => existsSync(path)), [false, false]);
  assert.ok(existsSync(fresh), 'its row may be about to be written');
  rmSync(fresh);
  await assertInStep(hub);
});

test('after a restore, which brings rows but no files, the cache says that it is empty, and fills again', async (t) => {
  const { hub, at } = await hubWithFiles(t, fiveFiles());
  for (const name of NAMES) await getFile(hub, at(name));
  rmSync(join(hub.dataDir, 'cache'), { recursive: true });
  mkdirSync(join(hub.dataDir, 'cache'));

  await hub.work();
  assert.deepEqual((await cacheNumbers(hub))['bytes'], 0);
  await assertInStep(hub);
  assert.equal((await getFile(hub, at('/1.png'))).status, 200);
  await assertInStep(hub);
});

test('with a limit of 0 nothing is fetched or kept, and posts link to their publisher as before', async (t) => {
  const item = (url: string) => [{
    guid: 'a',
    content: `<p><img src="${url}/i.png" alt="Owl"></p>`,
    extra: `<enclosure url="${url}/e.png" type="image/png"/>`,
  }];
  const files = { '/i.png': image(PNG), '/e.png': image(PNG) };
  const { hub, publisher, posts } = await hubWithFeed(t, files, item, { env: { ATTACHMENT_CACHE_MAX_BYTES: '0' } });

  const [post] = posts;
  assert.doesNotMatch(post?.contentHtml ?? '', /<img/);
  assert.ok(post?.contentHtml.includes(`href="${publisher.url}/i.png"`));
  assert.deepEqual(post?.attachments.map(({ url }) => url), [`${publisher.url}/e.png`]);
  assert.doesNotMatch((await hub.anybody.page('/posts/1')).text, /<img|\/attachments\//);
  const paths = attachments(hub.handle).ofPosts([1]).map(({ id, urlKey }) => `/attachments/${id}-${urlKey}/i.png`);
  assert.equal(paths.length, 2);
  for (const path of paths) assert.equal((await getFile(hub, path)).status, 404);
  assert.deepEqual(publisher.requests, []);
  assert.equal((await cacheNumbers(hub))['max_bytes'], 0);
});

test('a hub that is killed while it fetches leaves no row and no file behind, and fetches when asked again', async (t) => {
  const { hub, publisher, at } = await hubWithFiles(t, {
    '/1.png': (_request, response) => void response.writeHead(200).write(ofBytes(10_000).subarray(0, 9_000)),
  });
  const web = startHubProcess(t, 'web', hub.dataDir);
  const asked = fetch(`${await web.address()}${at('/1.png')}`).then(({ status }) => status, () => 'cut off');
  await waitUntil('the publisher is asked', () => publisher.requests.length === 1);
  await web.end('SIGKILL');

  assert.equal(await asked, 'cut off');
  assert.deepEqual(cachedSizes(hub), []);
  assert.deepEqual((await cacheNumbers(hub))['files'], 0);
  publisher.routes['/1.png'] = image(ofBytes(10_000));
  assert.equal((await getFile(hub, at('/1.png'))).status, 200);
  await assertInStep(hub);
});
