// Protects reading full texts in a browser: button and key switch the text of a post without leaving the page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../../support/browser.ts';
import { articlePage, htmlPage, hubWithTeasers } from '../../support/full-texts.ts';
import { reply } from '../../support/origin.ts';
import { requireTool } from '../../support/tools.ts';
import { waitUntil } from '../../support/wait-until.ts';

test('button and key show the full text, the progress and the feed’s text in place, and say why there is none', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, ada, posts: [a = 0, b = 0] } = await hubWithTeasers(t, { a: htmlPage(articlePage('Tyto alba')), b: reply(403, {}, '') });
  const browser = await openBrowser(t);
  await browser.become(hub.address, ada.cookies);
  const article = (): Promise<string> => browser.run('return document.querySelector("article").innerText');
  const shows = (what: RegExp): Promise<void> => waitUntil(String(what), async () => what.test(await article()));

  await browser.goto(`${hub.address}/posts/${a}`);
  await browser.run('window.isSamePage = true');
  await shows(/As in the feed\s+Full text/);
  await browser.type('body', 't');
  await shows(/The hub is fetching the full text/);
  assert.equal(await browser.run('return document.activeElement.textContent'), 'The hub is fetching the full text.');
  await hub.work();
  await shows(/Full text\s+As in the feed[^]*Tyto alba/);
  assert.equal(await browser.run('return document.activeElement.textContent'), 'As in the feed', 'the keyboard focus stays');
  const gap = await browser.run('return parseFloat(getComputedStyle(document.querySelector(".prose p + p")).marginBlockStart)');
  assert.ok(Number(gap) > 10, `${String(gap)} pixels between paragraphs`);
  await browser.type('body', 't');
  await shows(/As in the feed\s+Full text/);
  assert.doesNotMatch(await article(), /Tyto alba/);
  await browser.click('.text-switch button');
  await shows(/Tyto alba/);
  assert.equal(await browser.run('return window.isSamePage'), true, 'nothing was loaded anew');

  await browser.goto(`${hub.address}/posts/${b}`);
  await browser.click('.text-switch button');
  await shows(/is fetching/);
  await hub.work();
  await shows(/As in the feed[^]*answered with status 403[^]*once more after a day[^]*hunts voles/);
});
