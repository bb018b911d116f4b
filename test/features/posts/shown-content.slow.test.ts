// Protects what readers see of formulas, paragraphs and titles of pictures, in a real browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addFeed, itemsAt } from '../../support/accounts.ts';
import { openBrowser } from '../../support/browser.ts';
import { rss, serving } from '../../support/feeds.ts';
import { hubWith } from '../../support/hub.ts';
import { startOrigin } from '../../support/origin.ts';
import { requireTool } from '../../support/tools.ts';
import { waitUntil } from '../../support/wait-until.ts';

const POWERS = Array.from({ length: 40 }, (_, n) => `<msup><mi>x</mi><mn>${n}</mn></msup><mo>+</mo>`).join('');
const SQUARE = '<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>';
const content = (origin: string): string => `<p id="short">Energy is ${SQUARE}, as is known.</p>
  <p>Long: <math>${POWERS}<mi>y</mi></math></p><math display="block">${POWERS}<mi>y</mi></math>
  <p><img src="${origin}/a.png" alt="An owl" title="Owls wear no hats" width="30" height="20"></p>
  <div><div><p>One</p><p>Two</p></div><div><p>Three</p></div></div>`;

test('a browser lays out formulas and paragraphs, long formulas scroll by themselves, and touch screens show titles', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada } = await hubWith(t, ['ada']);
  const origin = await startOrigin(t, {
    '/feed': serving(() => rss('Owls', [{ guid: '1', content: content(origin.url) }])),
  });
  await addFeed(ada, `${origin.url}/feed`, { visibility: 'public' });
  const [post] = await itemsAt<{ id: number }>(ada, '/api/posts');
  const browser = await openBrowser(t);
  await browser.setPageWidth(375);
  await browser.goto(`${hub.address}/posts/${post?.id}`);

  const [raised, base] = await browser.run<[number, number]>(`return ['mn', 'mi:last-of-type'].map((name) =>
    document.querySelector('.prose ' + name).getBoundingClientRect().top);`);
  assert.ok(raised < base, 'an exponent stands above the line');
  assert.equal(await browser.run('return document.documentElement.scrollWidth'), 375);
  const gaps = await browser.run<number[]>(`const all = [...document.querySelectorAll('.prose div p')]
    .map((each) => each.getBoundingClientRect()); return all.slice(1).map(({ top }, n) => top - all[n].bottom);`);
  assert.deepEqual(gaps.map((gap) => gap > 10), [true, true], 'paragraphs within other elements stand apart too');
  assert.equal(await browser.run("return getComputedStyle(document.querySelector('.prose img')).display"), 'inline');
  const isTitleShown = `return getComputedStyle(document.querySelector('.picture-title')).display !== 'none';`;
  assert.equal(await browser.run("return matchMedia('(hover: none)').matches"), true, 'headless');
  assert.equal(await browser.run(isTitleShown), true);
  await browser.run(`Array.from(document.styleSheets, ({ cssRules }) => Array.from(cssRules)).flat()
    .filter(({ conditionText }) => conditionText === '(hover: none)')
    .forEach(({ media }) => { media.mediaText = '(hover: hover)'; });`);
  assert.equal(await browser.run(isTitleShown), false, 'with a mouse, the title is a tooltip');
});

test('a picture that cannot be fetched gives its place to its words when the post is opened first', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada } = await hubWith(t, ['ada'], { LIST_PICTURES: '0' });
  const origin = await startOrigin(t, {
    '/feed': serving(() => rss('Owls', [{ guid: '1', content:
      `<p>Here <img src="${origin.url}/gone.png" width="600" height="300" alt="an owl"> sits.</p>` }])),
  });
  await addFeed(ada, `${origin.url}/feed`);
  const browser = await openBrowser(t);
  await browser.become(hub.address, ada.cookies);
  await browser.goto(`${hub.address}/posts/1`);
  await waitUntil('the picture is gone', async () => await browser.run('return document.querySelector(".prose img") === null'));
  assert.equal(await browser.text('.prose p'), 'Here an owl sits.');
});
