// Protects pictures that publishers write into their posts: files of the post, counted, scanned, removed with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { liftPictures } from '../../../src/features/attachments/embedded-pictures.ts';
import { contentWithImages, OWN_FILES } from '../../../src/features/attachments/own-files.ts';
import { askScannerAgain } from '../../../src/features/attachments/scan-file.ts';
import { sweepUploads } from '../../../src/features/attachments/upload-files.ts';
import { contentUsage } from '../../../src/features/sources/content-usage-store.ts';
import { DAY, MINUTE } from '../../../src/platform/clock.ts';
import { addFeed, itemsAt } from '../../support/accounts.ts';
import { assertContentIsCounted } from '../../support/content-usage.ts';
import { rss, serving, type Item } from '../../support/feeds.ts';
import { followedFeed } from '../../support/followed-feed.ts';
import { repeated } from '../../support/growth.ts';
import { hubWith, type Hub } from '../../support/hub.ts';
import { reply, startOrigin } from '../../support/origin.ts';
import { avif, gif, jpeg, pdf, png, webp } from '../../support/sample-files.ts';
import { CLEAN, fileActs, INFECTED, startScanner } from '../../support/scanner.ts';
import { stepsOf } from '../../support/steps.ts';
import { assertFilesMatchRows, filesIn, uploadRows } from '../../support/uploads.ts';
import { eventOf, hubWithWebhook, publish, sendEvent } from '../../support/webhooks.ts';

const SIZE = { width: 20, height: 10 };
const PNG = png(SIZE);

const data = (bytes: Buffer, type = 'image/png'): string => `data:${type};base64,${bytes.toString('base64')}`;
const img = (bytes = PNG, alt = 'An owl'): string => `<img alt="${alt}" src="${data(bytes)}">`;
/** PNGs that differ in what else they hold. */
const another = (index: number, bytes = 0): Buffer => png({ width: 20 + index, height: 10 },
  Buffer.concat([Buffer.from([0, 0, 0, 0]), Buffer.from('teXt'), Buffer.alloc(4)]), Buffer.alloc(bytes));

type Post = { id: number; contentHtml: string; attachments: object[] };

const postOf = async (hub: Hub): Promise<Post> => {
  const [{ id }] = (await itemsAt<Post>(hub.anybody, '/api/posts')) as [Post];
  return (await hub.anybody.get(`/api/posts/${id}`)).json<Post>();
};
const shownIn = ({ contentHtml }: Post): string[] =>
  Array.from(contentHtml.matchAll(/<img src="([^"]*)"/g), ([, address = '']) => address);

test('a data: picture of a feed is shown from the hub, listed nowhere else, and counted as content', async (t) => {
  const { hub, feed, id } = await followedFeed(t, [{ guid: 'a', content: `<p>See:</p>${img()}` }]);
  const post = await postOf(hub);
  const [address = ''] = shownIn(post);

  assert.match(post.contentHtml, /^<p>See:<\/p><img src="http[^"]*\/attachments\/\d+-\w+\/\w{64}\.png" alt="An owl"/);
  assert.deepEqual(post.attachments, []);
  const served = await fetch(hub.address + new URL(address).pathname);
  assert.equal(served.headers.get('content-type'), 'image/png');
  assert.deepEqual(Buffer.from(await served.arrayBuffer()), PNG);
  assert.match((await hub.anybody.get(`/posts/${post.id}`)).text, /<img src="\/attachments\/[^"]*" alt="An owl" width="20" height="10"/);
  assert.ok(contentUsage(hub.handle).ofSource(id) > 1_000 + 200 + PNG.length);
  assertContentIsCounted(hub.db);
  assertFilesMatchRows(hub);

  feed.handler = serving(() => rss('Owls', [{ guid: 'a', content: `<p>See now:</p>${img()}` }]));
  await hub.work(DAY);
  assert.deepEqual(shownIn(await postOf(hub)), [address], 'the same file in the changed post');
  feed.handler = serving(() => rss('Owls', [{ guid: 'a', content: '<p>Nothing</p>' }]));
  await hub.work(2 * DAY);
  assert.equal(uploadRows(hub.db)[0]?.attachments, 0);
  assertContentIsCounted(hub.db);
});

test('the picture goes with its post, and its bytes with both', async (t) => {
  const { hub, ada } = await followedFeed(t, [{ guid: 'a', content: img() }]);
  assert.equal((await ada.delete(`/api/posts/${(await postOf(hub)).id}`)).status, 204);
  assertContentIsCounted(hub.db);
  await sweepUploads(hub.handle);
  hub.passTime(3 * DAY);
  await sweepUploads(hub.handle);
  assert.deepEqual(filesIn(hub.dataDir), { uploads: [], tmp: [] });
});

