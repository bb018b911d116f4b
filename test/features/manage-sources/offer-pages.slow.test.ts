// Protects offering and answering by the pages: without scripts, by keyboard, in a narrow window.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sources } from '../../../src/features/sources/source-store.ts';
import { addNotes } from '../../support/accounts.ts';
import { openBrowser, type Browser } from '../../support/browser.ts';
import { hubWith } from '../../support/hub.ts';
import { follow, leave, path, submit } from '../../support/page-visits.ts';
import { requireTool } from '../../support/tools.ts';

const [TAB, ENTER] = ['\uE004', '\uE007'];

/** Goes from link to link and button to button by the Tab key until one has that name. */
async function tabTo(browser: Browser, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await browser.press(TAB);
    const focused = await browser.run<string>(
      'return document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim()');
    if (focused === name) return;
  }
  assert.fail(`${name} is not reached by the Tab key`);
}

test('a member is offered a source, finds it from every page and from the notification, and answers by keyboard', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, bob, carol } = await hubWith(t, ['ada', 'bob', 'carol']);
  for (const title of ['Diary', 'Notes']) await addNotes(bob, title, 'private');
  const browser = await openBrowser(t);
  await browser.disableScripts();
  await browser.setWindowSize(390, 800);

  await browser.become(hub.address, bob.cookies);
  for (const id of [1, 2]) {
    await browser.goto(`${hub.address}/sources/${id}/transfer`);
    await submit(browser, { username: 'carol' }, 'main form button');
    assert.equal(await path(browser), `/sources/${id}?said=source-offered`);
  }
  assert.match(await browser.text('main'), /Offered to carol until 29 January\. Nothing changes until it is accepted/);

  await browser.become(hub.address, carol.cookies);
  await browser.goto(`${hub.address}/`);
  assert.match(await browser.run<string>('return document.querySelector(\'nav.rail a[href="/sources"]\').textContent'), /2\s+offered to you/);
  await browser.goto(`${hub.address}/notifications`);
  await follow(browser, 'main .title');
  assert.equal(await path(browser), '/offers');
  await tabTo(browser, 'Accept Diary');
  await leave(browser, 'Accept', () => browser.press(ENTER));
  assert.equal(await path(browser), '/sources/1?said=offer-accepted');
  await browser.goto(`${hub.address}/sources`);
  await follow(browser, 'a[href="/offers"]');
  await tabTo(browser, 'Decline Notes');
  await leave(browser, 'Decline', () => browser.press(ENTER));
  assert.equal(await path(browser), '/offers?said=offer-declined');
  assert.match(await browser.text('main'), /You have no open offers/);
  assert.equal(sources(hub.handle).countOwned([3]).get(3), 1);

  await browser.become(hub.address, bob.cookies);
  await browser.goto(`${hub.address}/sources/2/transfer`);
  await submit(browser, { username: 'carol' }, 'main form button');
  await follow(browser, 'form[action$="/withdraw"] button');
  assert.equal(await path(browser), '/sources/2?said=offer-withdrawn');
});
