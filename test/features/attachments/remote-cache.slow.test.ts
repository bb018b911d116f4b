// Protects publishers' servers and the hub from each other: one request for each file, and nothing unsafe is kept.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { DAY, HOUR, MINUTE } from '../../../src/platform/clock.ts';
import { addFeed } from '../../support/accounts.ts';
import { hasIpv6Loopback, reply, startOrigin } from '../../support/origin.ts';
import type { Client } from '../../support/client.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { getFile, type ShownPost } from '../../support/own-posts.ts';
import {
  assertInStep, cachedSizes, cacheNumbers, hubWithFeed, hubWithFiles, image,
} from '../../support/remote-files.ts';
import { jpeg, pdf, png, pngChunk } from '../../support/sample-files.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SIZE = { width: 3, height: 2 };
const PNG = png(SIZE);

test('the first reader of a publisher\'s file has it fetched, the next ones get the hub\'s copy', async (t) => {
  const { hub, publisher, at } = await hubWithFiles(t, { '/i.png': image(PNG) });
  assert.equal(publisher.requests.length, 0, 'nothing is fetched before somebody reads');

  for (const round of [1, 2, 3]) {
    const served = await getFile(hub, at('/i.png'));
    assert.equal(served.status, 200);
    assert.deepEqual(served.body, PNG);
    assert.equal(served.headers.get('content-type'), 'image/png');
    assert.equal(served.headers.get('content-disposition'), 'inline; filename="i.png"');
    assert.match(served.headers.get('content-security-policy') ?? '', /sandbox/);
    assert.equal(served.headers.get('etag'), `"${createHash('sha256').update(PNG).digest('hex')}"`);
    assert.match(served.headers.get('cache-control') ?? '', /^public, max-age=0, must-revalidate$/);
    assert.equal(publisher.requests.length, 1, `round ${round}`);
  }
  assert.deepEqual(publisher.requests.map(({ headers }) => headers['user-agent']), ['ContentHub/test']);
  assert.equal(publisher.requests[0]?.headers['referer'], undefined);
  assert.equal(publisher.requests[0]?.headers['cookie'], undefined);
  assert.equal((await getFile(hub, at('/i.png'), { headers: { range: 'bytes=1-3' } })).body.toString(), 'PNG');
  assert.equal((await getFile(hub, at('/i.png'), { method: 'HEAD' })).headers.get('content-length'), `${PNG.length}`);
  const max = hub.config.attachmentCacheMaxBytes;
  assert.deepEqual(await cacheNumbers(hub),
    { files: 1, bytes: PNG.length, max_bytes: max, hit: 4, miss: 1, error: 0 });
  await assertInStep(hub);
});

test('fifty readers who ask at once have a file fetched once, also a file that cannot be had', async (t) => {
  const [there, none] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { hub, publisher, at } = await hubWithFiles(t, {
    '/i.png': (_request, response) => void there.promise.then(() => response.end(PNG)),
    '/none.png': (_request, response) => void none.promise.then(() => response.writeHead(500).end()),
  });
  let come = 0;
  hub.server.prependListener('request', () => come++);
  const fiftyAsk = async (path: string, gate: PromiseWithResolvers<void>) => {
    const before = publisher.requests.length;
    come = 0;
    const asked = Array.from({ length: 50 }, () => getFile(hub, at(path)));
    await waitUntil('all have come, and the publisher is asked', () => come >= 50 && publisher.requests.length > before, 30_000);
    gate.resolve();
    return Promise.all(asked);
  };

  for (const served of await fiftyAsk('/i.png', there)) assert.deepEqual([served.status, served.body], [200, PNG]);
  assert.equal(publisher.requests.length, 1);
  assert.deepEqual(cachedSizes(hub), [PNG.length]);
  await assertInStep(hub);
  const answers = await fiftyAsk('/none.png', none);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([404]));
  assert.equal(publisher.requests.length, 2);
});