test('links of the form that leads to files and pages of the hub in own posts lead nowhere in posts of others', async (t) => {
  const links = ['/evil.example/x', 'settings', 'owl.png'].map((path) => `<a class="remote-image" href="${OWN_FILES}${path}">q</a>`);
  const { hub } = await followedFeed(t, [{ guid: 'a', content: links.join(' ') }]);
  assert.equal((await postOf(hub)).contentHtml, '<a>q</a> <a>q</a> <a>q</a>');
  const own = { contentHtml: `<a href="${OWN_FILES}/evil.example/x">q</a>`, attachments: [] };
  assert.match(contentWithImages(hub.handle, own, ''), /^<a href="https:\/\/evil\.example\/x" rel="noopener [^<>]*>q<\/a>$/);
});

test('events of webhooks bring pictures in the same way', async (t) => {
  const { hub, hook } = await hubWithWebhook(t);
  await publish(hub, hook, 'post.published', { id: 'a', title: 'T', content_html: img() });
  assert.equal(shownIn(await postOf(hub)).length, 1);
});

test('all types that people may upload are pictures, whatever their addresses claim; others leave their words', async () => {
  const sizes = [png(SIZE), jpeg(SIZE), gif(SIZE), webp(SIZE), avif()];
  for (const bytes of sizes) assert.equal((await liftPictures(img(bytes))).pictures[0]?.bytes, bytes.length);
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
  const dots = [png({ width: 1, height: 1 }), gif({ width: 2, height: 40 })];
  for (const bytes of [svg, pdf(), Buffer.from('x'), PNG.subarray(0, -4), png({ width: 9_000, height: 9_000 }), ...dots]) {
    assert.deepEqual(await liftPictures(img(bytes)), { html: img(bytes), pictures: [] });
  }
});

test('addresses in either quotation mark, in none, with line ends or signs of addresses are read', async () => {
  const base64 = PNG.toString('base64');
  const folded = base64.replace(/.{20}/g, '$&\n');
  const forms = [`<IMG src='${data(PNG)}'>`, `<img src=${data(PNG)}>`, `<img\nsrc = " data:image/png;charset=utf-8;base64,${folded}">`,
    `<img src="data:image/png;base64,${encodeURIComponent(base64)}">`];
  for (const form of forms) assert.equal((await liftPictures(form)).pictures.length, 1, form);
  const broken = '<img src="data:image/png;base64,%ZZ"><img src="data:image/png;base64,"><img src="data:image/">';
  assert.deepEqual(await liftPictures(broken), { html: broken, pictures: [] });
});

test('a small copy that stands until a script loads the picture is not stored', async (t) => {
  const copy = data(another(1));
  const lazy = [`<img src="${copy}" srcset="https://x.example/a.png">`, `<img src="${copy}" data-src="https://x.example/b.png">`,
    `<picture><source srcset="https://x.example/c.png"><img src="${copy}"></picture>`];
  const { hub } = await followedFeed(t, [{ guid: 'a', content: lazy.join('') }]);
  assert.equal(shownIn(await postOf(hub)).length, 3);
  assert.deepEqual(filesIn(hub.dataDir), { uploads: [], tmp: [] });
});

test('a post has at most twenty such pictures, of a MiB each and four together; words stand for the others', async () => {
  const many = Array.from({ length: 30 }, (_, index) => img(another(index))).join('') + img(another(0));
  const { html, pictures } = await liftPictures(many);
  assert.equal(pictures.length, 20);
  assert.equal(html.match(/srcset/g)?.length, 21, 'the first picture stands there twice');
  const large = (index: number): string => `<img src="${data(Buffer.concat([jpeg({ width: 20 + index, height: 9 }), Buffer.alloc(1_048_000)]))}">`;
  assert.equal((await liftPictures(`<img src="${data(Buffer.concat([jpeg(SIZE), Buffer.alloc(1_048_576)]))}">`)).pictures.length, 0);
  assert.equal((await liftPictures([0, 1, 2, 3, 4].map(large).join(''))).pictures.length, 4);
});

test('a hundred addresses of a post are looked at, whatever they hold', async () => {
  const nothing = (index: number): string => `<img src="data:image/png;base64,${Buffer.from(`x${index}`).toString('base64')}">`;
  const none = (count: number): string => Array.from({ length: count }, (_, index) => nothing(index)).join('');
  assert.equal((await liftPictures(none(99) + img())).pictures.length, 1);
  assert.equal((await liftPictures(none(100) + img())).pictures.length, 0);
  assert.equal((await liftPictures(nothing(1).repeat(1_000) + img())).pictures.length, 1, 'one address, over and over');
});

test('a picture of nearly a MiB comes with a long text behind it', async (t) => {
  const large = Buffer.concat([jpeg(SIZE), Buffer.alloc(1_000_000)]);
  const { hub } = await followedFeed(t, [{ guid: 'a', content: `${img(large)}<p>${'word '.repeat(1000)}end</p>` }]);
  await hub.work(); // large feeds are read by the worker
  const post = await postOf(hub);
  assert.equal(shownIn(post).length, 1);
  assert.match(post.contentHtml, /word end<\/p>$/);
});

test('where the content quota has no room, the words of the picture stand in its place', async (t) => {
  const { hub, bob } = await hubWith(t, ['ada', 'bob'], { CONTENT_QUOTA_BYTES: '100000' });
  const large = Buffer.concat([jpeg(SIZE), Buffer.alloc(60_000)]);
  const items: Item[] = [{ guid: 'a', content: img(large) }];
  const origin = await startOrigin(t, serving(() => rss('Owls', items)));
  await addFeed(bob, `${origin.url}/feed`);
  assert.equal(shownIn(await postOf(hub)).length, 1);
  items.unshift({ guid: 'b', content: `<p>See:</p>${img(Buffer.concat([large, Buffer.from('2')]), 'A barn owl')}` });
  await hub.work(DAY);
  const post = (await itemsAt<Post>(hub.anybody, '/api/posts')).find(({ contentHtml }) => /barn/.test(contentHtml));
  assert.match(post?.contentHtml ?? '', /^<p>See:<\/p><a[^>]*>A barn owl<\/a>$/);
  assert.doesNotMatch(post?.contentHtml ?? '', /invalid/);
  assertContentIsCounted(hub.db);
});

test('while a required scanner is silent, posts with pictures wait for it, and come whole', async (t) => {
  const scanner = await startScanner(t, reply(503, {}));
  const { hub, ada, hook } = await hubWithWebhook(t, { VIRUS_SCAN_URL: scanner.url, VIRUS_SCAN_REQUIRED: '1' });
  const items: Item[] = [{ guid: 'a' }];
  const origin = await startOrigin(t, serving(() => rss('Owls', items)));
  const id = await addFeed(ada, `${origin.url}/feed`);
  const shown = async (): Promise<number[]> => (await itemsAt<Post>(ada, '/api/posts')).map((post) => shownIn(post).length);

  items.unshift({ guid: 'b', content: img() });
  await hub.work(DAY);
  assert.deepEqual(await shown(), [0]);
  const { state, stateReason } = (await ada.get(`/api/sources/${id}`)).json<{ state: string; stateReason: string }>();
  assert.deepEqual([state, stateReason], ['failing', 'the hub’s virus scanner does not answer']);
  assert.ok(origin.requests.length < 40, `the publisher was asked ${origin.requests.length} times in a day`);
  const refused = await ada.post('/api/sources', { kind: 'feed', url: `${origin.url}/another` });
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '60']);
  const event = () => eventOf(hub, hook.secret, 'post.published', { id: 'c', content_html: img(another(1)) });
  assert.equal((await sendEvent(hub.address, hook.id, event())).status, 503);

  scanner.answers = CLEAN;
  await askScannerAgain(hub.handle);
  await hub.work(DAY);
  assert.deepEqual(await shown(), [1, 0]);
  assert.equal((await sendEvent(hub.address, hook.id, event())).status, 202);
  assert.deepEqual((await shown()).toSorted(), [0, 1, 1]);
  assertFilesMatchRows(hub);
});

