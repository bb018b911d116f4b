// Protects pictures in a real browser: icons and letters are drawn, and nothing moves when an image comes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { openBrowser } from '../../support/browser.ts';
import { hubWithFeed } from '../../support/remote-files.ts';
import type { OriginHandler } from '../../support/origin.ts';
import { addFollow, addNotes } from '../../support/accounts.ts';
import { cookieOf } from '../../support/client.ts';
import { hubWith } from '../../support/hub.ts';
import { png, pngChunk, pngHeader } from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';
import { sourceIcons } from '../../../src/features/attachments/icon-store.ts';
import { counts } from '../../../src/features/hub/hub.ts';

/** After the page was painted. */
const late = (content: Buffer): OriginHandler => (_request, response) => void setTimeout(() => response.end(content), 400);

/** How far things have moved on the page by themselves, once its images are there. */
const SHIFT = `
  const images = [...document.querySelectorAll('.prose img')];
  images.forEach((image) => { image.loading = 'eager'; });
  await Promise.all(images.map((image) => image.decode().catch(() => {})));
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return new Promise((resolve) => {
    let moved = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) moved += entry.value; })
      .observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => resolve(moved), 200);
  });
`;

test('from the second opening of a post on, nothing moves when its images come; at the first, none is squeezed', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const files = {
    '/wide.png': late(png({ width: 900, height: 300 })), '/tall.png': late(png({ width: 200, height: 700 })),
    '/stated.png': late(png({ width: 640, height: 480 })), '/none.png': late(Buffer.from('x')),
  };
  const { hub, posts } = await hubWithFeed(t, files, (url) => [{
    guid: 'a', content: Object.keys(files).map((name) => `<p>An owl</p><p><img src="${url}${name}"
      ${name === '/stated.png' && 'width="640" height="480"'}></p>`).join('') + '<p>The end</p>',
  }]);
  const browser = await openBrowser(t);
  const boxes = `return [...document.querySelectorAll('.prose img')].filter(({ naturalWidth }) => naturalWidth)
    .map((image) => image.width / image.height)`;
  const ratios = [3, 200 / 700, 640 / 480];
  await browser.goto(`${hub.address}/posts/${posts[0]?.id}`);
  await browser.run<number>(SHIFT);
  assert.deepEqual(await browser.run(boxes), ratios, 'at the first opening');
  counts(hub.handle).add('content_version', '', 1);
  await browser.goto(`${hub.address}/posts/${posts[0]?.id}`);
  assert.equal(await browser.run<number>(SHIFT), 0);
  assert.deepEqual(await browser.run(boxes), ratios);
  assert.deepEqual((await browser.complaints()).filter((text) => !/none\.png|404/.test(text)), []);
});

/** A PNG of one pixel of that colour. */
function pixel(colour: readonly number[]): Buffer {
  const [signature, size] = [Buffer.from('89504e470d0a1a0a', 'hex'), { width: 1, height: 1 }];
  const data = pngChunk('IDAT', deflateSync(Buffer.from([0, ...colour])));
  return Buffer.concat([signature, pngHeader(size, [8, 2, 0, 0, 0]), data, pngChunk('IEND')]);
}

test('small icons that come as one picture are painted each at its source, and the browser asks for them once', async (t) => {
  const { hub, ada } = await hubWith(t, ['ada']);
  const colours = [[200, 0, 0], [0, 200, 0], [0, 0, 200]] as const;
  const ids: number[] = [];
  for (const colour of colours) {
    const id = await addNotes(ada, `Notes ${colour}`);
    await addFollow(ada, id);
    const content = pixel(colour);
    const sha256 = createHash('sha256').update(content).digest('hex');
    sourceIcons(hub.handle).noteNamed(id, 'https://example.org/i.png');
    sourceIcons(hub.handle).keep(id, { sha256, mediaType: 'image/png', content });
    ids.push(id);
  }
  const browser = await openBrowser(t);
  await browser.become(hub.address, new Map([cookieOf(ada).split('=') as [string, string]]));
  await browser.goto(`${hub.address}/all`);
  const painted = await browser.run(`
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('2d', { willReadFrequently: true });
    const colours = [];
    for (const id of arguments) {
      const image = document.querySelector('.rail a[href="/sources/' + id + '"] img.favicon');
      image.loading = 'eager';
      await image.decode();
      context.drawImage(image, 0, 0, 18, 18);
      colours.push([...context.getImageData(9, 9, 1, 1).data].slice(0, 3));
    }
    const asked = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname);
    return [colours, asked.filter((path) => path.startsWith('/icon')).length]`, ...ids);
  assert.deepEqual(painted, [colours, 1]);
  assert.deepEqual(await browser.complaints(), []);
});
