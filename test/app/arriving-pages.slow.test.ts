// Protects whoever reads over a slow line: what they begin to look at stays where it is.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openBrowser, type Browser } from '../support/browser.ts';
import { EVERY_PAGE, visit } from '../support/every-page.ts';
import { livedInHub } from '../support/lived-in-hub.ts';
import { listen } from '../support/ports.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

type Lived = Awaited<ReturnType<typeof livedInHub>>;

const PIECES = 20;
const PIECE_MS = 15;

/** Lists and a post within them, which members open all day, and a page of each other shape. */
const PAGES = ['list', 'list-search', 'post-unread', 'own-post', 'sources', 'public', 'public-post', 'sign-in'];

/** When the page was painted first, in ms since its first byte was there, and what has moved on it since. */
const LOOK = `
  const seen = (type) => new Promise((resolve) => {
    const observer = new PerformanceObserver((list) => resolve(list.getEntries()));
    observer.observe({ type, buffered: true });
    setTimeout(() => resolve(observer.takeRecords()), 200);
  });
  const [[paint], shifts] = await Promise.all([seen('paint'), seen('layout-shift')]);
  const [{ responseStart }] = performance.getEntriesByType('navigation');
  const markup = ({ node }) => (node?.outerHTML ?? node?.parentElement?.outerHTML ?? 'what is gone').slice(0, 120);
  return { paint: paint.startTime - responseStart, moved: shifts.map(({ sources }) => sources.map(markup).join()) };`;

test('from its second opening on, a page that comes in pieces is shown when it is whole, and nothing on it moves', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const [lived, browser] = [await livedInHub(t), await openBrowser(t)];
  const slowly = { ...lived, hub: { ...lived.hub, address: await startSlowLine(t, lived.hub.address) } };
  for (const page of PAGES) {
    const state = EVERY_PAGE.find(({ name }) => name === page) ?? assert.fail(page);
    await openOnce(browser, lived, state);
    for (const width of [1280, 390]) {
      await browser.setPageWidth(width);
      await visit(browser, slowly, state);
      const { paint, moved } = await browser.run<{ paint: number; moved: string[] }>(LOOK);
      assert.deepEqual(moved, [], `${page} at ${width}`);
      assert.ok(paint > (PIECES - 1) * PIECE_MS, `${page} at ${width} was shown after ${paint} ms`);
    }
  }
});

/** Opens a page until its pictures are there: the hub knows the sizes of pictures once it has fetched them. */
async function openOnce(browser: Browser, lived: Lived, state: (typeof EVERY_PAGE)[number]): Promise<void> {
  await visit(browser, lived, state);
  await browser.run(`document.querySelectorAll('img').forEach((image) => { image.loading = 'eager'; })`);
  await waitUntil('the pictures are there', () =>
    browser.run<boolean>(`return [...document.images].every(({ complete }) => complete)`));
}

/** The address of a server that has its answers from that hub, and sends each page in pieces with pauses between. */
async function startSlowLine(t: TestContext, hub: string): Promise<string> {
  const server = createServer((request, response) => void passOn(hub, request, response));
  return `http://127.0.0.1:${await listen(t, server)}`;
}

const OF_THE_LINE = ['connection', 'content-encoding', 'content-length', 'keep-alive', 'transfer-encoding'];

async function passOn(hub: string, { url, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
  const { cookie = '', accept = '' } = headers;
  const reply = await fetch(hub + url, { redirect: 'manual', headers: { cookie, accept } });
  response.writeHead(reply.status, [...reply.headers].filter(([name]) => !OF_THE_LINE.includes(name)).flat());
  const bytes = Buffer.from(await reply.arrayBuffer());
  if (!reply.headers.get('content-type')?.startsWith('text/html')) return void response.end(bytes);
  const size = Math.ceil(bytes.length / PIECES);
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    await pause(PIECE_MS);
  }
  response.end();
}