for (const [what, answers, required, isShown] of [
  ['a clean picture is shown', CLEAN, '1', true],
  ['an infected picture leaves its words, and is noted', INFECTED, '0', false],
  ['where the scanner is silent, the picture waits for its verdict', reply(503, {}), '0', true],
] as const) {
  test(`scanned before it is stored: ${what}`, async (t) => {
    const scanner = await startScanner(t, answers);
    const env = { VIRUS_SCAN_URL: scanner.url, VIRUS_SCAN_REQUIRED: required };
    const { hub } = await followedFeed(t, [{ guid: 'a', content: img() }], env);

    assert.deepEqual(scanner.requests[0]?.body, PNG);
    assert.equal(shownIn(await postOf(hub)).length, isShown ? 1 : 0);
    assert.match((await postOf(hub)).contentHtml, /An owl/);
    assert.deepEqual(fileActs(hub).map(({ act }) => act), answers === INFECTED ? ['attachment.refused'] : []);
    if (answers !== CLEAN && isShown) {
      scanner.answers = INFECTED;
      await hub.work(MINUTE * 61);
      assert.deepEqual(shownIn(await postOf(hub)), [], 'found infected later');
    }
    assertFilesMatchRows(hub);
  });
}

test('looking for pictures takes steps that grow with the length alone', async () => {
  for (const piece of ['<img src="data:image/png;base64,', '<img ', ' src=', '<img src=\'data:image/', `<img src="${data(PNG)}">`]) {
    const steps = async (length: number): Promise<number> =>
      await stepsOf(() => liftPictures(`data:image/${repeated(piece, length)}`)) / length;
    await steps(12_000); // what is only made once does not count
    const [small, large] = [await steps(12_000), await steps(96_000)];
    assert.ok(large / small < 2, piece);
  }
});
