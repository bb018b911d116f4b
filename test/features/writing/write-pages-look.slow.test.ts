// Protects the pages of own posts and notifications in a browser: named controls, contrast, phone and keyboard.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { uploads } from '../../../src/features/attachments/attachment-store.ts';
import { notifications } from '../../../src/features/notifications/notification-store.ts';
import { openBrowser, type Browser } from '../../support/browser.ts';
import { hubWithOwnPosts } from '../../support/own-posts.ts';
import { writePost } from '../../support/uploads.ts';
import { FIND_FAINT_TEXT, FIND_FAULTS, follow, signIn } from '../../support/page-visits.ts';
import { pdf, png } from '../../support/sample-files.ts';
import { requireTool } from '../../support/tools.ts';

const TAB = '\ue004';
const LONG = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerk'.repeat(3);
const OPEN_ALL = `for (const details of document.querySelectorAll('details')) details.open = true`;

/** Pages with the forms for own posts, with files, and with what the hub tells a person. */
const PAGES = [
  '/sources', '/sources/1', '/write', '/posts/1', '/posts/1/edit', '/notifications',
  '/notifications?unread=1',
];

/** A hub with a post that has an image wider than any window, a PDF and an infected file, and a browser signed in. */
async function hubWithEverything(t: TestContext) {
  const { hub, ada, sourceId } = await hubWithOwnPosts(t);
  const files = [
    { filename: `${LONG}.png`, data: png({ width: 2_000, height: 300 }) }, { filename: `${LONG}.pdf`, data: pdf() },
    { filename: 'bad.txt', data: 'bad' }, { filename: 'good.txt', data: 'good' },
  ];
  const post = await writePost(hub, { client: ada, sourceId }, files, { title: LONG, content: `${LONG}\n${LONG}` });
  uploads(hub.handle).setScan(post.attachments[2]?.sha256 ?? '', 'infected');
  const browser = await openBrowser(t);
  await signIn(browser, hub.address, 'ada', hub.password);
  return { hub, browser, tell: (title: string) => tell(hub, title) };
}

function tell({ handle }: Awaited<ReturnType<typeof hubWithOwnPosts>>['hub'], title: string): void {
  notifications(handle).add({ accountId: 1, kind: 'attachment.quarantined', title, path: '/posts/1' });
}

/** The page with a refusal above the form that writes a post. */
async function refused(browser: Browser, address: string): Promise<void> {
  await browser.goto(`${address}/write`);
  await browser.type('[name=title]', '   ');
  await follow(browser, '.bar .primary');
}

test('the pages of own posts have a name for all that can be used, one heading, and no errors in the console', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, browser, tell } = await hubWithEverything(t);
  await browser.complaints();

  for (const round of ['without notifications', 'with one']) {
    for (const page of PAGES) {
      await browser.goto(hub.address + page);
      await browser.run(OPEN_ALL);
      assert.deepEqual(await browser.run(FIND_FAULTS), [], `${page} ${round}`);
      assert.deepEqual(await browser.complaints(), [], `${page} ${round}`);
    }
    tell(`The file ${LONG}.png is infected`);
  }
  await refused(browser, hub.address);
  assert.deepEqual(await browser.run(FIND_FAULTS), []);
});

test('they fit a phone, and their text stands out in the light and in the dark', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, browser, tell } = await hubWithEverything(t);
  tell(`The file ${LONG}.png is infected`);
  const check = async (page: string): Promise<void> => {
    await browser.run(OPEN_ALL);
    for (const width of [375, 320]) {
      await browser.setWindowSize(width, 700);
      const [inner, content] = await browser.run<[number, number]>(
        'return [innerWidth, document.documentElement.scrollWidth]');
      assert.ok(inner <= width && content <= inner, `${page} is ${content} wide in a window of ${inner}`);
    }
    for (const scheme of ['light', 'dark'] as const) {
      await browser.setColorScheme(scheme);
      assert.deepEqual(await browser.run(FIND_FAINT_TEXT), [], `${page} in the ${scheme}`);
    }
  };

  for (const page of PAGES) {
    await browser.goto(hub.address + page);
    await check(page);
  }
  await refused(browser, hub.address);
  await check('a refusal');
});

test('every field and button of the form for a post is reached with the keyboard, in order, and marked when it is', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, browser } = await hubWithEverything(t);
  await browser.goto(`${hub.address}/posts/1/edit`);
  await browser.run(OPEN_ALL);
  await browser.run(`document.querySelector('main').tabIndex = -1; document.querySelector('main').focus()`);

  const seen: string[] = [];
  for (let step = 0; step < 13; step++) {
    await browser.type(':focus', TAB);
    const { name, outline } = await browser.run<{ name: string; outline: string }>(`
      const { name, ariaLabel, textContent } = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return { name: ariaLabel || name || textContent.trim(), outline: outlineStyle + ' ' + outlineWidth };`);
    seen.push(name);
    // WebDriver would take keys for the name of a file.
    await browser.run(`if (document.activeElement.type === 'file') document.activeElement.type = 'text'`);
    assert.match(outline, /^(?!none)\w+ [1-9]/, `${name} is marked`);
  }
  assert.deepEqual(seen, [
    'Notes', 'title', 'content', 'Format, link', 'contentType', 'url',
    `Remove ${LONG}.png`, `Remove ${LONG}.pdf`, 'Remove bad.txt', 'Remove good.txt', 'attachments', 'save', 'Cancel',
  ]);
});

test('notifications are read, ticked off all at once, and lead to what they tell of', async (t) => {
  if (!requireTool(t, 'chromedriver')) return;
  const { hub, browser, tell } = await hubWithEverything(t);
  await browser.disableScripts();
  await follow(browser, 'nav.rail a[href="/notifications"]');
  assert.match(await browser.text('.empty'), /No notifications\./);

  tell('The file bad.txt is infected and has been quarantined');
  await browser.goto(`${hub.address}/notifications`);
  assert.match(await browser.text('main .items'), /bad\.txt is infected.*\n?.*new/);
  await follow(browser, 'form[action="/notifications/read"] button');
  assert.doesNotMatch(await browser.text('main .items'), /new/);
  assert.equal(await browser.run(`return document.querySelectorAll('[action="/notifications/read"]').length`), 0);
  await follow(browser, 'a[href="/notifications?unread=1"]');
  assert.match(await browser.text('.empty'), /No unread notifications/);
  await browser.goto(`${hub.address}/notifications`);
  await follow(browser, 'main .items a');
  assert.match(await browser.text('.files'), /bad\.txt\s+infected, quarantined/);
});
