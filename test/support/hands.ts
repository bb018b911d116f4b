// A person's hands on the pages for members: the same acts by keys with the script, and by pointing without it.
import type { TestContext } from 'node:test';
import { openBrowser, type Browser } from './browser.ts';
import type { Hub } from './hub.ts';
import type { HundredFeeds } from './hundred-feeds.ts';
import { follow, leave, path } from './page-visits.ts';
import { waitUntil } from './wait-until.ts';

const TAB = '\ue004';
export const ENTER = '\ue007';
export const ESCAPE = '\ue00c';

export type Life = { hub: Hub; feeds: HundredFeeds; browser: Browser; scripts: boolean };

export async function newBrowser(t: TestContext, scripts: boolean): Promise<Browser> {
  const browser = await openBrowser(t);
  if (!scripts) await browser.disableScripts();
  return browser;
}

/** Leads to another page: by these keys with the script, else by a click. */
export async function go({ browser, scripts }: Life, keys: string[], selector: string): Promise<void> {
  if (scripts) await leave(browser, keys.join(' '), () => browser.press(...keys));
  else await follow(browser, selector);
}

/** Presses a button that is pressed or not: in place with the script. */
export async function toggle({ browser, scripts }: Life, key: string, selector: string): Promise<void> {
  const state = () => browser.run<string>(`return document.querySelector('${selector}').ariaPressed`);
  const before = await state();
  if (scripts) await browser.press(key);
  else await follow(browser, selector);
  await waitUntil(`${key} has been done`, async () => await state() !== before);
}

export const rows = (browser: Browser, selector = '.row') =>
  browser.run<number>(`return document.querySelectorAll('${selector}').length`);
export const states = async (browser: Browser) => ({
  rows: await rows(browser), read: await rows(browser, '.row.read'), starred: await rows(browser, '.row.starred'),
});
export const heads = (browser: Browser) => browser.text('h1');
export const focused = (browser: Browser) =>
  browser.run<string | null>(`return document.activeElement.closest('.row')?.querySelector('h3').textContent ?? null`);
export const unread = (browser: Browser, name = 'unread') => browser.run<string>(`
  const count = document.querySelector('.rail [data-count="${name}"]');
  return count === null || count.hidden ? '0' : count.firstChild.data;`);

/** The browser's own button; the page may come back as it was left. */
export async function back(browser: Browser, to: RegExp): Promise<void> {
  await browser.run('history.back()');
  await waitUntil(`back at ${to}`, async () =>
    to.test(await path(browser)) && browser.run<boolean>(`return document.readyState === 'complete'`));
}

/** The keys Tab that a reader presses at most to reach a control; with the skip link, no page needs more than seven. */
const TABS_MAX = 10;

/** Moves the focus forward until it is there. */
export async function tabTo(browser: Browser, selector: string): Promise<void> {
  for (let n = 0; n < TABS_MAX; n++) {
    if (await browser.run(`return document.activeElement.matches('${selector}')`)) return;
    await browser.press(TAB);
  }
  throw new Error(`${selector} is not reached`);
}
