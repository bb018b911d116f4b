// Protects files in a real browser: shown where they should be, run nowhere, fetched from the hub alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../../support/browser.ts';
import { attachOne, hubWithOwnPosts, pathOf } from '../../support/own-posts.ts';
import { writePost } from '../../support/uploads.ts';
import { avif, gif, gifSubBlocks, jpeg, pdf, png, pngChunk, webp } from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';

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
