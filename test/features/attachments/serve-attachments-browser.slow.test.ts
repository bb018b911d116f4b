// Protects files in a real browser: shown where they should be, run nowhere, fetched from the hub alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../../support/browser.ts';
import type { Item } from '../../support/feeds.ts';
import { reply } from '../../support/origin.ts';
import { attachOne, hubWithOwnPosts, pathOf } from '../../support/own-posts.ts';
import { writePost } from '../../support/uploads.ts';
import { hubWithFeed, image } from '../../support/remote-files.ts';
import { avif, gif, gifSubBlocks, jpeg, pdf, png, pngChunk, webp } from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SIZE = { width: 16, height: 8 };
const SCRIPT = '<!doctype html><title>x</title><script>document.title = "ran"; window.ran = 1</script>';

test('a post with images and a PDF shows all of them in a real browser, which has nothing to complain of', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const files = [
    { filename: 'a.png', data: png(SIZE) }, { filename: 'b.jpg', data: jpeg(SIZE) },
    { filename: 'c.gif', data: gif(SIZE) }, { filename: 'd.webp', data: webp(SIZE) }, { filename: 'e.avif', data: avif() }, { filename: 'f.pdf', data: pdf() },
    { filename: 'ü "ö" 100% #1?.png', data: png(SIZE, pngChunk('tEXt', Buffer.from(SCRIPT))) },
  ];
  const post = await writePost(hub, { client: ada, sourceId }, files);
  const browser = await openBrowser(t);

  await browser.goto(`${hub.address}/posts/${post.id}`);
  const shown = await browser.run<[string, number, number][]>(`
    const images = [...document.images];
    images.forEach((image) => { image.loading = 'eager'; });
    return Promise.all(images.map((image) => image.decode().catch(() => {}).then(() =>
      [image.alt, image.naturalWidth, image.naturalHeight])));`);
  assert.deepEqual(shown, post.attachments.filter(({ mediaType }) => mediaType !== 'application/pdf')
    .map(({ filename }) => [filename, 16, 8]));
  const listed = await browser.run<string[]>(`
    return [...document.querySelectorAll('.files a')].map((link) => new URL(link.href).pathname)`);
  assert.deepEqual(listed, post.attachments.map(pathOf));
  assert.deepEqual(await browser.complaints(), []);
});

test('a file by itself never runs anything in the hub\'s name, whatever it holds and however it is opened', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const browser = await openBrowser(t);
  const comment = Buffer.concat([Buffer.from('21fe', 'hex'), gifSubBlocks(Buffer.from(SCRIPT))]);
  const files: [name: string, content: Buffer | string][] = [
    ['page.txt', SCRIPT], ['page.md', SCRIPT], ['image.gif', gif(SIZE, [SIZE], comment)],
    ['image.png', png(SIZE, pngChunk('tEXt', Buffer.from(SCRIPT)))],
  ];
  for (const [name, content] of files) {
    const { path } = await attachOne(hub, ada, sourceId, name, content);
    await browser.goto(`${hub.address}/sources`);
    await browser.goto(hub.address + path).catch(() => {}); // a download opens no page
    assert.equal(await browser.run('return window.ran ?? null'), null, name);
    assert.notEqual(await browser.run('return document.title'), 'ran', name);
  }
});

test('a reader\'s browser shows the images of posts and never talks to the publisher', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const files = {
    '/a.png': image(png({ width: 30, height: 20 })), '/b%20c.jpg': image(jpeg(SIZE)),
    '/bad.png': image(Buffer.from('<script>alert(1)</script>')), '/gone.png': reply(404, {}),
  };
  const items = (url: string): Item[] => [
    { guid: 'a', title: 'Owls', content: `<p>See <img src="${url}/a.png" alt="An &quot;owl&quot; &amp; more"> here</p>`,
      extra: `<enclosure url="${url}/b%20c.jpg" type="image/jpeg"/>` },
    { guid: 'b', title: 'Bad', content: `<p><img src="${url}/bad.png"><img src="${url}/gone.png">x</p>` },
  ];
  const { hub, publisher } = await hubWithFeed(t, files, items);
  const browser = await openBrowser(t);
  const bad = (await hub.anybody.get('/api/posts?q=Bad')).json<{ items: { id: number }[] }>().items[0]?.id;
  const good = bad === 1 ? 2 : 1;

  await browser.goto(`${hub.address}/posts/${good}`);
  const images = await browser.run<{ path: string; width: number }[]>(`
    const images = [...document.images];
    images.forEach((image) => { image.loading = 'eager'; });
    return Promise.all(images.map((image) => image.decode().catch(() => {}).then(() =>
      ({ path: new URL(image.src).pathname, width: image.naturalWidth }))));`);
  const shown = images.map(({ path, width }) => [path.split('/').at(-1), width]);
  assert.deepEqual(shown, [['b%20c.jpg', 16], ['a.png', 30]], 'the one beside the text leads');
  assert.deepEqual(await browser.complaints(), []);

  await browser.goto(`${hub.address}/posts/${bad}`);
  const complaints: string[] = [];
  await waitUntil('both have failed', async () => complaints.push(...await browser.complaints()) >= 2);
  assert.equal(complaints.length, 2);
  for (const complaint of complaints) assert.match(complaint, /\/attachments\/\d+-[0-9a-f]{16}\/\w+\.png - Failed to load.* 404 /);
  const agents = publisher.requests.map(({ headers }) => headers['user-agent']);
  assert.deepEqual(new Set(agents), new Set(['ContentHub/test']));
});
