// Protects the sidebar, as a reader meets it in a browser whose scroll bars have a width.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addNotes, sendJson } from '../support/accounts.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { followedFeed } from '../support/followed-feed.ts';
import { reply } from '../support/origin.ts';
import { requireTool } from '../support/tools.ts';

const FOLDERS = ['Harbour', 'Weather', 'Zoology'];

/** A member with a feed and 38 sources of own posts in three folders; the feed, in the folder "Weather", fails. */
async function openSidebar(t: TestContext) {
  const { hub, ada, feed, id } = await followedFeed(t);
  await sendJson(ada, 'PUT', `/api/sources/${id}/follow`, { folder: 'Weather' });
  feed.handler = reply(404, {}, 'gone');
  hub.passTime(86_400_000);
  await hub.work();
  let last = 0;
  for (let n = 0; n < 38; n++) {
    last = await addNotes(ada, `Source ${n} with a title that is longer than the sidebar is wide`);
    await sendJson(ada, 'PUT', `/api/sources/${last}/follow`, { folder: FOLDERS[n % 3] });
  }
  const browser = await openBrowser(t, { scrollbars: true });
  await browser.setWindowSize(1280, 700);
  await browser.become(hub.address, ada.cookies);
  return { last, browser, go: (path: string): Promise<void> => browser.goto(hub.address + path) };
}

function folder(browser: Browser, name: string) {
  return browser.run<{ isOpen: boolean; isFailing: boolean }>(`
    const summary = [...document.querySelectorAll('.rail summary')].find((one) => one.textContent.includes(arguments[0]));
    return { isOpen: summary.parentNode.open, isFailing: summary.querySelector('.failing')?.checkVisibility() ?? false };`, name);
}

test('the sidebar never scrolls sideways, and shows the current source however far down it stands', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { last, browser, go } = await openSidebar(t);
  for (const width of [1040, 1280, 1536, 1800]) {
    await browser.setWindowSize(width, 700);
    await go(`/sources/${last}`);
    const { bar, sideways, isSeen } = await browser.run<{ bar: number; sideways: number; isSeen: boolean }>(`
      const [rail, here] = ['.rail', '.rail [aria-current]'].map((one) => document.querySelector(one));
      const { top, bottom } = here.getBoundingClientRect();
      return { bar: rail.offsetWidth - rail.clientWidth, sideways: rail.scrollWidth - rail.clientWidth, isSeen: top >= 0 && bottom <= innerHeight };`);
    assert.ok(bar >= 10, `the scroll bar is ${bar} pixels wide`);
    assert.deepEqual({ width, sideways, isSeen }, { width, sideways: 0, isSeen: true });
  }
});

test('a paused source and one whose feed is gone (410) have a mark in the sidebar, also in a closed folder', async (t) => {
  const { hub, ada, feed, id } = await followedFeed(t);
  const notes = await addNotes(ada);
  const marks = async () => Array.from((await ada.page('/')).text.matchAll(/class="(failing|paused)" title="(\w+)">[^]*?<span class="unseen"> (\w+)/g), ([, kind]) => kind);
  assert.deepEqual(await marks(), []);
  await ada.patch(`/api/sources/${notes}`, { paused: true });
  assert.deepEqual(await marks(), ['paused']);
  await ada.patch(`/api/sources/${notes}`, { paused: false });
  feed.handler = reply(410, {}, '');
  hub.passTime(86_400_000);
  await hub.work();
  assert.deepEqual(await marks(), ['paused']);
  await sendJson(ada, 'PUT', `/api/sources/${id}/follow`, { folder: 'Weather' });
  assert.deepEqual(await marks(), ['paused', 'paused'], 'the folder’s is hidden while it is open');
});

test('a folder that a reader has closed stays closed on the next page, and then says that a feed in it fails', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { browser, go } = await openSidebar(t);
  await go('/');
  assert.deepEqual(await folder(browser, 'Weather'), { isOpen: true, isFailing: false }, 'the feed itself says so');
  await browser.run(`
    [...document.querySelectorAll('.rail summary')].find((one) => one.textContent.includes('Weather')).click();`);
  await go('/all');
  assert.deepEqual(await folder(browser, 'Weather'), { isOpen: false, isFailing: true });
  assert.deepEqual(await folder(browser, 'Harbour'), { isOpen: true, isFailing: false });
});