/** Where the hub has the images of these posts. */
function imagePlaces(posts: ShownPost[]): string[] {
  const found = posts.flatMap(({ contentHtml }) => [...contentHtml.matchAll(/src="[^"]*(\/attachments\/[^"]+)"/g)]);
  return found.map(([, place = '']) => place);
}

/** Asks for all at once. `refused` grows with each that was told to come again. */
function askForAll(hub: Hub, places: string[]) {
  const refused: string[] = [];
  const answers = places.map(async (place) => {
    const { status, headers } = await getFile(hub, place);
    if (status !== 503) return status;
    assert.ok(Number(headers.get('retry-after')) > 0);
    refused.push(place);
    return status;
  });
  return { refused, answers: Promise.all(answers) };
}

/** Answers with an image when the gate opens. */
function startSlowPublisher(t: TestContext, gate: Promise<void>) {
  return startOrigin(t, (_request, response) => void gate.then(() => response.end(PNG)));
}

const images = (url: string, count: number): string => Array.from({ length: count }, (_, n) => `<img src="${url}/${n}.png">`).join('');

test('when too many files are asked for at once the rest is told to come again, and nothing is remembered against it', async (t) => {
  const gate = Promise.withResolvers<void>();
  const slow = await Promise.all([1, 2, 3].map(() => startSlowPublisher(t, gate.promise)));
  const { hub, posts } = await hubWithFeed(t, {}, () => slow.map(({ url }) => ({ guid: url, content: images(url, 35) })));

  const { refused, answers } = askForAll(hub, imagePlaces(posts));
  await waitUntil('what is too much is refused', () => refused.length === 5);
  gate.resolve();
  assert.equal((await answers).filter((status) => status === 200).length, 100);
  for (const place of refused) assert.equal((await getFile(hub, place)).status, 200);
  await assertInStep(hub);
});

test('forty files of one publisher may wait; more are told to come again, and those of others are fetched', async (t) => {
  const gate = Promise.withResolvers<void>();
  const fast = await startOrigin(t, image(PNG));
  const slow = await startSlowPublisher(t, gate.promise);
  const { hub, posts } = await hubWithFeed(t, {}, () => [
    { guid: 'a', title: 'Slow', content: images(slow.url, 45) }, { guid: 'b', title: 'Fast', content: images(fast.url, 45) },
  ]);
  const placesOf = (title: string): string[] => imagePlaces(posts.filter((post) => post.title === title));

  const { refused, answers } = askForAll(hub, placesOf('Slow'));
  await waitUntil('what is too much is refused', () => refused.length === 5);
  for (const place of placesOf('Fast')) assert.equal((await getFile(hub, place)).status, 200);
  assert.equal((await getFile(hub, refused[0] ?? '')).status, 503, 'still');
  assert.equal(slow.requests.length, 1, 'one after the other');

  gate.resolve();
  assert.equal((await answers).filter((status) => status === 200).length, 40);
  for (const place of refused) assert.equal((await getFile(hub, place)).status, 200);
  await assertInStep(hub);
});

/** A post of one source with an image at each of these addresses; where the hub has them. */
async function imagesOf(t: TestContext, client: Client, name: string, urls: string[]): Promise<string[]> {
  const content = urls.map((url) => `<img src="${url}">`).join('');
  const origin = await startOrigin(t, serving(() => rss(name, [{ guid: name, content }])));
  const id = await addFeed(client, `${origin.url}/feed`);
  return imagePlaces((await client.get(`/api/posts?source=${id}`)).json<{ items: ShownPost[] }>().items);
}

test('images on hosts that hang keep those of other sources and owners from nothing', async (t) => {
  const { hub, ada, bob } = await hubWith(t, ['ada', 'bob']);
  const fast = await startOrigin(t, image(PNG));
  const asked: string[] = [];
  const silent = await Promise.all(Array.from({ length: 20 }, (_, n) => startOrigin(t, () => void asked.push(`host ${n}`))));
  const urls = silent.map(({ url }) => `${url}/i.png`);
  const first = await imagesOf(t, ada, 'one', urls.slice(0, 10));
  const second = await imagesOf(t, ada, 'two', urls.slice(10));
  const another = await imagesOf(t, ada, 'three', [`${fast.url}/a.png`]);
  // The first of them is one of those for which the others already wait.
  const other = await imagesOf(t, bob, 'four', [`${urls[19]}`, `${fast.url}/b.png`]);

  const hanging = first.map((place) => getFile(hub, place));
  await waitUntil('a source has its places', () => asked.length === 2);
  assert.equal((await getFile(hub, another[0] ?? '')).status, 200, 'of another source of that owner');
  hanging.push(...second.map((place) => getFile(hub, place)));
  await waitUntil('an owner has its places', () => asked.length === 3);
  hanging.push(getFile(hub, other[0] ?? ''));
  assert.equal((await getFile(hub, other[1] ?? '')).status, 200, 'of another owner');
  await waitUntil('another owner has places left', () => asked.length === 4);
  assert.equal(asked[3], 'host 19');
  await Promise.all(silent.map(({ close }) => close()));
  await Promise.all(hanging);
});

test('what a file is, its content says, not its server', async (t) => {
  const files = { '/jpeg-called.png': image(jpeg(SIZE), 'text/html'), '/pdf.png': image(pdf(), 'image/png') };
  const { hub, at } = await hubWithFiles(t, files);
  const shown = async (path: string) => {
    const { headers } = await getFile(hub, at(path));
    return [headers.get('content-type'), headers.get('content-disposition')?.split(';')[0]];
  };
  assert.deepEqual(await shown('/jpeg-called.png'), ['image/jpeg', 'inline']);
  assert.deepEqual(await shown('/pdf.png'), ['application/pdf', 'attachment']);
});

test('what is no image and no PDF is refused, whatever its server calls it, and not asked for again for an hour', async (t) => {
  const refused: Record<string, Buffer | string> = {
    '/html.png': '<!doctype html><script>alert(1)</script>',
    '/svg.png': '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    '/empty.png': '', '/cut.png': PNG.subarray(0, -20),
  };
  const files = Object.fromEntries(Object.entries(refused).map(([path, content]) => [path, image(Buffer.from(content))]));
  const { hub, publisher, at } = await hubWithFiles(t, files);

  for (const round of [1, 2]) {
    for (const path of Object.keys(refused)) {
      const served = await getFile(hub, at(path));
      assert.equal(served.status, 404, path);
      assert.equal(served.headers.get('content-type'), 'application/problem+json');
      assert.equal(served.headers.get('cache-control'), 'no-store');
      assert.doesNotMatch(served.body.toString(), /alert/);
    }
    assert.equal(publisher.requests.length, Object.keys(refused).length, `round ${round}`);
  }
  assert.deepEqual(cachedSizes(hub), []);
  assert.equal((await cacheNumbers(hub))['error'], 8);

  publisher.routes['/html.png'] = image(PNG);
  hub.passTime(HOUR - 1);
  assert.equal((await getFile(hub, at('/html.png'))).status, 404);
  hub.passTime(1);
  assert.equal((await getFile(hub, at('/html.png'))).status, 200, 'an hour later it is asked for again');
  await assertInStep(hub);
});

test('answers that are no success are remembered for an hour, slowness for a minute only', async (t) => {
  const { hub, publisher, at } = await hubWithFiles(t, {
    '/gone.png': reply(410, {}), '/forbidden.png': reply(403, {}, PNG), '/partial.png': reply(206, {}, PNG),
    '/silent.png': () => {},
    '/stops.png': (_request, response) => void response.writeHead(200).write(PNG.subarray(0, 10)),
  }, { limits: { headerMs: 200, idleMs: 200, totalMs: 2_000 } });
  const paths = Object.keys(publisher.routes).filter((path) => path !== '/feed');
  const statuses = () => Promise.all(paths.map(async (path) => (await getFile(hub, at(path))).status));

  assert.deepEqual(await statuses(), [404, 404, 404, 404, 404]);
  for (const path of paths) publisher.routes[path] = image(PNG);
  hub.passTime(MINUTE - 1);
  assert.deepEqual(await statuses(), [404, 404, 404, 404, 404]);
  hub.passTime(1);
  assert.deepEqual(await statuses(), [404, 404, 404, 200, 200], 'after a minute');
  hub.passTime(HOUR);
  assert.deepEqual(await statuses(), [200, 200, 200, 200, 200], 'after an hour');
  await assertInStep(hub);
});

test('a file over the limit is not taken, whether it comes whole or packed', async (t) => {
  const large = png(SIZE, pngChunk('tEXt', Buffer.alloc(100_000)));
  const fitting = png(SIZE, pngChunk('tEXt', Buffer.alloc(99_800)));
  const packed = (content: Buffer) => reply(200, { 'content-encoding': 'gzip' }, gzipSync(content));
  const { hub, at } = await hubWithFiles(t, {
    '/fits.png': packed(fitting), '/large.png': image(large), '/packed.png': packed(large),
  }, { env: { UPLOAD_MAX_BYTES: '100000' } });

  assert.deepEqual((await getFile(hub, at('/fits.png'))).body, fitting);
  for (const path of ['/large.png', '/packed.png']) assert.equal((await getFile(hub, at(path))).status, 404, path);
  assert.deepEqual(cachedSizes(hub), [fitting.length]);
});

test('redirects are followed to public places only, and private addresses are never asked', async (t) => {
  if (!hasIpv6Loopback()) return t.skip('this machine has no ::1');
  const inside = await startOrigin(t, image(PNG), { host: '::1' });
  const env = { OUTBOUND_ALLOW: '127.0.0.1/32' }; // the publisher is the only public place
  const { hub, at } = await hubWithFiles(t, {
    '/moved.png': reply(302, { location: '/here.png' }),
    '/here.png': image(PNG),
    '/inside.png': reply(302, { location: `${inside.url}/i.png` }),
    '/metadata.png': reply(302, { location: 'http://169.254.169.254/latest/meta-data' }),
    '/file.png': reply(302, { location: 'file:///etc/passwd' }),
    '/circle.png': reply(302, { location: '/circle.png' }),
  }, { env });

  assert.deepEqual((await getFile(hub, at('/moved.png'))).body, PNG);
  for (const path of ['/inside.png', '/metadata.png', '/file.png', '/circle.png']) {
    assert.equal((await getFile(hub, at(path))).status, 404, path);
  }
  assert.deepEqual(inside.requests, []);
});

test('a fetch that failed while the clock was ahead is tried again once it is right', async (t) => {
  const { hub, publisher, at } = await hubWithFiles(t, { '/gone.png': reply(410, {}) });
  hub.passTime(300 * DAY);
  assert.equal((await getFile(hub, at('/gone.png'))).status, 404);
  publisher.routes['/gone.png'] = image(PNG);
  await hub.work(-300 * DAY);
  assert.equal((await getFile(hub, at('/gone.png'))).status, 200);
});
