// Protects the readers of files: what the hub admits is what a browser can show.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { openBrowser, type Browser } from '../../support/browser.ts';
import { outcome } from '../../support/recognition.ts';
import {
  animatedWebp, avif, box, gif, ispe, jpeg, jpegFrame, jpegSegment, longBox, lossyWebp, losslessChunk, png, pngChunk,
  riff, webp, webpCanvas,
} from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';

const SIZE = { width: 20, height: 10 };
const SMALL = { width: 5, height: 5 };

const SHOW_IMAGE = `
  const image = new Image();
  image.src = 'data:' + arguments[0] + ';base64,' + arguments[1];
  return image.decode().then(() => image.naturalWidth + '×' + image.naturalHeight, () => 'not shown');
`;

const DRAW_IMAGE = `
  const canvas = new OffscreenCanvas(arguments[1], arguments[2]);
  const context = canvas.getContext('2d');
  for (let x = 0; x < arguments[1]; x += 3) {
    context.fillStyle = 'hsl(' + 7 * x + ' 80% 50% / 0.8)';
    context.fillRect(x, 0, 2, arguments[2]);
  }
  const blob = await canvas.convertToBlob({ type: arguments[0], quality: arguments[3] });
  return [...new Uint8Array(await blob.arrayBuffer())];
`;

test('a browser shows every sample image, as large as it was recognised to be', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const browser = await openPage(t);
  const samples: [string, Buffer][] = [
    ['a.png', png(SIZE)], ['a.png', png(SIZE, pngChunk('tEXt', Buffer.from('<?php')))],
    ['a.jpg', jpeg(SIZE)], ['a.jpg', jpeg(SIZE, jpegSegment(0xe1, jpeg(SMALL)))],
    ['a.jpg', Buffer.concat([jpeg(SIZE), jpeg(SMALL)])],
    ['a.gif', gif(SIZE)], ['a.gif', gif(SIZE, [SIZE, SMALL])], ['a.gif', gif({ width: 90, height: 60 })],
    ['a.webp', webp(SIZE)], ['a.webp', lossyWebp()], ['a.webp', riff(webpCanvas(SIZE), losslessChunk(SIZE))],
    ['a.webp', animatedWebp(SIZE, [SIZE, SMALL])],
    ['a.avif', avif()], ['a.avif', avif({ brands: 'mif1\0\0\0\0mif1avif' })], ['a.avif', avif({ size: SIZE })],
    ['a.avif', avif({ properties: [ispe(SMALL)], after: [box('free'), longBox('free', Buffer.from('x'))] })],
  ];
  for (const [name, content] of samples) {
    const [mediaType = '', , size] = outcome(name, content).split(' ');
    assert.equal(await shownSize(browser, mediaType, content), size, `${name} ${content.toString('hex')}`);
  }
});

test('what a browser cannot show is not recognised either', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const browser = await openPage(t);
  const broken: [string, string, Buffer][] = [
    ['a.png', 'image/png', png(SIZE, pngChunk('ABCD'))],
    ['a.png', 'image/png', png(SIZE).fill(0, 30, 31)],
    ['a.jpg', 'image/jpeg', jpeg(SIZE, jpegFrame(0xc0, SIZE))],
    ['a.avif', 'image/avif', avif({ brands: 'mif1\0\0\0\0mif1heic' })],
  ];
  for (const [name, mediaType, content] of broken) {
    assert.equal(await shownSize(browser, mediaType, content), 'not shown', name);
    assert.match(outcome(name, content), /^(damaged|type): /, name);
  }
});

test('images that a browser wrote are recognised, as large as they were drawn, and refused when cut', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const browser = await openPage(t);
  const kinds = [
    ['image/png', 'png', 1], ['image/jpeg', 'jpg', 0.7], ['image/webp', 'webp', 0.7], ['image/webp', 'webp', 1],
  ] as const;
  for (const [mediaType, extension, quality] of kinds) {
    for (const [width, height] of [[1, 1], [37, 23], [200, 3]] as const) {
      const drawn = Buffer.from(await browser.run<number[]>(DRAW_IMAGE, mediaType, width, height, quality));
      assert.equal(outcome(`a.${extension}`, drawn), `${mediaType} ${extension} ${width}×${height}`);
      for (let length = 0; length < drawn.length; length += 7) {
        assert.match(outcome(`a.${extension}`, drawn.subarray(0, length)), /^(damaged|type): /);
      }
    }
  }
});

function shownSize(browser: Browser, mediaType: string, content: Buffer): Promise<string> {
  return browser.run<string>(SHOW_IMAGE, mediaType, content.toString('base64'));
}

async function openPage(t: TestContext): Promise<Browser> {
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<!doctype html>'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const browser = await openBrowser(t);
  await browser.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
  return browser;
}
