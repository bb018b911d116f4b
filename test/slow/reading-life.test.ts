// Protects the whole life of a reader in a browser, from joining to marking all as read, with the script and without.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { addNotes, addPost } from '../support/accounts.ts';
import { openBrowser } from '../support/browser.ts';
import { startHub } from '../support/hub.ts';
import { follow, path, submit } from '../support/page-visits.ts';
import { requireTool } from '../support/tools.ts';
import { waitUntil } from '../support/wait-until.ts';

const POSTS = 30;
const LONG_CODE = `    ${'a line of code that is wider than any telephone '.repeat(4)}\n`;

/** How far things have moved on the page that is shown, without anybody doing anything (CLS). */
const SHIFTS = `
  return await new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
    }).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => done(sum), 100);
  });`;

for (const scripts of [true, false]) {
  test(`a reader's life ${scripts ? 'with' : 'without'} the script`, async (t) => {
    if (!requireTool(t, 'chromedriver')) return;
    await live(t, scripts);
  });
}

async function live(t: TestContext, scripts: boolean): Promise<void> {
  const hub = await startHub(t);
  const ada = await hub.person('ada');
  const sourceId = await addNotes(ada, 'Harbour log');
  for (let n = 1; n <= POSTS; n++) {
    hub.passTime(60_000);
    await addPost(ada, sourceId, `Post ${n}`, `Barn owls ${n}\n\n${LONG_CODE}\n${'One more paragraph.\n\n'.repeat(20)}`);
  }
  const { url } = (await ada.post('/api/invitations', {
    role: 'member', hours: 1, currentPassword: hub.password,
  })).json<{ url: string }>();
  const browser = await openBrowser(t);
  if (!scripts) await browser.disableScripts();
  const rows = (selector = '.row') => browser.run<number>(`return document.querySelectorAll('${selector}').length`);
  const press = async (selector: string, isDone: () => Promise<boolean>): Promise<void> => {
    if (!scripts) return follow(browser, selector);
    await browser.click(selector);
    await waitUntil(selector, isDone);
  };

  await browser.goto(hub.address + new URL(url).pathname);
  await submit(browser, { username: 'cleo', password: 'a good long password' });
  await browser.goto(`${hub.address}/`);
  assert.match(await browser.text('main'), /You have read everything/);
  await browser.goto(`${hub.address}/sources/${sourceId}`);
  await follow(browser, 'form[action$="/follow"] button');
  await follow(browser, '.rail a[href="/"]');
  assert.equal(await rows(), POSTS);
  if (scripts) assert.ok(await browser.run<number>(SHIFTS) < 0.001, 'nothing moves');

  await follow(browser, '.row h3 a');
  for (let n = POSTS; n > 20; n--) {
    assert.equal(await browser.text('h1'), `Post ${n}`);
    hub.passTime(1_000);
    await follow(browser, '[data-next-unread]');
  }
  if (scripts) assert.ok(await browser.run<number>(SHIFTS) < 0.001, 'nothing moves');
  await follow(browser, '[rel=prev]');
  assert.equal(await browser.text('h1'), 'Post 21', 'what was just read is still in the list');
  await press('form.star button', async () => (await browser.run('return document.querySelector(".star button").ariaPressed')) === 'true');
  await press('form.seen button', async () => (await browser.run('return document.querySelector(".seen button").ariaPressed')) === 'false');
  await follow(browser, '[rel=up]');
  assert.deepEqual([await rows(), await rows('.row.read'), await rows('.row.starred')], [POSTS, 10, 1]);
  assert.match(await path(browser), /^\/\?since=\d+$/);

  await browser.type('form.find [name=q]', 'owls 7');
  await follow(browser, 'form.find button');
  const marked = `return [...document.querySelectorAll('.row mark')].map((mark) => mark.textContent)`;
  assert.deepEqual(await browser.run(marked), ['7', 'owls', '7']);
  await follow(browser, '.row h3 a');
  assert.equal(await browser.text('h1'), 'Post 7');
  await follow(browser, '[rel=up]');
  assert.match(await path(browser), /q=owls\+7/);

  await follow(browser, '.rail a[href="/"]');
  assert.equal(await rows(), 19);
  await browser.click('.bar .drop summary');
  await follow(browser, '#mark button:not([name])');
  assert.equal(await browser.text('.said span'), '19 posts marked as read.');
  assert.equal(await rows(), 0);
  await follow(browser, '.said button');
  assert.equal(await rows(), 19);
  await follow(browser, '.rail a[href="/starred"]');
  assert.equal(await browser.text('.row h3'), 'Post 21');

  for (const page of ['/', '/all', '/all?q=owls', '/starred', '/unread/posts/21', '/public', `/sources/${sourceId}`]) {
    await browser.goto(hub.address + page);
    await browser.setPageWidth(320);
    assert.equal(await browser.run('return document.documentElement.scrollWidth'), 320, page);
  }
  await browser.goto(`${hub.address}/`);
  await browser.setPageWidth(390);
  await browser.click('.menu-button');
  await follow(browser, '.rail a[href="/all"]');
  assert.equal(await browser.text('h1 span'), 'All posts');
  assert.deepEqual(await browser.complaints(), []);
}
